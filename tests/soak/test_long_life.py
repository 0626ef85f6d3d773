"""A short sample of a long life: the same functions as in the full soak, with a small ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.long_life import a_long_life_costs_nothing


@pytest.mark.sweep
def test_a_long_ledger_costs_what_a_short_one_costs(tmp_path: Path) -> None:
    a_long_life_costs_nothing(tmp_path, events=2_000)
