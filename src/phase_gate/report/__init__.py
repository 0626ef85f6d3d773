"""What people and CI systems see: panel, status block, Markdown, HTML, JUnit. Values in, text out; opens no store.

Begin with `panel`.
"""
