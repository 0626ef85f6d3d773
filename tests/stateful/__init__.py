"""Any sequence of ordinary actions, and an honest finisher who gets through from wherever it ends.

The suite takes a few short sequences, always the same ones; `tox -e sweeps` looks for new and longer ones.
"""
