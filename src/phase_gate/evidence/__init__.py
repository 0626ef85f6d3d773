"""What is measured beside the tests: git, commands, quality, documents. Each provider gives metrics or says unknown.

May read files and start processes. Begin with `gathering`, then `context`.
"""
