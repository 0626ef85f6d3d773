"""The model of a workflow: phases, conditions, metrics, settings. Values and pure functions.

Uses no files, clock, environment or pytest, and imports only its own layer. Begin with `model`.
"""
