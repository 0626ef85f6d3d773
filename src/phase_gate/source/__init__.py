"""Analyze Python source: the tests of a file, their bodies and their checks. Pure: text in, values out.

Uses nothing else. Begin with `tests` (which tests a file has) and `body_hash` (when two are the same).
"""
