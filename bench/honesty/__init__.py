"""Gates against gaming, side by side: `python -m bench honesty --help`, docs/explanation/honesty.md.

A case is a folder in `cases/` with a `case.yaml`: plain data. A gate is a file in `gates/`.
"""
