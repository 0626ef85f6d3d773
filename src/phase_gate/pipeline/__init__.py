"""Pipelines: phases with artifacts, votes, change requests and recovery. Values, rules, files and rendering.

Begin with `model`, then `order` and `verdict`.
"""
