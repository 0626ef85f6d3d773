"""Texts that agents, runners and people write, and what looks into them: no parser, but no less exposed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from phase_gate.agents.agent import AGENT_NAMES, load_agent, recognise
from phase_gate.agents.install import install_hooks
from phase_gate.agents.tools import find_file_writes, find_shell_paths
from phase_gate.claims.confidence import find_patterns, plan_is_ticked
from phase_gate.claims.text import read_claim_text, sentences
from phase_gate.errors import NotAllowedError
from phase_gate.gate.failures import blank
from phase_gate.gate.overrides import is_excuse
from phase_gate.names import find_name_fault, name_key
from phase_gate.tasks.artifacts import _check
from phase_gate.tasks.handins import parse_vote
from phase_gate.tasks.weighing import first_failures
from phase_gate.visible import find_unseen, show_text
from phase_gate.workflow.model import Artifact

#: Accepted in `exit_gate.patterns`, and as slow as those get.
PATTERNS = ("all.*tasks.*completed", r"is\s+done.*all.*a", "(?:all|every|each) tests? (?:pass|passed)", ".*a.*b.*c.*")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def phrases(data: bytes) -> None:
    prose = sentences(read_claim_text([_text(data)]))
    assert len(find_patterns(PATTERNS, prose)) == len(PATTERNS)


def plan(data: bytes) -> None:
    plan_is_ticked(_text(data))


def shell(data: bytes) -> None:
    for path in find_shell_paths(_text(data)):
        assert not path.startswith("-")


def hook_event(data: bytes) -> None:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        return  # as the hook does
    if not isinstance(event, dict):
        return
    recognise(event)
    for name in AGENT_NAMES:
        agent = load_agent(name)
        agent.read_stop(event)
        find_file_writes(agent.read_tool(event), root=Path("/nowhere"), start=Path("/nowhere"))


def settings_file(data: bytes) -> None:
    try:
        install_hooks(load_agent("claude"), _text(data))
    except NotAllowedError:
        return  # that is what it says it raises


def artifact(data: bytes) -> None:
    for pattern in (r"(?im)^decision:\s*approved\b", "a.*b.*c"):
        try:
            _check(data, Artifact(name="a", path="a.md", pattern=pattern, min_words=5), Path("/nowhere"))
        except ValueError:
            continue  # that is what it says it raises


def vote(data: bytes) -> None:
    parse_vote(data, "vote.yaml")


def message(data: bytes) -> None:
    text = _text(data)
    blank(text)
    assert len(first_failures(text)) <= 20
    is_excuse(text)


def shown(data: bytes) -> None:
    text = _text(data)
    seen = show_text(text)
    assert show_text(seen) == seen
    assert find_unseen(seen, but="\n\t") is None
    name_key(text)
    find_name_fault(text)


ROWS: tuple[tuple[str, Callable[[bytes], Any], tuple[bytes, ...]], ...] = (
    (
        "phrases",
        phrases,
        ("All tests pass, and all tasks are completed. It is  done! \u201ca b\u201d c\n".encode(),),
    ),
    ("plan", plan, (b"# Plan\n\n- [x] one\n  * [ ] two\n1. [X] three\n",)),
    (
        "shell",
        shell,
        (b"cd a && cat > 'b c' <<EOF\nx\nEOF\nsed -i s/a/b/ \"d\" | tee -a e; $(rm f) `mv g h` # i\n",),
    ),
    (
        "hook-event",
        hook_event,
        (
            b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "a > b"}, "cwd": "c"}',
            b'{"hook_event_name": "Stop", "stop_hook_active": true, "workspace_roots": ["a"]}',
            b'{"tool_name": "Edit", "tool_input": {"file_path": "a", "old_string": "b", "new_string": "c"}}',
        ),
    ),
    ("settings-file", settings_file, (b'{"a": [1, -2.5e3, "b\\"", null], // c\n /* d */ "hooks": {"e": {}},}\n',)),
    ("artifact", artifact, (b"# Decision\n\nDecision:  approved\n\n- a b c d e f, because {g h}\n\n[i j]: <k l>\n",)),
    ("vote", vote, (b"vote: approve\nconfidence: 0.9\nby: ann\nreason: it is fine\n",)),
    (
        "message",
        message,
        (
            b"E   AssertionError: /tmp/a/b.py:3 pid = 12 at 0x7f 12:30:01 2026-01-01T01:02:03Z 3.5 s tmpabcdef\n",
            b"FAILED a.py::b - error\nit works, done -- ok\n",
        ),
    ),
    ("shown", shown, ("a\x1b[2J \u202e ::error:: ##[x] \u2714\ufe0f \u200b\n\r\u0645\u200c\u062e".encode(),)),
)
