"""The reader of command lines: every form of an argument, and what is wrong with one. It loads little."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phase_gate.cli._parser import Argument, parse, read_argument
from phase_gate.cli._table import COMMANDS
from phase_gate.errors import UsageError
from tests.cli.conftest import Begin
from tests.storage.repositories import commit_all, git, write
from tests.storage.stores import begin as begin_task
from tests.storage.stores import open_store
from tests.support import Project


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["check"], {"gate1": False, "task": None, "json": False}),
        (["check", "--task=a", "--dir", "b=c", "--task", "d"], {"task": "d", "dir": "b=c"}),
        (["check", "--task=--"], {"task": "--"}),
        (["hook", "--agent=codex", "stop"], {"agent": "codex", "event": "stop"}),
        (["history", "--last", "1"], {"last": 1}),
        (["waive", "x", "--days", "0.5"], {"days": 0.5}),
        (["report", "-o", "x"], {"command": "report", "output": "x"}),
        (["agent", "uninstall", "--agent", "claude", "codex", "--dry-run"], {"agent": ["claude", "codex"]}),
        (["prove", "--suite"], {"suite": []}),
        (["prove", "--exclude", "a", "--exclude=b"], {"exclude": ["a", "b"], "suite": None}),
        (["pipeline", "vote", "a", "-"], {"files": ["a", "-"]}),
        (["pipeline", "recover"], {"action": "status"}),
        (["signal", "--done"], {"done": True, "not_done": False}),
        (["baseline", "--rev", "x", "--", "-k", "--json"], {"arguments": ["-k", "--json"], "json": False}),
    ],
    ids=" ".join,
)
def test_what_a_command_line_says(words: list[str], found: dict[str, Any]) -> None:
    assert vars(parse(words)).items() >= found.items()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["check", "--gate1=yes"], "--gate1 takes no value"),
        (["check", "--task"], "--task needs a value: --task NAME"),
        (["check", "more"], "unrecognized arguments: more"),
        (["check", "--gate"], "unrecognized arguments: --gate: did you mean --gate1?"),
        (["hook"], "missing: stop|pre-tool"),
        (["hook", "leave"], "there is no event 'leave'; choose from stop, pre-tool"),
        (["hook", "stop", "--agent", "cladue"], "there is no --agent 'cladue': did you mean claude?"),
        (["rewind", "red"], "missing: --reason TEXT"),
        (["history", "--last", "two"], "--last can't be 'two': give a whole number above 0"),
        (["history", "--last", "-1"], "--last can't be '-1': give a whole number above 0"),
        (["prove", "--seconds", "0"], "--seconds can't be '0': give a number above 0"),
        (["waive", "x", "--days", "nan"], "--days can't be 'nan': give a number above 0"),
        (["prove", "--seconds=inf"], "--seconds can't be 'inf': give a number above 0"),
        (["signal", "--blocked", "--not-done"], "--blocked and --not-done can't be given together"),
        (["rewind", "red", "--reason", " "], "missing: --reason TEXT"),
        ([""], "there is no command ''"),
        (["verify"], "verify is no command by itself; choose from start, "),
        (["breaker", "rest"], "there is no command 'rest' in phase-gate breaker: did you mean reset?"),
        (["x" * 300], f"there is no command '{'x' * 40}'"),
    ],
    ids=lambda given: " ".join(given)[:40] if isinstance(given, list) else "",
)
def test_what_is_wrong_with_one(words: list[str], problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert caught.value.problem.startswith(problem)
    assert caught.value.remedy.endswith(" --help")


# --- texts: what a reader would not see is refused, whatever option it was given with

HIDDEN = ["a\x1b[2Jb", "a\rb", "a\x07", "a\x9b2J", "a\x00", "a\u202eb", "a\u200bb", "a\u2028::error::", "a\udc9b"]
#: Names of files, and words for pytest or another program: the printer shows what is in them.
ANYTHING = ("FILE", "DIR", "FOLDER", "COMMAND", "-- ARGS", "-- COMMAND")
SENTENCES = ("reason", "title", "exit_signal", "goal")
ROWS = [
    pytest.param(argument, id=f"{name} {argument.key}")
    for name, command in COMMANDS.items()
    for argument in map(read_argument, command.arguments)
    if argument.value and not argument.kind and not argument.choices
]


@pytest.mark.parametrize("argument", ROWS)
def test_every_text_can_be_seen(argument: Argument) -> None:
    for text in HIDDEN:
        if argument.value in ANYTHING:
            assert argument.read(text) == text
            continue
        with pytest.raises(UsageError) as caught:
            argument.read(text)
        assert f"U+{ord(text[1]):04X}" in caught.value.problem
    lines = "one\r\n\ttwo\n::error::three\n"
    if argument.key in SENTENCES:
        assert argument.read(lines) == "one two ::error::three"
    elif argument.value not in ANYTHING:
        with pytest.raises(UsageError, match=r"U\+000D"):
            argument.read(lines)


def test_a_signal_hides_nothing(begin: Begin) -> None:
    gated = begin("green")
    refused = "--reason can't be used: it contains the invisible character U+001B"
    assert gated.error("signal", "--reason", "ok\x1b[1A\x1b[2Kforged") == (2, "bad-usage", refused)
    given = gated.json("signal", "--reason", "both pass\n  ::error::forged", "--by", "Zo\u00eb")["gate_2"]
    assert (given["reason"], given["by"]) == ("both pass ::error::forged", "Zo\u00eb")


def test_a_runs_own_signal_hides_nothing(project: Project) -> None:
    project.write(test_ok="def test_ok():\n    assert 1 + 1 == 2\n")
    refused = project.run("--phase=green", "--exit-signal=ok\x1b[2J", "-v")
    assert refused.code == 4
    assert refused.has("--exit-signal can't be used: it contains the invisible character U+001B [bad-usage]")
    assert project.run("--phase=green", "--exit-signal=one\ntwo", "-v").has("one two")


#: What loads slowly and is not needed to say where a task stands.
HEAVY = (
    *("argparse", "typing", "subprocess", "hashlib", "hmac", "dataclasses", "tempfile"),
    *("yaml", "pytest", "_pytest", "filelock", "pluggy", "ast"),
    "phase_gate.gate.events",
)
WRITE = '{"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "new.py", "content": ""}}'


@pytest.mark.processes
@pytest.mark.parametrize("line", ["check", "status", "hook stop", "hook pre-tool"])
def test_loads_little(line: str, tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root / "app.py", "x = 1\n")
    git(root, "init", "-q")
    commit_all(root)
    begin_task(open_store(root / ".phase-gate"))
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}; from phase_gate.cli import main; main(sys.argv[1:]);"
        f" print(sorted(set(sys.modules) & set({HEAVY!r})), file=sys.stderr)"
    )
    # The second look: the first one makes the fingerprint that is kept.
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-S", "-c", code, *line.split()],
            cwd=root,
            input=WRITE if line == "hook pre-tool" else "{}",
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "home")},
        )
    assert done.stderr.splitlines()[-1] == "[]"
    assert "internal" not in done.stdout + done.stderr
