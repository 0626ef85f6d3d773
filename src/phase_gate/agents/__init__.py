"""Coding agents: what their hooks send and want, their settings files, what they may write.

May read and write an agent's settings when a person asks for it; never starts an agent. Begin with `agent`.
"""
