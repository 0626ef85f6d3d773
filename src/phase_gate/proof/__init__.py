"""Proof by experiment: run the targets again in sandboxes, copies of the project that differ in exactly one way.

May start pytest in sandboxes and read the project. Never writes to the user's files. Begin with `experiment`. All runs
in a sandbox go through `sandbox_runs.Laboratory`.
"""
