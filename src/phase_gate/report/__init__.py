"""What people and CI systems see: panel, status block, Markdown, HTML, CI files. Values in, text out.

Only `story` reads: the ledger, to tell all of it. Begin with `panel`.
"""
