"""An old name works until its time has come: it says what to type instead, and changes nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phase_gate import renamed
from phase_gate.cli import COMMANDS, main
from phase_gate.renamed import Renamed, find_row, tell, translate_options, word_notice
from phase_gate.rules.configuration import parse_configuration
from tests.support import FAILING_TESTS, Sample

ROWS = (
    Renamed(kind="option", old="--phase-result", new="--phase-exit", until="2.0"),
    Renamed(kind="command", old="combine", new="ci combine", until="2.0"),
    Renamed(kind="command", old="ci merge", new="ci combine", until="2.0"),
    Renamed(kind="argument", old="check --first", new="check --gate1", until="2.0"),
    Renamed(kind="setting", old="run.result", new="run.exit", until="2.0"),
)
#: What a run of pytest loads to have these rows.
PLUGIN = """\
from phase_gate import renamed

renamed.RENAMED = (renamed.Renamed(kind="option", old="--phase-result", new="--phase-exit", until="2.0"),
                   renamed.Renamed(kind="setting", old="run.result", new="run.exit", until="2.0"))
"""


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renamed, "RENAMED", ROWS)


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(["--phase-result=tests", "-q"], ["--phase-exit=tests", "-q"], id="with-its-value"),
        pytest.param(["--phase-result", "tests"], ["--phase-exit", "tests"], id="with-a-value-behind-it"),
        pytest.param(["--phase-results=tests"], ["--phase-results=tests"], id="a-longer-name-is-another"),
        pytest.param(["--", "--phase-result"], ["--", "--phase-result"], id="no-option-behind-two-dashes"),
    ],
)
def test_options_of_pytest(given: list[str], expected: list[str]) -> None:
    told = translate_options(given)
    assert given == expected
    assert [row.old for row in told] == (["--phase-result"] if "--phase-exit" in " ".join(expected) else [])


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(["ci", "merge"], ["ci", "combine"], id="a-command-of-a-feature"),
        pytest.param(["combine", "--json"], ["ci", "combine", "--json"], id="a-command-that-moved"),
        pytest.param(["check", "--first"], ["check", "--gate1"], id="an-argument"),
    ],
)
def test_a_command_answers_as_under_its_new_name(
    old: list[str], new: list[str], sample: Sample, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(new)
    expected = capsys.readouterr()
    assert main(old) == code
    said = capsys.readouterr()
    assert said.out == expected.out
    # The notice comes first, and the error that the command has anyway behind it.
    row = next(row for row in ROWS if row.old.split()[-1] in old)
    assert said.err == word_notice(row) + expected.err


@pytest.mark.usefixtures("rows")
def test_a_setting_is_read_under_its_new_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse_configuration("run: {result: dual}\n") == parse_configuration("run: {exit: dual}\n")
    assert capsys.readouterr().err == word_notice(ROWS[-1])


def test_a_run_with_an_old_option_and_an_old_setting(sample: Sample) -> None:
    sample.write(test_calc=FAILING_TESTS, renaming=PLUGIN)
    sample.write({"phase-gate.yaml": "run: {result: gate1}\n"})
    # Warnings are errors in this project: a notice is none.
    words = ("-W", "error", "--phase=red", "-q")
    new = sample.pytest_process(*words, "--phase-exit=tests", plugins=("renaming",))
    # A run reads the file twice, and pytest may capture the first notice: it is there, and nothing else is.
    option, setting = word_notice(ROWS[0]), word_notice(ROWS[-1])
    assert new.err in (setting, setting * 2)
    old = sample.pytest_process(*words, "--phase-result=tests", plugins=("renaming",))
    assert (new.code, old.code) == (1, 1), "pytest's own status, as --phase-exit=tests asks for"
    assert old.err.count(option) == 1
    assert old.err.replace(option, "") in (setting, setting * 2)


def test_a_notice_without_a_standard_error_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    tell(ROWS[0])


def test_no_row_takes_a_name_away_that_is_in_use(request: pytest.FixtureRequest) -> None:
    # The table as it is: an old name is none of today's, and each kind is one that is translated.
    from scripts.shell_files import command_parsers

    assert Path(renamed.__file__).exists()
    parsers = command_parsers()
    for row in renamed.RENAMED:
        assert row.kind in ("option", "command", "argument", "setting")
        assert row.old not in COMMANDS
        assert row.old not in parsers
        assert find_row(row.kind, row.new) is None, "a new name is no old one"
