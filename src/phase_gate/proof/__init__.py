"""Proof by experiment: the targets run again in sandboxes, copies of the project in which exactly one thing differs.

May start pytest in sandboxes and read the project; writes nothing of the user's. Begin with `experiment`; all that
runs tests in a sandbox goes through `running.Laboratory`.
"""
