"""A task's whole history as values, for the long reports.

Reads the ledger and the objects it names, and never writes. Begin with `model`, then `builder`.
"""
