"""`phase-gate hook`: what each agent is answered, to the letter, and what the answer depends on. It only looks."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from phase_gate.agents.agent_table import AGENT_NAMES
from tests.cli.conftest import Begin, CommandProject
from tests.support import CALC, FAILING_TESTS, Result

DATA = Path(__file__).parent.parent / "data" / "agents"

#: Stories of the command's tests, and what happens after them.
STOPS: Mapping[str, tuple[str, Callable[[CommandProject], object]]] = {
    "no-cycle": ("", lambda gated: None),
    "closed": ("green-once", lambda gated: None),
    "open": ("green-exited", lambda gated: None),
    "cycle-done": ("done", lambda gated: None),
    "blocked": ("green-once", lambda gated: gated.gate("signal", "--blocked", "--reason", "no access to the service")),
    "circuit-open": ("stuck-5", lambda gated: None),
    "damaged-state": ("green", lambda gated: gated.tamper()),
}
TOOLS: Mapping[str, tuple[str, Callable[[CommandProject], object]]] = {
    "frozen-test": ("green", lambda gated: None),
    "own-hooks": ("green", lambda gated: gated.project.write({".claude/settings.json": "{}"})),
}

#: What differs from run to run.
VARYING = ((r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"), (r"\d+ min left", "N min left"))


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Return a function that asks as an agent does: an event on standard input."""
    for name in ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)

    def ask(gated: CommandProject, *arguments: str, event: object = None) -> Result:
        text = event if isinstance(event, str) else json.dumps(event if event is not None else {})
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        before = gated.files()
        ran = gated.gate("hook", *arguments)
        assert gated.files() == before, "it only looks"
        return ran

    return ask


Hook = Callable[..., Result]


def document_of(ran: Result) -> dict[str, Any]:
    document = {"exit_code": ran.code, "stdout": json.loads(ran.out) if ran.out else None, "stderr": ran.err}
    text = json.dumps(document)
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text)
    found: dict[str, Any] = json.loads(text)
    return found


def read_pair(agent: str, situation: str, root: Path) -> tuple[Any, Any]:
    event = (DATA / agent / f"{situation}.in.json").read_text(encoding="utf-8").replace("ROOT", str(root))
    return json.loads(event), json.loads((DATA / agent / f"{situation}.out.json").read_text(encoding="utf-8"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("agent", AGENT_NAMES)
@pytest.mark.parametrize("situation", [*STOPS, *TOOLS])
def test_what_an_agent_is_answered(begin: Begin, hook: Hook, agent: str, situation: str) -> None:
    story, happens = {**STOPS, **TOOLS}[situation]
    gated = begin(story)
    happens(gated)
    event, expected = read_pair(agent, situation, gated.root)
    ran = hook(gated, "stop" if situation in STOPS else "pre-tool", "--agent", agent, event=event)
    if os.environ.get("WRITE_AGENT_ANSWERS"):  # then look at what has changed, word by word
        (DATA / agent / f"{situation}.out.json").write_text(json.dumps(document_of(ran), indent=2) + "\n")
    assert document_of(ran) == expected


@pytest.mark.parametrize("agent", AGENT_NAMES)
@pytest.mark.parametrize("situation", ["closed", "frozen-test"])
def test_whose_event_it_is_can_be_told(begin: Begin, hook: Hook, agent: str, situation: str) -> None:
    gated = begin(STOPS.get(situation, ("green", None))[0])
    event, _ = read_pair(agent, situation, gated.root)
    ran = hook(gated, "stop" if situation == "closed" else "pre-tool", "--json", event=event)
    # VS Code's events are Claude Code's: only its settings tell them apart.
    assert ran.document["agent"] == ("claude" if agent == "vscode" else agent)


# --- about to stop


def stop(gated: CommandProject, hook: Hook, *arguments: str, **event: object) -> tuple[str, str]:
    """Return the verdict and what is said."""
    document = hook(gated, "stop", "--json", *arguments, event={"hook_event_name": "Stop", **event}).document
    return document["verdict"], document["reason"]


def test_doubt_closes_the_gate(begin: Begin, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = begin("green-exited")
    gated.project.write({"phase-gate.yaml": "nonsense: 1\n"})
    verdict, reason = stop(gated, hook)
    assert (verdict, "nonsense" in reason) == ("block", True)
    gated.project.remove("phase-gate.yaml")
    monkeypatch.setattr("phase_gate.gate.freshness.assess", lambda *given, **named: 1 / 0)
    verdict, reason = stop(gated, hook)
    assert (verdict, "ZeroDivisionError" in reason) == ("block", True), "a fault of our own"


@pytest.mark.parametrize("text", ["", "no json", "[]", "[" * 100_000, '"text"'])
def test_an_event_that_is_none_is_an_agent_that_stops(begin: Begin, hook: Hook, text: str) -> None:
    gated = begin("green-once")
    assert hook(gated, "stop", event=text).document["decision"] == "block"


def test_the_folder_that_it_was_started_in_counts(
    begin: Begin, hook: Hook, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    gated = begin("green-once")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    assert stop(gated, hook, cwd=str(elsewhere))[0] == "allow", "nobody could know"
    assert stop(gated, hook, cwd=str(gated.root))[0] == "block"
    assert stop(gated, hook, workspace_roots=[str(gated.root)])[0] == "block"
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(gated.root))
    assert stop(gated, hook, cwd=str(elsewhere))[0] == "block", "an agent that goes elsewhere is not out of it"


# --- it ends: an agent that only ever says that it is done is let go, and a person is told

#: What has to happen before an agent is held up anew.
MOVES: Mapping[str, tuple[Callable[[CommandProject], object], bool]] = {
    "nothing": (lambda gated: None, False),
    "only-words": (lambda gated: gated.gate("signal", "--not-done", "--reason", "not yet"), False),
    "files": (CommandProject.edit_source, True),
    "a-run": (lambda gated: gated.project.run("--phase=green"), True),
    "a-narrow-run": (lambda gated: gated.project.run("--phase=green", "-k", "add"), True),
    "a-run-that-was-lost": (CommandProject.lose_run, True),
}


def is_held(ran: Result) -> bool:
    """Tell whether an answer sends the agent on, as the agent itself reads it."""
    document = json.loads(ran.out) if ran.out else {}
    return ran.code == 2 or "followup_message" in document or document.get("decision") in ("block", "deny")


def drive(
    gated: CommandProject, hook: Hook, agent: str, event: dict[str, Any], *, most: int = 12
) -> tuple[int, Result]:
    """Play an agent that repeats that it is done; return how often it is held up, and the last answer."""
    for held in range(most):
        told = {**event, "loop_count": 0} if "loop_count" in event else {**event, "stop_hook_active": held > 0}
        ran = hook(gated, "stop", "--agent", agent, event=told)
        if not is_held(ran):
            return held, ran
    raise AssertionError(f"{agent} goes round for ever")


@pytest.mark.parametrize("agent", AGENT_NAMES)
@pytest.mark.parametrize("situation", ["closed", "damaged-state"])
def test_a_stubborn_agent_comes_to_an_end(begin: Begin, hook: Hook, agent: str, situation: str) -> None:
    story, happens = STOPS[situation]
    gated = begin(story)
    happens(gated)
    event, _ = read_pair(agent, situation, gated.root)
    before = gated.files()
    held, ran = drive(gated, hook, agent, event)
    assert held == 3
    assert "a person is needed" in ran.out + ran.err
    assert ("pytest --phase=green" if situation == "closed" else "phase-gate audit") in ran.out + ran.err
    assert drive(gated, hook, agent, event)[0] == 0, "it stays so until something moves"
    assert gated.gate("check").code == (10 if situation == "closed" else 11), "the gate stays closed"
    assert gated.files() == before, "and nothing is recorded"


@pytest.mark.parametrize(("happens", "moves"), MOVES.values(), ids=MOVES)
def test_what_moves_is_held_up_anew(
    begin: Begin, hook: Hook, happens: Callable[[CommandProject], object], moves: bool
) -> None:
    gated = begin("green-once")
    event = {"hook_event_name": "Stop", "session_id": "s1"}
    assert drive(gated, hook, "claude", event)[0] == 3
    happens(gated)
    assert drive(gated, hook, "claude", event)[0] == (3 if moves else 0)


def test_each_session_is_counted_by_itself(begin: Begin, hook: Hook) -> None:
    gated = begin("green-once")
    for session in ("s1", "s2", ""):
        assert drive(gated, hook, "codex", {"hook_event_name": "Stop", "session_id": session})[0] == 3
    # One stop may ask the hooks of two agents: each has its own count.
    assert drive(gated, hook, "claude", {"hook_event_name": "Stop", "session_id": "s1"})[0] == 3
    assert drive(gated, hook, "codex", {"hook_event_name": "Stop", "session_id": "s2"})[0] == 0


def test_how_often_can_be_set(begin: Begin, hook: Hook) -> None:
    gated = begin("green-once")
    gated.project.write({"phase-gate.yaml": "agents: {stop_blocks: 1}\n"})
    assert drive(gated, hook, "gemini", {"hook_event_name": "AfterAgent", "session_id": "s1"})[0] == 1


def test_an_agent_that_only_ever_edits_comes_to_an_end_too(begin: Begin, hook: Hook) -> None:
    gated = begin("green-once")
    for number in range(20):
        gated.project.write(calc=f"{CALC}\n\nTRY = {number}\n")
        verdict, _ = stop(gated, hook, session_id="s1")
        assert verdict == ("block" if number < 15 else "allow")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"in_row": "9"}', "[" * 5000])
def test_a_count_that_can_not_be_read_begins_anew(begin: Begin, hook: Hook, content: str) -> None:
    gated = begin("green-once")
    stop(gated, hook, session_id="s1")
    (file,) = (gated.folder / "cache").glob("stops-*")
    file.write_text(content)
    assert drive(gated, hook, "claude", {"hook_event_name": "Stop", "session_id": "s1"})[0] == 3


def test_where_nothing_can_be_written_it_lets_go(begin: Begin, hook: Hook) -> None:
    gated = begin("green-once")
    shutil.rmtree(gated.folder / "cache")
    (gated.folder / "cache").write_text("in the way")
    document = hook(gated, "stop", "--json", event={"session_id": "s1"}).document
    assert (document["verdict"], document["needs_person"]) == ("allow", True)
    assert document["note"].endswith("no run can be recorded; a person is needed")
    assert document["next_command"] == "pytest --phase=green"


def test_by_hand_nothing_is_counted(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = begin("green-once")
    monkeypatch.setattr("phase_gate.cli._call._is_interactive", lambda: True)
    for _ in range(5):
        assert gated.gate("hook", "stop").document["decision"] == "block"


# --- about to use a tool


def use(gated: CommandProject, hook: Hook, tool: str, /, **given: object) -> tuple[str, str]:
    event = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given, "cwd": str(gated.root)}
    document = hook(gated, "pre-tool", "--json", event=event).document
    return document["verdict"], document["reason"]


def write(path: str, content: str = "x = 1\n") -> tuple[str, dict[str, object]]:
    return "Write", {"file_path": path, "content": content}


def shell(command: str) -> tuple[str, dict[str, object]]:
    return "Bash", {"command": command}


def edit(path: str, old: str, new: str, **more: object) -> tuple[str, dict[str, object]]:
    return "Edit", {"file_path": path, "old_string": old, "new_string": new, **more}


NEW_TEST = FAILING_TESTS + "\n\ndef test_more():\n    from calc import add\n\n    assert add(2, 2) == 4\n"
FILES = {
    "pyproject.toml": '[project]\nname = "calc"\n\n[tool.pytest.ini_options]\naddopts = ["-q"]\n',
    "tox.ini": "[tox]\nenv_list = py\n",
    ".claude/settings.json": "{}",
}
GREEN_CALLS = {
    "code": (write("calc.py"), "allow"),
    "a-new-test-file": (write("test_more.py", "def test_x():\n    assert 1\n"), "allow"),
    "a-new-test-beside-frozen-ones": (write("test_calc.py", NEW_TEST), "deny"),
    "a-frozen-test": (edit("test_calc.py", "== 1", "== 2"), "deny"),
    "a-new-conftest": (write("conftest.py", "import pytest\n"), "deny"),
    "by-a-shell": (shell("sed -i 's/== 1/== 2/' test_calc.py"), "deny"),
    "the-rules": (write("phase-gate.yaml", "workflow: tdd\n"), "deny"),
    "a-file-that-is-called-like-the-workflow": (write("tdd", "x\n"), "allow"),
    "pytest's-own-file": (write("pytest.ini", "[pytest]\naddopts = -x\n"), "deny"),
    "a-dependency": (edit("pyproject.toml", '"calc"', '"calc2"'), "allow"),
    "the-state": (write(".phase-gate/state.json", "{}"), "deny"),
    "the-agent's-own-hooks": (write(".claude/settings.json", "{}"), "ask"),
    "reading": (("Read", {"file_path": ".phase-gate/state.json"}), "allow"),
    "a-tool-that-we-do-not-know": (("mcp__files__put", {"path": "test_calc.py"}), "allow"),
    "outside": (write("../elsewhere.py"), "allow"),
}


@pytest.mark.parametrize(("call", "expected"), GREEN_CALLS.values(), ids=GREEN_CALLS)
def test_in_green(begin: Begin, hook: Hook, call: tuple[str, dict[str, object]], expected: str) -> None:
    gated = begin("green")
    gated.project.write(FILES)
    tool, given = call
    verdict, reason = use(gated, hook, tool, **given)
    assert verdict == expected, reason
    assert bool(reason) == (expected != "allow")


def test_the_way_back(begin: Begin, hook: Hook) -> None:
    gated = begin("green")
    tool, given = edit("test_calc.py", "== 1", "== 2")
    event = {"tool_name": tool, "tool_input": given, "cwd": str(gated.root)}
    document = hook(gated, "pre-tool", "--json", event=event).document
    assert document["reason"] == (
        "test_calc.py is frozen: its tests were red before; put new ones in another file (GREEN)"
    )
    back = 'phase-gate rewind red --reason "..."'
    call = 'phase-gate signal --test-wrong --reason "..."'
    assert document["next_hint"] == f"if it is wrong: {call}, then stop: a person goes back with: {back}"
    gated.edit_source()
    assert gated.gate("signal", "--test-wrong", "--reason", "3 - 2 is 1").code == 10, "an agent may do that at any time"
    assert stop(gated, hook)[0] == "allow"
    assert use(gated, hook, tool, **given)[0] == "deny", "and no more than that"
    assert gated.gate("rewind", "red", "--reason", "test_sub is wrong").code == 0
    assert use(gated, hook, tool, **given) == ("allow", "")


#: Story -> whether an agent may stop there, and whether it may write a test.
BY_STORY = {
    "": ("allow", "allow"),
    "red": ("block", "allow"),
    "red-exited": ("block", "deny"),
    "until-phase": ("allow", "deny"),
    "green": ("block", "deny"),
    "green-exited": ("allow", "allow"),
    "refactor": ("block", "deny"),
    "document": ("block", "deny"),
    "done": ("allow", "allow"),
}


@pytest.mark.parametrize("story", BY_STORY)
def test_in_each_phase(begin: Begin, hook: Hook, story: str) -> None:
    gated = begin(story)
    may_stop, may_write = BY_STORY[story]
    assert stop(gated, hook)[0] == may_stop
    assert use(gated, hook, "Write", file_path="calc.py", content="x = 1\n")[0] == "allow"
    assert use(gated, hook, "Write", file_path="test_calc.py", content="x = 1\n")[0] == may_write
    assert use(gated, hook, "Write", file_path=".phase-gate/state.json", content="")[0] == "deny"


def test_with_a_damaged_state_nothing_is_written(begin: Begin, hook: Hook) -> None:
    gated = begin("green")
    gated.tamper()
    event = {"tool_name": "Write", "tool_input": {"file_path": "calc.py", "content": ""}, "cwd": str(gated.root)}
    document = hook(gated, "pre-tool", "--json", event=event).document
    assert document["verdict"] == "deny"
    assert "audit --repair" in document["next_hint"]
    assert use(gated, hook, "Bash", command="phase-gate audit")[0] == "allow", "the way to repair stays open"
    assert use(gated, hook, "Write", file_path=".phase-gate/state.json", content="")[0] == "deny"


def test_in_doubt_a_tool_is_denied(begin: Begin, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = begin("green")
    document = hook(gated, "pre-tool", "--agent", "claude", event="{").document
    assert document["hookSpecificOutput"]["permissionDecision"] == "deny"
    monkeypatch.setattr("phase_gate.agents.hook_answers.decide_writes", lambda *given: 1 / 0)
    verdict, reason = use(gated, hook, "Write", file_path="calc.py", content="")
    assert (verdict, "ZeroDivisionError" in reason) == ("deny", True)


@pytest.mark.parametrize(
    ("tool", "given"), [("Write", {"file_path": "a\0b.py"}), ("Bash", {"command": "rm a.py", "workdir": "a\0b"})]
)
def test_a_name_that_no_file_can_have_is_denied(begin: Begin, hook: Hook, tool: str, given: dict[str, object]) -> None:
    verdict, reason = use(begin("green"), hook, tool, **given)
    assert (verdict, reason.partition("named ")[0]) == ("deny", "no file can be ")
    assert "a\\x00b" in reason


@pytest.mark.skipif(sys.platform == "win32", reason="there, links are for administrators")
def test_a_link_does_not_hide_what_it_leads_to(begin: Begin, hook: Hook) -> None:
    gated = begin("green")
    (gated.root / "innocent").symlink_to(gated.root / ".phase-gate")
    (gated.root / "innocent.py").symlink_to(gated.root / "test_calc.py")
    assert use(gated, hook, "Write", file_path="innocent/state.json", content="")[0] == "deny"
    assert use(gated, hook, "Write", file_path="innocent.py", content="x = 1\n")[0] == "deny"


def test_another_state_folder_is_protected_too(begin: Begin, hook: Hook) -> None:
    gated = begin("")
    gated.project.write({"phase-gate.yaml": "run: {dir: build/gate}\n"})
    assert use(gated, hook, "Write", file_path="build/gate/state.json", content="")[0] == "deny"
    assert use(gated, hook, "Write", file_path="build/other.json", content="")[0] == "allow"


@pytest.mark.parametrize(
    ("named", "written", "verdict"),
    [
        ("tasks/t/drive/executor-0123456789abcdef.yaml", "tasks/t/drive/executor-0123456789abcdef.yaml", "allow"),
        ("drive/0a/vote-0123456789abcdef.yaml", "drive/0a/vote-0123456789abcdef.yaml", "allow"),
        ("tasks/t/drive/executor-0123456789abcdef.yaml", "tasks/t/drive/reviewer-0123456789abcdef.yaml", "deny"),
        ("tasks/t/drive/executor-0123456789abcdef.yaml", "tasks/t/ledger.jsonl", "deny"),
        ("tasks/t/ledger.jsonl", "tasks/t/ledger.jsonl", "deny"),
        ("state.json", "state.json", "deny"),
        ("", "drive/executor-0123456789abcdef.yaml", "deny"),
    ],
)
def test_an_agent_may_answer_where_its_drive_says(
    begin: Begin, hook: Hook, monkeypatch: pytest.MonkeyPatch, named: str, written: str, verdict: str
) -> None:
    gated = begin("green")
    folder = gated.root / ".phase-gate"
    monkeypatch.setenv("PHASE_GATE_ANSWER", str(folder / named) if named else "")
    assert use(gated, hook, "Write", file_path=str(folder / written), content="x: 1")[0] == verdict


def test_paths_of_a_shell_start_where_the_agent_is(begin: Begin, hook: Hook) -> None:
    gated = begin("green")
    (gated.root / "sub").mkdir()
    event = {"tool_name": "Bash", "tool_input": {"command": "rm test_calc.py"}, "cwd": str(gated.root / "sub")}
    assert hook(gated, "pre-tool", "--json", event=event).document["verdict"] == "allow"
    event["tool_input"] = {"command": "rm ../test_calc.py"}
    assert hook(gated, "pre-tool", "--json", event=event).document["verdict"] == "deny"


def test_a_workflow_of_the_project_s_own_is_protected(begin: Begin, hook: Hook) -> None:
    # In a workflow whose first phase wants passing tests, nothing is frozen before it ends.
    gated = begin("notes")
    assert use(gated, hook, "Write", file_path="short.yaml", content="x")[0] == "deny"
