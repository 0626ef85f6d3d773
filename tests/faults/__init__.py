"""Proofs that nothing is lost: each file operation fails, dies or is forgotten, one after the other.

The normal suite runs a sample; `tox -e long -- faults` runs all of it and prints the counts.
"""
