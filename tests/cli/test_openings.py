"""A command opens its task once, and reads its rules once; only if it was written since, it opens it under the lock."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from phase_gate.decisions import signalling
from phase_gate.decisions.fresh_evidence import measure_now
from phase_gate.gate.measured import Measured
from phase_gate.storage.opening import Opened, Opener
from phase_gate.task import Task
from phase_gate.workflow import model_json
from phase_gate.workflow.model import Workflow
from phase_gate.workflow.model_json import workflow_from_json
from tests.cli.conftest import Begin


@pytest.mark.parametrize(
    ("story", "words", "code"),
    [
        pytest.param("green", ("check",), 10, id="check"),
        pytest.param("green", ("status",), 10, id="status"),
        pytest.param("green", ("explain",), 10, id="explain"),
        pytest.param("green", ("agent", "prompt"), 0, id="prompt"),
        pytest.param("green", ("hook", "stop"), 0, id="hook-stop"),
        pytest.param("stuck-5", ("status",), 12, id="status-of-an-open-circuit"),
        pytest.param("green", ("signal", "--reason", "both pass"), 0, id="signal"),
        pytest.param("green", ("signal", "--next"), 0, id="signal-for-the-next-run"),
        pytest.param("green-exited", ("advance",), 0, id="advance"),
        pytest.param("notes", ("advance",), 10, id="advance-without-tests"),
        pytest.param("green", ("rewind", "red", "--reason", "one is missing"), 0, id="rewind"),
        pytest.param("refactor", ("declare", "refactoring_complete=true", "--reason", "tidy"), 0, id="declare"),
        pytest.param("green", ("claim", "claim.txt"), 10, id="claim"),
    ],
)
def test_how_often_a_task_is_opened(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, story: str, words: tuple[str, ...], code: int
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
    assert len(opened) == 1
    assert len(read) <= 1


def test_what_was_written_meanwhile_counts(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = begin("green")

    def measure(task: Task, **options: Any) -> Measured:
        desk.lose_run()  # another process writes while evidence is gathered, before the lock
        return measure_now(task, **options)

    monkeypatch.setattr(signalling, "measure_now", measure)
    ran = desk.gate("signal", "--reason", "both pass")
    assert ran.code == 13
    assert ran.has("run feedface began after it and never ended")
