"""`phase-gate doctor --prove`: cheats and their honest twins, tried against this very installation."""
