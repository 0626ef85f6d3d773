"""Pipelines: phases with artifacts, votes, change requests and recovery. Values, rules, files and rendering.

May read and write artifacts, votes and requests; its rules are pure. Begin with `model`, then `order` and `verdict`.
"""
