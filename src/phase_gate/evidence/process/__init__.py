"""Run a command with a time limit, limit its output, hide secrets, and end its whole process tree.

Only this package starts a project's commands. Begin with `run`.
"""
