"""`python -m tests.scenarios`: print how many cheats of each theme are refused by whom, for the documentation."""

from __future__ import annotations

from tests.scenarios import count_themes

print("\n".join(count_themes()))
