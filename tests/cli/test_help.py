"""`phase-gate --help`, and `phase-gate completion`."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from phase_gate.cli._help import render_script
from phase_gate.cli._parser import parse
from phase_gate.cli._table import COMMANDS, COMMON_CODES, FEATURES, GROUPS
from phase_gate.exit_codes import MEANINGS
from tests.cli.conftest import Begin
from tests.cli.test_call import CALLS

# --- help


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


@pytest.mark.parametrize("line", ["help --json", "--json --help", "--task x -h --json", "help help --json"])
def test_options_in_front_ask_for_the_overview(begin: Begin, line: str) -> None:
    assert begin("").gate(*line.split()).document["help"].startswith("usage: phase-gate [-h] [--version] COMMAND")


@pytest.mark.parametrize("line", ["help breaker rest", "breaker rest --help"])
def test_there_is_no_help_for_a_command_that_is_not_there(begin: Begin, line: str) -> None:
    problem = "there is no command 'rest' in phase-gate breaker: did you mean reset?"
    assert begin("").error(*line.split()) == (2, "bad-usage", problem)


def test_no_name_is_cut_at_a_hyphen(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in range(30, 60):
        monkeypatch.setenv("COLUMNS", str(width))
        assert begin("").gate("--help").has("phase-gate.yaml", "test-driven", "read-only")


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


# --- completion: what the script offers in a real bash


#: Calls the function that the script has registered as bash does at the tab key, and prints what it offers.
ASK = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
[[ $(complete -p phase-gate) =~ -F\\ ([^ ]+) ]]
"${BASH_REMATCH[1]}" phase-gate "${!#}"
printf '%s\\n' "${COMPREPLY[@]}"
"""

FIRST_WORDS = tuple(dict.fromkeys(name.split()[0] for name in COMMANDS))


def offered_by_bash(folder: Path, *typed: str) -> set[str]:
    script = folder / "completion.bash"
    script.write_text(render_script("bash"), encoding="utf-8")
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "bash", str(script), "phase-gate", *typed],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.processes
@pytest.mark.parametrize(
    ("typed", "offered", "withheld"),
    [
        pytest.param(("",), FIRST_WORDS, ("--gate1", "claim.txt"), id="every-command"),
        pytest.param(("pipeline", "re"), ("recover", "request"), ("vote",), id="commands-of-a-feature"),
        pytest.param(("check", "--"), ("--gate1", "--json", "--task"), ("--criteria",), id="options-of-a-command"),
        pytest.param(("hook", "stop", "--agent", "c"), ("claude", "codex"), ("gemini",), id="words-of-an-option"),
        pytest.param(("claim", "cl"), ("claim.txt",), ("notes",), id="files"),
        pytest.param(("status", "--dir", "no"), ("notes",), ("claim.txt",), id="folders"),
    ],
)
def test_bash_offers(
    tmp_path: Path, typed: tuple[str, ...], offered: tuple[str, ...], withheld: tuple[str, ...]
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "claim.txt").write_text("done\n", encoding="utf-8")
    found = offered_by_bash(tmp_path, *typed)
    assert [word for word in offered if word not in found] == []
    assert [word for word in withheld if word in found] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_every_shell(begin: Begin, shell: str) -> None:
    ran = begin("").gate("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert ran.has("phase-gate", "gate1", *FIRST_WORDS)


def test_without_the_extra_it_says_what_to_install(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    ran = begin("").gate("completion", "bash")
    assert ran.code == 2
    assert ran.has("needs the package shtab [bad-usage]", "try: pip install 'pytest-phase-gate[completion]'")
