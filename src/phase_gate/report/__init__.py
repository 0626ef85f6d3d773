"""What people and CI systems see: panel, status block, Markdown, HTML, JUnit. Values in, text out.

Only `story` reads: the ledger, to tell all of it. Begin with `panel`.
"""
