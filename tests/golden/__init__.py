"""What released versions wrote, kept for good: `tests/data/golden/VERSION/`.

`documents.json` has the shape of every JSON document and event; `state-NAME/` is a state folder with its project.
`python -m tests.golden VERSION` writes one, once, before a release. Later versions have to open all of them.
"""
