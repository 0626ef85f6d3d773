"""`--help`: commands in groups, an example and the exit codes of each."""

from __future__ import annotations

import shlex

import pytest

from phase_gate.cli._parser import parse
from phase_gate.cli._table import COMMANDS, COMMON_CODES, FEATURES, GROUPS
from phase_gate.exit_codes import MEANINGS
from tests.cli.conftest import Begin
from tests.cli.test_dispatch import CALLS


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_lists_its_commands(begin: Begin, feature: str) -> None:
    ran = begin("").gate(feature, "--help")
    assert ran.code == 0
    for name, command in COMMANDS.items():
        if name.startswith(f"{feature} "):
            assert command.summary in " ".join(ran.out.split())


def test_the_overview_shows_groups_codes_and_where_to_begin(begin: Begin) -> None:
    ran = begin("").gate("--help")
    text = ran.out.splitlines()
    assert [row.rstrip(":") for row in text if row.rstrip(":") in GROUPS] == list(GROUPS)
    assert ran.has("exit codes:", *(f"\n  {code:<4}" for code, _, _ in MEANINGS), "begin with:\n  phase-gate demo")


@pytest.mark.parametrize("width", [50, 80, 200])
def test_no_row_is_wider_than_the_terminal(begin: Begin, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert max(map(len, begin("").gate("--help").out.splitlines())) <= width


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_s_help_ends_with_an_example_and_its_codes(begin: Begin, name: str) -> None:
    out = begin("").gate(*name.split(), "--help").out
    command = COMMANDS[name]
    before, _, end = out.partition("\nexample:\n")
    assert end.startswith(f"  phase-gate {command.example}\n\nexit codes:\n")
    assert before.startswith(f"usage: phase-gate {name}")
    assert "options of every command:\n  -h, --help" in before
    codes = sorted({**COMMON_CODES, **command.codes})
    assert [int(row.split()[0]) for row in end.splitlines() if row[2:3].isdigit()] == codes


@pytest.mark.parametrize("name", COMMANDS)
def test_an_example_can_be_typed(name: str) -> None:
    assert parse(shlex.split(COMMANDS[name].example)).command == name


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_ends_with_no_code_that_help_leaves_out(name: str) -> None:
    code, _ = CALLS[name]
    assert code in {**COMMON_CODES, **COMMANDS[name].codes}
