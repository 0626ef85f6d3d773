"""Coding agents: a module each reads that agent's events and writes its answers. What to answer is the core's."""
