"""The state folder: ledger, lock, stored objects, exit signal, rollback guard. Every acknowledged write is durable.

Uses files and the clock, and decides nothing about gates. Begin with `store`, then `opening`.
"""
