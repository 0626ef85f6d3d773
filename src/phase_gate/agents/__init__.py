"""Coding agents: the input and output of their hooks, their settings files, the files that they may write.

Reads and writes an agent's settings when a person asks for it. Never starts an agent. Begin with `agent_table`.
"""
