"""Gates against gaming, side by side: `python -m bench honesty --help`, bench/honesty/README.md.

A case is a folder in `cases/` with a `case.yaml`: plain data. A gate is a file in `gates/`.
"""
