"""Mutants of new lines: small changes to the code that a test should notice, each tried in a room.

May start pytest in rooms, read the project, and on request add to its criteria. Begin with `task`, then `trying`.
"""
