"""What clients say themselves about our hooks: programs that answer as the real ones do, and ones that do not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from phase_gate.agents.own_checks import OwnCheck, ask_client

COMMANDS = frozenset({"phase-gate hook stop --agent codex", "phase-gate hook pre-tool --agent codex"})

#: Answers as `codex app-server` does: a line for each question, and others between.
CODEX = """\
import json, sys
print(json.dumps({"method": "notice", "params": {}}), flush=True)
for row in sys.stdin:
    question = json.loads(row)
    if question["method"] == "initialize":
        print(json.dumps({"id": question["id"], "result": {}}), flush=True)
    if question["method"] == "hooks/list":
        folder = {"cwd": question["params"]["cwds"][0], "hooks": HOOKS}
        print(json.dumps({"id": question["id"], "result": {"data": [folder]}}), flush=True)
"""

Install = Callable[[str, str], Mapping[str, str]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / ".claude").mkdir(parents=True)
    return place


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Return a function that puts a program in Python onto the path, and returns the environment."""

    def put(name: str, text: str, folder: str = "programs") -> Mapping[str, str]:
        program = tmp_path / folder / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!{sys.executable} -S\n{text}", encoding="utf-8")
        program.chmod(0o755)
        return {"PATH": str(program.parent), "HOME": str(tmp_path / "home")}

    return put


def hooks(**changes: Any) -> str:
    rows = [{"command": each, "enabled": True, "trustStatus": "trusted", **changes} for each in sorted(COMMANDS)]
    return CODEX.replace("HOOKS", repr(rows))


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        pytest.param(hooks(), OwnCheck(would_run=True, says="Codex trusts them"), id="trusted"),
        pytest.param(hooks(trustStatus="managed"), OwnCheck(would_run=True, says="Codex trusts them"), id="managed"),
        pytest.param(
            hooks(trustStatus="untrusted"), OwnCheck(would_run=False, says="they are untrusted"), id="never-trusted"
        ),
        pytest.param(
            hooks(trustStatus="modified"), OwnCheck(would_run=False, says="they are modified"), id="changed-since"
        ),
        pytest.param(hooks(enabled=False), OwnCheck(would_run=False, says="they are switched off"), id="off"),
        pytest.param(
            hooks(command="another"),
            OwnCheck(would_run=False, says="it does not read them: this folder is not trusted"),
            id="not-listed",
        ),
        pytest.param(
            "print('hello')", OwnCheck(would_run=None, says="codex app-server did not answer"), id="another-program"
        ),
        pytest.param(
            'print(\'{"id": 2, "error": {}}\')',
            OwnCheck(would_run=None, says="codex app-server did not answer"),
            id="an-older-one",
        ),
    ],
)
@pytest.mark.processes
def test_codex(root: Path, install: Install, program: str, expected: OwnCheck) -> None:
    assert ask_client("codex", root, COMMANDS, install("codex", program)) == expected


@pytest.mark.processes
def test_codex_that_ends_before_it_is_asked(root: Path, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait_for_end(process: subprocess.Popen[str], seconds: float) -> threading.Timer:
        process.wait()
        return threading.Timer(seconds, process.kill)

    monkeypatch.setattr("phase_gate.agents.own_checks._kill_after", wait_for_end)
    answer = ask_client("codex", root, COMMANDS, install("codex", "print('hello')"))
    assert answer == OwnCheck(would_run=None, says="codex app-server did not answer")


@pytest.mark.processes
def test_one_that_never_answers_is_ended(root: Path, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phase_gate.agents.own_checks._TIMEOUT", 0.2)
    for name, says in (("codex", "codex app-server did not answer"), ("claude", "claude doctor did not answer")):
        environment = install(name, "import time\ntime.sleep(100)")
        assert ask_client(name, root, COMMANDS, environment) == OwnCheck(would_run=None, says=says)


@pytest.mark.processes
def test_claude(root: Path, install: Install) -> None:
    fine = OwnCheck(would_run=True, says="claude doctor finds no fault with them")
    environment = install("claude", "print('Claude Code doctor\\n\\nNo installation issues found.')")
    assert ask_client("claude", root, COMMANDS, environment) == fine
    row = f"- {root}/.claude/settings.json › hooks.Stop.0: Unknown hook type"
    environment = install("claude", f"print('Invalid settings')\nprint({row!r})")
    assert ask_client("claude", root, COMMANDS, environment) == OwnCheck(
        would_run=False, says="claude doctor says: .claude/settings.json › hooks.Stop.0: Unknown hook type"
    )


@pytest.mark.parametrize("place", [".claude/settings.json", ".claude/settings.local.json", "home"])
def test_claude_with_all_hooks_switched_off(root: Path, tmp_path: Path, install: Install, place: str) -> None:
    environment = install("claude", "")
    own = tmp_path / "home" / ".claude"
    own.mkdir(parents=True)
    settings = own / "settings.json" if place == "home" else root / place
    settings.write_text(json.dumps({"disableAllHooks": True}), encoding="utf-8")
    shown = str(settings) if place == "home" else place
    expected = OwnCheck(would_run=False, says=f"disableAllHooks is set in {shown}")
    assert ask_client("claude", root, COMMANDS, environment) == expected


@pytest.mark.parametrize("name", ["gemini", "copilot", "cursor", "vscode"])
def test_the_others_have_no_way_to_tell(root: Path, name: str) -> None:
    assert ask_client(name, root, COMMANDS, {"PATH": os.devnull}) == OwnCheck(would_run=None)


def test_one_that_is_not_there(root: Path) -> None:
    expected = OwnCheck(would_run=None, says="codex is not on the path")
    assert ask_client("codex", root, COMMANDS, {"PATH": os.devnull}) == expected


def test_a_program_that_came_with_the_project_is_not_run(root: Path, install: Install) -> None:
    environment = install("codex", "open('canary', 'w')")
    os.rename(environment["PATH"], root / "programs")
    checked = ask_client("codex", root, COMMANDS, {**environment, "PATH": str(root / "programs")})
    assert checked.would_run is None
    assert not (root / "canary").exists()
