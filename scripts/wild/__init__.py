"""Does the gate stay quiet on software that nobody here wrote? Run by `tox -e wild`; it downloads, so it is opt-in."""
