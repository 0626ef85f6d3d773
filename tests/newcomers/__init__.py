"""The first ten minutes of strangers: from zero to a first verdict, with the tool that they use anyway.

`python -m tests.newcomers` (`tox -e newcomers`) builds both wheels, offers them by an index on loopback beside the one
that is configured, and lets each newcomer type what the README says, in a folder and a home of its own. A newcomer
whose tool can't be had here is named. `people.py` lists them.
"""
