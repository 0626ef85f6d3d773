"""A command opens its task once, and once more under the lock if it changes something; it reads its rules once."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from phase_gate.storage.opening import Opened, Opener
from phase_gate.workflow import model_json
from phase_gate.workflow.model import Workflow
from phase_gate.workflow.model_json import workflow_from_json
from tests.cli.conftest import Begin


@pytest.mark.parametrize(
    ("story", "words", "code", "openings"),
    [
        pytest.param("green", ("check",), 10, 1, id="check"),
        pytest.param("green", ("status",), 10, 1, id="status"),
        pytest.param("green", ("explain",), 10, 1, id="explain"),
        pytest.param("green", ("ci", "badge"), 0, 1, id="badge"),
        pytest.param("green", ("agent", "prompt"), 0, 1, id="prompt"),
        pytest.param("green", ("hook", "stop"), 0, 1, id="hook-stop"),
        pytest.param("stuck-5", ("breaker", "status"), 12, 1, id="breaker-status"),
        pytest.param("green", ("signal", "--reason", "both pass"), 0, 2, id="signal"),
        pytest.param("green", ("signal", "--next"), 0, 1, id="signal-for-the-next-run"),
        pytest.param("green-exited", ("advance",), 0, 2, id="advance"),
        pytest.param("notes", ("advance",), 10, 2, id="advance-without-tests"),
        pytest.param("green", ("rewind", "red", "--reason", "one is missing"), 0, 2, id="rewind"),
        pytest.param("refactor", ("declare", "refactoring_complete=true", "--reason", "tidy"), 0, 2, id="declare"),
        pytest.param("green", ("claim", "claim.txt"), 10, 2, id="claim"),
    ],
)
def test_how_often_a_task_is_opened(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, story: str, words: tuple[str, ...], code: int, openings: int
) -> None:
    desk = begin(story)
    (desk.root / "claim.txt").write_text("I am done.\n", encoding="utf-8")
    opened: list[object] = []
    original = Opener.open

    def count(self: Opener, **options: Any) -> Opened:
        opened.append(self)
        return original(self, **options)

    read: list[object] = []

    def read_rules(document: Any) -> Workflow:
        read.append(document)
        return workflow_from_json(document)

    monkeypatch.setattr(Opener, "open", count)
    monkeypatch.setattr(model_json, "workflow_from_json", read_rules)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    ran = desk.gate(*words)
    assert ran.code == code, ran
    assert len(opened) == openings
    assert len(read) <= 1
