"""exit-signal.yaml: what is plainly an answer, and what is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from phase_gate.errors import PhaseGateError
from phase_gate.gate.verdict import Answer, Signal
from phase_gate.storage.signal_file import (
    MAX_SIZE,
    check_signal,
    parse_signal,
    read_signal_file,
    write_signal_file,
)
from phase_gate.values import replace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "exit-signal.yaml"


def read(path: Path, content: str | bytes) -> Signal:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = read_signal_file(path)
    assert found is not None
    return found


# --- answers


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("exit_signal: true\n", Signal(answer="done"), id="true-is-done"),
        pytest.param("exit_signal: false\n", Signal(answer="not-done"), id="false-is-a-veto"),
        pytest.param(
            "exit_signal: blocked\nreason: no access\n", Signal(answer="blocked", reason="no access"), id="blocked"
        ),
        pytest.param(
            "exit_signal: test-wrong\nreason: it asks for 6\n",
            Signal(answer="test-wrong", reason="it asks for 6"),
            id="a-test-is-wrong",
        ),
        pytest.param(
            "exit_signal: true  # yes\nphase: green\ntask: api\niteration: 5\n"
            "reason: all five\nremaining_work: none\nby: alice\n",
            Signal(answer="done", phase="GREEN", task="api", iteration=5, reason="all five", by="alice"),
            id="all-that-may-be-said",
        ),
        pytest.param(
            "exit_signal: false\nremaining_work: the parser\n", Signal(answer="not-done"), id="a-veto-may-name-work"
        ),
        pytest.param("\ufeffexit_signal: true\r\n", Signal(answer="done"), id="as-windows-writes-it"),
    ],
)
def test_an_answer_is_read(path: Path, content: str, expected: Signal) -> None:
    found = read(path, content)
    assert replace(found, file="") == expected


MALFORMED: dict[str, tuple[str | bytes, str]] = {
    "yes": ("exit_signal: yes\n", "exit-signal.yaml:1:14: exit_signal is 'yes'"),
    "1": ("exit_signal: 1\n", "exit-signal.yaml:1:14: exit_signal is '1'"),
    "quoted": ('exit_signal: "true"\n', "exit-signal.yaml:1:14: exit_signal is 'true'"),
    "a-template": ("exit_signal: true | false\n", "exit-signal.yaml:1:14: exit_signal is 'true | false'"),
    "no-value": ("exit_signal:\n", "exit-signal.yaml:1:1: exit_signal is ''"),
    "key-missing": ("reason: done\n", "exit-signal.yaml:1:1: exit_signal is missing"),
    "unknown-key": ("exit_signal: true\nreasons: x\n", "exit-signal.yaml:2:1: unknown key 'reasons'"),
    "wrong-iteration": ("exit_signal: true\niteration: five\n", "exit-signal.yaml:2:12: iteration has to be a whole"),
    "wrong-reason": ("exit_signal: true\nreason: [a]\n", "exit-signal.yaml:2:9: reason has to be a text"),
    "blank-reason": ("exit_signal: true\nreason: '  '\n", "exit-signal.yaml:2:9: reason is blank"),
    "blocked-without-reason": ("exit_signal: blocked\n", "exit-signal.yaml: blocked needs a reason"),
    "empty-file": ("", "exit-signal.yaml:1:1: the file is empty"),
    "just-true": ("true\n", "exit-signal.yaml:1:1: the file has to be a mapping"),
    "one-byte-too-big": (b"exit_signal: true\n#".ljust(MAX_SIZE + 1, b"x"), "exit-signal.yaml:1:1: bigger than 65536"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "problem"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_not_plainly_an_answer_is_malformed(path: Path, content: str | bytes, problem: str) -> None:
    found = read(path, content)
    assert found.answer == "malformed"
    assert found.problem.startswith(problem)
    assert path.exists(), "its author may want to mend it"


@pytest.mark.parametrize("left", ["the parser", "no", "nothing", "0", "[]"])
def test_done_with_work_left_contradicts_itself(path: Path, left: str) -> None:
    found = read(path, f"exit_signal: true\nremaining_work: '{left}'\n")
    assert found.answer == "refused"
    problem = f"exit-signal.yaml: exit_signal is true, but remaining_work is: '{left}'"
    assert found.problem == f"{problem}; finish the work, or write exit_signal: false"
    with pytest.raises(PhaseGateError) as caught:
        check_signal(Signal(answer="done"), remaining_work=left)
    assert (caught.value.slug, caught.value.exit_code) == ("contradictory-signal", 13)


@pytest.mark.parametrize("target", ["elsewhere.yaml", "nowhere.yaml"])
def test_a_link_in_its_place_is_a_problem(path: Path, target: str) -> None:
    path.with_name("elsewhere.yaml").write_text("exit_signal: true\n", encoding="utf-8")
    path.symlink_to(path.with_name(target))
    found = read_signal_file(path)
    assert found is not None
    assert found.answer == "malformed"
    assert found.problem.startswith("exit-signal.yaml is a symbolic link")


def test_another_file_has_another_identity_even_with_the_same_words(path: Path) -> None:
    first, other = read(path, "exit_signal: true\n"), read(path, "exit_signal: true \n")
    assert first.file != other.file
    assert read_signal_file(path) == other
    os.utime(path, ns=(1, 1))
    again = read_signal_file(path)
    assert again is not None
    assert again.file != other.file


def test_a_spent_signal_that_still_lies_there_is_not_read_again(path: Path) -> None:
    found = read(path, "exit_signal: true\n")
    assert read_signal_file(path, spent=found.file) is None
    assert read_signal_file(path, spent="another") == found


# --- what a signal speaks of


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param("phase: red\n", "it is for phase RED, this is phase GREEN", id="another-phase"),
        pytest.param("phase: ../x\n", "it is for phase ../X, this is phase GREEN", id="an-unknown-phase"),
        pytest.param("task: other\n", "it is for task other, this is task default", id="another-task"),
        pytest.param("iteration: 2\n", "it is for iteration 2, this is iteration 3", id="an-earlier-iteration"),
        pytest.param("iteration: 4\n", "it is for iteration 4, this is iteration 3", id="a-later-iteration"),
        pytest.param("phase: Green\ntask: default\niteration: 3\n", "", id="this-very-one"),
        pytest.param("", "", id="whichever-comes-next"),
    ],
)
def test_a_signal_for_something_else_is_stale(content: str, problem: str) -> None:
    signal = parse_signal(f"exit_signal: true\n{content}")
    reading = signal.for_iteration(phase="GREEN", task="default", iteration=3)
    assert (reading.answer, reading.problem) == ("stale" if problem else "done", problem)


# --- writing

ANSWERS: tuple[Answer, ...] = ("done", "not-done", "blocked", "test-wrong")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1), st.sampled_from(ANSWERS))
@example("done \U0001f389", "done")
@example("\x1b[2J", "done")
@example("\udcff", "done")
@example("a\u2028b\x85c", "done")
@example("x" * MAX_SIZE, "done")
def test_a_reason_is_written_as_it_is_or_refused_at_once(path: Path, reason: str, answer: Answer) -> None:
    path.unlink(missing_ok=True)
    signal = Signal(answer=answer, reason=reason, by="alice", phase="GREEN", iteration=4)
    try:
        write_signal_file(path, signal)
    except PhaseGateError:
        assert not path.exists()
    else:
        found = read_signal_file(path)
        assert found is not None
        assert replace(found, file="") == signal
