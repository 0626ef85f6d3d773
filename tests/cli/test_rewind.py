"""`phase-gate rewind`: back to an earlier phase, with a reason."""

from __future__ import annotations

import pytest

from phase_gate.storage.store import DRIVE_NAME
from tests.cli.conftest import Begin


@pytest.mark.parametrize(
    ("story", "wanted", "expected"),
    [
        pytest.param("green", "red", "RED", id="to-the-first"),
        pytest.param("refactor", "GREEN", "GREEN", id="by-one"),
        pytest.param("green", "green", "GREEN", id="to-the-beginning-of-the-same"),
    ],
)
def test_back_in_an_earlier_phase(begin: Begin, story: str, wanted: str, expected: str) -> None:
    gated = begin(story)
    before = gated.json("status")["phase"]
    document = gated.json("rewind", wanted, "--reason", "a test is missing", "--by", "ann")
    assert document.pop("next_command").startswith("pytest --phase=")
    assert document == {"from": before, "to": expected, "reason": "a test is missing", "by": "ann"}
    status = gated.json("status")
    assert (status["phase"], status["iteration"], status["streak"], status["exited"]) == (expected, 0, 0, False)
    assert [event["kind"] for event in gated.json("history", "--events")["events"]][-2:] == ["rewound", "phase-entered"]


def test_an_earlier_run_is_forgotten_there(begin: Begin) -> None:
    gated = begin("green-once")
    gated.project.run("--phase=green", "-k", "test_add")
    assert gated.json("status")["reason"].startswith("a run came after the last verdict (partial)")
    gated.gate("rewind", "green", "--reason", "a test is missing")
    assert gated.json("status")["reason"] == "no complete run in GREEN yet"


def test_an_agent_of_a_drive_can_not_go_back(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = begin("green-once")
    monkeypatch.setenv("PHASE_GATE_ANSWER", str(gated.folder / "drive" / f"signal-{'0' * 16}.yaml"))
    lock = gated.store().hold(DRIVE_NAME)
    code, slug, problem = gated.error("rewind", "red", "--reason", "the test is wrong")
    assert (code, slug, problem) == (13, "not-allowed", "an agent of a drive can't go back to an earlier phase")
    assert gated.project.run("--phase=red").code == 13, "nor by a run"
    assert gated.project.run("--phase=green").code == 0
    lock.release()
    assert gated.gate("rewind", "red", "--reason", "the test is wrong").code == 0, "no drive is going on"


def test_it_says_what_to_do_there(begin: Begin) -> None:
    ran = begin("green").gate("rewind", "red", "--reason", "a test is missing")
    assert (ran.code, ran.out) == (0, "back in RED\n  next: pytest --phase=red\n")


@pytest.mark.parametrize(
    ("story", "wanted", "code", "problem"),
    [
        pytest.param("", "red", 13, "task default has no run yet", id="no-task-yet"),
        pytest.param("done", "green", 13, "the cycle is done: there is no way back into it", id="after-the-end"),
        pytest.param("green", "refactor", 13, "REFACTOR comes after GREEN: rewind only goes back", id="forward"),
        pytest.param("green", "blue", 2, "unknown phase 'blue'", id="an-unknown-phase"),
        pytest.param("green", "röt" * 100, 2, f"unknown phase '{('röt' * 100)[:37]}...'", id="300-characters"),
    ],
)
def test_where_there_is_no_way_back(begin: Begin, story: str, wanted: str, code: int, problem: str) -> None:
    found = begin(story).error("rewind", wanted, "--reason", "because")
    assert (found[0], found[2]) == (code, problem)


@pytest.mark.parametrize("reason", [(), ("--reason", " ")], ids=["none", "blank"])
def test_it_needs_a_reason(begin: Begin, reason: tuple[str, ...]) -> None:
    assert begin("green").error("rewind", "red", *reason)[:2] == (2, "bad-usage")
