"""Agents that do what the hooks tell them, to the letter, or nothing at all; each speaks as a real client does."""

from __future__ import annotations

import io
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phase_gate.agents.agent import Document, load_agent
from phase_gate.cli import main
from tests.support import Ran, Sample

DATA = Path(__file__).parent.parent / "data" / "agents"

#: What an agent does before it types a command: its own craft, which no hook can tell it.
Craft = Callable[["FakeAgent", str], object]


class FakeAgent:
    """A client with its hooks: asks before it stops and before it writes, and reads the answers as the client does."""

    def __init__(
        self, name: str, sample: Sample, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.name, self.sample, self.agent = name, sample, load_agent(name)
        self._capsys, self._monkeypatch = capsys, monkeypatch
        #: What it was told when it was sent on, and what it typed.
        self.told: list[str] = []
        self.typed: list[str] = []
        #: What its user was shown at the end.
        self.shown = ""

    def work(self, craft: Craft = lambda agent, command: None, *, most: int = 20) -> None:
        """Stop, and go on as long as it is sent on: type what stands behind `Next:`, as it stands."""
        for sent_on in range(most):
            answer = self.stop(sent_on)
            if answer is None:
                return
            self.told.append(answer)
            command = next_of(answer)
            craft(self, command)
            self.type(command)
        raise AssertionError(f"{self.name} goes round for ever:\n" + "\n".join(self.told))

    def repeat(self, *, most: int = 20) -> None:
        """Say that it is done, and nothing else."""
        for sent_on in range(most):
            answer = self.stop(sent_on)
            if answer is None:
                return
            self.told.append(answer)
        raise AssertionError(f"{self.name} goes round for ever:\n" + "\n".join(self.told))

    def stop(self, sent_on: int = 0) -> str | None:
        """Return what it is sent on with; None if it may stop."""
        event = {**self._event("closed"), **({"loop_count": sent_on} if self.name == "cursor" else {})}
        if "stop_hook_active" in event:
            event["stop_hook_active"] = sent_on > 0
        ran = self._ask("stop", event)
        document = json.loads(ran.out) if ran.out else {}
        if ran.code == 2:
            return ran.err
        if "followup_message" in document:
            return str(document["followup_message"])
        if document.get("decision") in ("block", "deny"):
            return str(document["reason"])
        assert document.keys() <= {"systemMessage"}
        self.shown = document.get("systemMessage", "") or ran.err
        return None

    def write(self, path: str, text: str) -> str | None:
        """Write a file; returns what it is told if that is denied, and then nothing is written."""
        event = dict(self._event("frozen-test"))
        given = {"path": path, "file_path": path, "filePath": path, "content": text, "file_text": text}
        if self.name == "copilot":
            event |= {"toolName": "create", "toolArgs": given}
        else:
            event |= {"tool_name": "write_file" if self.name == "gemini" else "Write", "tool_input": given}
        document = json.loads(self._ask("pre-tool", event).out)
        inner = document.get("hookSpecificOutput", document)
        if "deny" in (inner.get("permissionDecision"), inner.get("permission"), inner.get("decision")):
            return str(inner.get("permissionDecisionReason") or inner.get("agent_message") or inner.get("reason"))
        self.sample.write({path: text})
        return None

    def type(self, command: str) -> Ran:
        """Type a command as it stands; only the reason is its own."""
        self.typed.append(command)
        program, *words = shlex.split(command.replace('"..."', '"as measured"'), comments=True)
        if program == "pytest":
            return self.sample.pytest(*words)
        assert program == "phase-gate", command
        return self._run(*words)

    def _event(self, situation: str) -> dict[str, Any]:
        text = (DATA / self.name / f"{situation}.in.json").read_text(encoding="utf-8")
        event: dict[str, Any] = json.loads(text.replace("ROOT", str(self.sample.root)))
        return event

    def _ask(self, event: str, document: Document) -> Ran:
        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(document).encode())))
            return self._run("hook", event, "--agent", self.name)

    def _run(self, *words: str) -> Ran:
        self._capsys.readouterr()
        code = main(list(words))
        out, err = self._capsys.readouterr()
        return Ran(code=code, out=out, err=err)


def next_of(text: str) -> str:
    """Return the command behind `Next:`; a comment of the shell may follow it."""
    (row,) = (row for row in text.splitlines() if row.startswith("Next: "))
    return row.removeprefix("Next: ")
