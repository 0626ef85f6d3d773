"""One run in several jobs: each records its part, `phase-gate ci combine` makes one run of them.

May read and write shard files. Begin with `records`, then `merging`.
"""
