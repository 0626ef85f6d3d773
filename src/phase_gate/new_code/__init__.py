"""New code that tests asked for: which lines of a cycle are new, and whether tests reach them.

May read the project's files and what was kept of them. Begin with `provider`, then `phase_gate.source.new_code`.
"""
