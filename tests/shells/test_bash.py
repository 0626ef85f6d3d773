"""A sample of completion, in bash at a terminal; all of it, in three shells: `tox -e shells`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shells.checks import check_broken_project, check_hostile_task, check_row
from tests.shells.driver import Bash, Place
from tests.shells.table import ROWS

SAMPLE = ("every-command", "options-of-a-command", "words-of-an-option", "files", "tasks", "phases")


@pytest.mark.parametrize("name", SAMPLE)
def test_the_tab_key_offers(tmp_path: Path, name: str) -> None:
    check_row(Bash(Place(tmp_path)), ROWS[name])


def test_a_project_that_can_not_be_read_has_no_values(tmp_path: Path) -> None:
    check_broken_project(Bash(Place(tmp_path)))


def test_nothing_in_a_project_is_run(tmp_path: Path) -> None:
    check_hostile_task(Bash(Place(tmp_path)))
