"""The state folder: ledger, lock, stored objects, exit signal, rollback guard; and the fingerprint of the sources.

Every acknowledged write is durable. Uses files and the clock, runs git but no program that the repository names, and
decides nothing about gates. Begin with `store`, then `opening`.
"""
