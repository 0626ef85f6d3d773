"""The suite in other people's surroundings: under load, in containers, without a locale, a name or a free folder.

`python -m tests.strangers` (`tox -e strangers`) goes through the whole table; `tests/test_strays.py` is a short sample.
"""
