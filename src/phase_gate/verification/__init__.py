"""Verify tasks: executor's report, verify command, reviewer's verdict. Values, rules, files, steps and rendering.

May read task files, start commands and ask git. Begin with `model` and `rules`; each step of `phase-gate verify` has
a module of its name.
"""
