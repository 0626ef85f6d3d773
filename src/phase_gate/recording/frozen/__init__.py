"""What gives the frozen tests their meaning: support files, fixtures, helpers and parameters, wherever they lie.

Reads files and what pytest collected. Begin with `meaning`.
"""
