"""Proof by experiment: the targets run again in rooms, copies of the project in which exactly one thing differs.

May start pytest in rooms and read the project; writes nothing of the user's. Begin with `making`, then `rooms`.
"""
