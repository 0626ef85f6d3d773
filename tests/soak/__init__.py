"""Many at once, and many steps in a row: a short sample here, the whole of it by `python -m tests.soak`."""
