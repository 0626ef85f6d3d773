"""Proofs that nothing is lost: each file operation fails, dies or is forgotten, one after the other.

The normal suite runs a sample; `python -m tests.faults` (`tox -e faults`) runs all of it and prints the counts.
"""
