"""State folders that released versions have written, each kept by `python -m scripts.record_state`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support import Project

RECORDED = sorted((Path(__file__).parent.parent / "data").glob("state-*"))


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.name)
def test_a_cycle_of_an_older_version_goes_on(project: Project, recorded: Path) -> None:
    project.write({path.stem: path.read_text(encoding="utf-8") for path in recorded.glob("*.txt")})
    shutil.copytree(recorded / "state", project.state)
    found = project.call("status", "--json").document
    assert (found["phase"], found["iteration"], found["cycle"]) == ("REFACTOR", 1, 1)
    assert project.call("audit").code == 0
    runs = project.call("history", "--json").document["runs"]
    assert [run["phase"] for run in runs] == ["RED", "GREEN", "GREEN", "REFACTOR"]
    project.write(test_fare="def test_nothing():\n    pass\n")
    changed = project.run("--phase=refactor")
    assert changed.code == 10
    assert changed.has("test_adults_pay_all"), "what RED froze is still frozen"


def test_there_is_one_of_the_first_version() -> None:
    assert "state-0.1.0" in {path.name for path in RECORDED}
