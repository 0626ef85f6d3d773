"""Run a command: with a time limit, its output bounded and its secrets hidden, and end the whole tree of processes.

The only place that starts a project's commands. Begin with `run`.
"""
