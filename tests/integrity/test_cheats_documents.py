"""Documents that are none, one by one, and honest ones beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conformance.stories import command, unmet_clauses
from tests.integrity.cheats_documents import CHEATS, HONEST, Row
from tests.support import Ran, Sample

PASSING = "def test_basket():\n    assert sum([100, 50]) == 150\n"

#: Projects at the beginning of a cycle, by the documents that they have. Nothing that is stored names the folder.
_BEGUN: dict[str, Path] = {}


def begin(sample: Sample, row: Row, factory: pytest.TempPathFactory) -> None:
    """Begin a cycle in DOCUMENT with what was there before; the same beginning is only made once."""
    kept = _BEGUN.get(repr(row.before))
    if kept is None:
        sample.write({"test_basket.py": PASSING, **row.before})
        assert sample.pytest("--phase=document").code == 10
        _BEGUN[repr(row.before)] = Path(shutil.copytree(sample.root, factory.mktemp("begun") / "project"))
    else:
        shutil.copytree(kept, sample.root, dirs_exist_ok=True)


def do(sample: Sample, row: Row, factory: pytest.TempPathFactory) -> Ran:
    """Do what the row says after a cycle began, and have it judged."""
    begin(sample, row, factory)
    for name, text in row.after.items():
        if text is None:
            (sample.root / name).unlink(missing_ok=True)
        else:
            sample.write({name: text})
    return command(sample, "advance", "--json")


@pytest.mark.parametrize("row", CHEATS, ids=lambda row: row.name)
def test_refuses(sample: Sample, row: Row, tmp_path_factory: pytest.TempPathFactory) -> None:
    ran = do(sample, row, tmp_path_factory)
    assert ran.code == 10
    assert row.clause in unmet_clauses(ran.document)
    assert ran.document["gate_1"]["satisfied"] is False
    shown = " ".join([ran.document["reason"], *ran.document["warnings"], *_details(ran)])
    assert [said for said in row.said if said not in shown] == [], shown


@pytest.mark.parametrize("row", HONEST, ids=lambda row: row.name)
def test_lets_pass(sample: Sample, row: Row, tmp_path_factory: pytest.TempPathFactory) -> None:
    ran = do(sample, row, tmp_path_factory)
    assert unmet_clauses(ran.document) == [], ran.document["findings"]
    assert ran.document["gate_1"]["satisfied"] is True
    assert ran.document["warnings"] == []
    assert ran.document["reason"] == "Gate 1 is open; Gate 2 waits for the exit signal"


def _details(ran: Ran) -> list[str]:
    return [f"{row['file']}:{row['line']} {row['detail']}" for row in ran.document["findings"]]
