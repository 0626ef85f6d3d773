"""Coding agents: what their hooks send and want, their settings files, what they may write. Begin with `agent`."""
