"""Completion in bash, zsh and fish, which have to be installed: `tox -e shells`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shells.checks import check_broken_project, check_hostile_task, check_row
from tests.shells.driver import Bash, Fish, Place, Shell, Zsh
from tests.shells.table import ROWS


@pytest.fixture(params=[Bash, Zsh, Fish], ids=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Shell:
    kind: type[Shell] = request.param
    return kind(Place(tmp_path))


@pytest.mark.parametrize("name", ROWS)
def test_the_tab_key_offers(shell: Shell, name: str) -> None:
    check_row(shell, ROWS[name])


def test_a_project_that_can_not_be_read_has_no_values(shell: Shell) -> None:
    check_broken_project(shell)


def test_nothing_in_a_project_is_run(shell: Shell) -> None:
    check_hostile_task(shell)
