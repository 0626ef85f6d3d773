"""`phase-gate completion`: what the script offers in a real bash, and what is said without its extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from phase_gate.cli._help import render_script
from phase_gate.cli._table import COMMANDS
from tests.cli.conftest import Begin

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
