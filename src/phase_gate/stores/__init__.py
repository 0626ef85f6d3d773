"""Shared stores: ledgers of tasks on a git remote or in a PostgreSQL database, for work on many machines.

May touch the network by git or a database's client, and the user's state directory; decides nothing about gates.
Begin with `choosing`, then `phase_gate.stores.shared`, which says what a store is.
"""
