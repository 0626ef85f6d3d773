"""Shared stores: ledgers of tasks on a git remote or in a PostgreSQL database, for work on many machines.

Uses the network by git or a database's client, and the user's state directory. Decides nothing about gates.
Begin with `choosing`, then `phase_gate.stores.shared`, which defines a store.
"""
