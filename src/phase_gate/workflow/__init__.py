"""What a workflow says: phases, conditions, metrics, settings. Values and pure functions.

May touch nothing: no files, no clock, no environment, no pytest; imports only its own layer. Begin with `model`.
"""
