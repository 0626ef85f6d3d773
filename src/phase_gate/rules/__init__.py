"""Rules as a person writes them: workflows, guards and `phase-gate.yaml`, from YAML text to the core's values."""
