"""`phase-gate doctor --self-test`: cheats and their honest twins, tried against this very installation.

May touch a temporary folder and start pytest in it; nothing of the project that it is called in. Begin with `rows`.
"""
