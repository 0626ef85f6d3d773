"""`phase-gate signal`: 0 the phase exits, 10 a gate stays closed, 13 it speaks of something that is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from phase_gate.decisions import signalling
from phase_gate.decisions.fresh_evidence import measure_now
from phase_gate.gate.measured import Evidence
from phase_gate.task import Task
from tests.cli.conftest import Begin, CommandProject
from tests.support import CALC

# --- 0 and 10


def test_an_answer_without_a_reason_names_who_gave_it(begin: Begin) -> None:
    ran = begin("green").gate("signal", "--not-done", "--by", "ann")
    assert (ran.code, ran.has("Gate 2  waiting  not done (ann)")) == (10, True)


# --- 13: stale


STALE: dict[str, tuple[str, Callable[[CommandProject], object]]] = {
    "after-an-edit": (
        "files have changed since iteration 2: no run has tested them (calc.py)",
        CommandProject.edit_source,
    ),
    "after-a-narrow-run": (
        "a run came after iteration 2 (partial)",
        lambda gated: gated.project.run("--phase=green", "-k", "add"),
    ),
    "after-a-run-that-stopped-early": (
        "a run came after iteration 2 (incomplete)",
        lambda gated: gated.project.run("--phase=green", "--setup-only"),
    ),
    "after-a-run-that-was-lost": ("run feedface began after it and never ended", CommandProject.lose_run),
    "after-the-phase-was-entered-anew": (
        "GREEN has no complete run for a signal",
        lambda gated: gated.gate("rewind", "green", "--reason", "again"),
    ),
}


@pytest.mark.parametrize(("problem", "happens"), STALE.values(), ids=STALE)
def test_a_stale_signal_is_refused_and_nothing_written(
    begin: Begin, problem: str, happens: Callable[[CommandProject], object]
) -> None:
    gated = begin("green")
    happens(gated)
    assert gated.error("signal", "--reason", "done") == (13, "stale-signal", problem)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("option", ["--blocked", "--test-wrong"])
@pytest.mark.parametrize("happens", [happens for _, happens in STALE.values()], ids=STALE)
def test_a_person_can_be_called_at_any_time(
    begin: Begin, happens: Callable[[CommandProject], object], option: str
) -> None:
    gated = begin("green")
    happens(gated)
    before = gated.json("status")
    evaluation = gated.json("signal", option, "--reason", "no access")
    assert (evaluation["status"], evaluation["can_exit"], evaluation["run"]) == ("needs-person", False, None)
    assert evaluation["gate_1"]["open"] is False, "nobody has tested it"
    after = gated.json("status")
    assert (after["phase"], after["iteration"]) == (before["phase"], before["iteration"])
    for arguments in ((), ("--gate1",)):
        checked = gated.gate("check", "--json", *arguments)
        assert (checked.code, checked.document["status"]) == (10, "needs-person")
    assert gated.error("signal", "--reason", "done")[:2] == (13, "stale-signal"), "and nothing else becomes possible"


@pytest.mark.parametrize(
    ("waiting", "is_kept"),
    [
        pytest.param("exit_signal: true\n", False, id="done-is-spent-with-it"),
        pytest.param("exit_signal: false\n", False, id="so-is-a-veto"),
        pytest.param("exit_signal: maybe\n", True, id="a-malformed-one-waits-for-its-author"),
    ],
)
def test_a_call_wins_over_what_waits(begin: Begin, waiting: str, is_kept: bool) -> None:
    gated = begin("green")
    gated.edit_source()
    (gated.folder / "exit-signal.yaml").write_text(waiting)
    evaluation = gated.json("signal", "--blocked", "--reason", "no access")
    assert (evaluation["status"], evaluation["reason"]) == ("needs-person", "needs a person (blocked): no access")
    assert (gated.folder / "exit-signal.yaml").exists() is is_kept


def test_a_call_stands_until_something_runs(begin: Begin) -> None:
    gated = begin("green")
    assert gated.gate("signal", "--blocked", "--reason", "no access").code == 10
    gated.edit_source()
    for arguments in ((), ("--gate1",)):
        checked = gated.gate("check", "--json", *arguments)
        assert (checked.code, checked.document["status"]) == (10, "needs-person")
    assert gated.project.run("--phase=green").code == 10
    assert gated.json("check")["status"] == "closed"


@pytest.mark.parametrize(
    ("option", "following", "code"),
    [
        pytest.param("--blocked", "pytest --phase=green", 1, id="blocked"),
        pytest.param("--test-wrong", "pytest --phase=red", 0, id="test-wrong"),
    ],
)
def test_a_call_takes_no_exit_back(begin: Begin, option: str, following: str, code: int) -> None:
    gated = begin("red-exited")
    gated.project.write(calc=CALC.replace("a - b", "a"))
    evaluation = gated.json("signal", option, "--reason", "no access")
    assert (evaluation["status"], evaluation["next_command"]) == ("needs-person", following)
    status = gated.json("status")
    assert (status["phase"], status["exited"]) == ("RED", True)
    gated.project.write(calc=CALC.replace("a - b", "a") if option == "--blocked" else "")
    assert gated.project.run(*following.split()[1:]).code == code


# --- 13: contradictory


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(("--blocked",), "signal: blocked needs a reason", id="blocked-without-a-reason"),
        pytest.param(("--test-wrong", "--reason", " "), "signal: test-wrong needs a reason", id="a-blank-reason"),
    ],
)
@pytest.mark.parametrize("when", [(), ("--next",)], ids=["now", "next"])
def test_a_call_needs_a_reason(begin: Begin, arguments: tuple[str, ...], problem: str, when: tuple[str, ...]) -> None:
    assert begin("green").error("signal", *arguments, *when) == (13, "bad-signal", problem)


# --- for the next evaluation


def test_the_next_run_takes_it(begin: Begin) -> None:
    gated = begin("green-once")
    assert gated.json("signal", "--next", "--reason", "done \U0001f389", "--by", "ann") == {
        "answer": "done",
        "waits_for": "next",
    }
    ran = gated.project.run("--phase=green", "--phase-exit=dual", "-v")
    assert ran.code == 0
    assert ran.has("done \U0001f389 (ann)")
    assert not (gated.folder / "exit-signal.yaml").exists()
    assert gated.json("status")["exited"] is True


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        pytest.param("a\x1bb", "bad-usage", id="an-escape-sequence"),
        pytest.param("\udcff", "bad-usage", id="no-text"),
        pytest.param("x" * 70_000, "bad-yaml", id="more-than-64-kib"),
    ],
)
def test_what_nobody_could_read_back_is_refused_at_once(begin: Begin, reason: str, expected: str) -> None:
    code, slug, _ = begin("green").error("signal", "--next", "--reason", reason)
    assert (code, slug) == (2, expected)


# --- a signal that waits in the file


def test_a_veto_in_the_file_is_stronger_than_a_word(begin: Begin) -> None:
    gated = begin("green")
    gated.project.write({".phase-gate/exit-signal.yaml": "exit_signal: false\nreason: wait for ann\n"})
    ran = gated.gate("signal", "--reason", "done", "-v")
    assert ran.code == 10
    assert ran.has("the signal reports not done (wait for ann)")
    assert not (gated.folder / "exit-signal.yaml").exists(), "it was read: it is in the ledger now"
    assert gated.gate("signal", "--reason", "ann says yes", "-v").code == 0


def test_a_malformed_file_closes_the_gate_and_waits_for_its_author(begin: Begin) -> None:
    gated = begin("green")
    gated.project.write({".phase-gate/exit-signal.yaml": "exit_signal: yes\n"})
    ran = gated.gate("signal", "--reason", "done")
    assert ran.code == 13
    assert ran.has(
        "exit-signal.yaml:1:14: exit_signal is 'yes'; write exit_signal: true, false, blocked or test-wrong, exactly",
        "try: phase-gate withdraw  # takes it back, then signal again",
    )
    assert (gated.folder / "exit-signal.yaml").read_text(encoding="utf-8") == "exit_signal: yes\n"
    assert gated.gate("withdraw").code == 0
    assert gated.gate("signal", "--reason", "done").code == 0


def test_a_done_in_the_file_does_not_wait_for_the_next_phase(begin: Begin) -> None:
    gated = begin("green")
    gated.gate("signal", "--next", "--reason", "first")
    evaluation = gated.json("signal", "--reason", "second")
    assert (evaluation["can_exit"], evaluation["gate_2"]["reason"]) == (True, "second")
    assert not (gated.folder / "exit-signal.yaml").exists()


@pytest.mark.parametrize(
    ("story", "problem"),
    [
        pytest.param("green-exited", "GREEN has exited already", id="twice"),
        pytest.param("done", "the cycle is done: there is nothing to signal", id="after-the-end"),
        pytest.param("", "task default has no run yet", id="before-anything-was-run"),
    ],
)
def test_there_is_nothing_to_signal(begin: Begin, story: str, problem: str) -> None:
    assert begin(story).error("signal", "--reason", "done") == (13, "not-allowed", problem)


def test_what_was_written_meanwhile_counts(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = begin("green")

    def measure(task: Task, **options: Any) -> Evidence:
        gated.lose_run()  # another process writes while evidence is gathered, before the lock
        return measure_now(task, **options)

    monkeypatch.setattr(signalling, "measure_now", measure)
    ran = gated.gate("signal", "--reason", "both pass")
    assert ran.code == 13
    assert ran.has("run feedface began after it and never ended")
