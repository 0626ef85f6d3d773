"""Files: the ledger and its lock, stored objects, the signal, what this user has seen. Every write is durable.

May touch files and the clock; decides nothing about gates. Begin with `store`, then `opening`.
"""
