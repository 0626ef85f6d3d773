"""Cheats and their honest twins, as data, and a runner that tries them against this very installation."""
