"""Evidence other than tests: git, commands, quality, documents. Each provider returns metrics, or none if unknown.

This package may read files and start processes. Begin with `gathering`, then `context`.
"""
