"""Names: spellings that are one name, and names that are refused because they are not what they look like."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from phase_gate.errors import PhaseGateError
from phase_gate.identities import find_name_fault, same_name
from phase_gate.storage.signal_file import parse_signal
from phase_gate.tasks.handins import parse_vote, read_executor_result, read_verdict
from phase_gate.tasks.pipeline_show import count_votes
from phase_gate.tasks.work import Choice, Word


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param("Alice", " aLICE ", True, id="capitals-and-space-around"),
        pytest.param("Alice\tSmith", "alice smith", True, id="a-tab"),
        pytest.param("alice\u00a0smith", "alice smith", True, id="a-space-that-does-not-break"),
        pytest.param("\uff41lice", "alice", True, id="a-wide-letter"),
        pytest.param("Jose\u0301", "JOS\u00c9", True, id="an-accent-written-apart"),
        pytest.param("Stra\u00dfer", "STRASSER", True, id="sharp-s"),
        pytest.param("ali\u200bce", "alice", True, id="a-space-of-no-width"),
        pytest.param("alice", "bob", False, id="two-people"),
        pytest.param("\u0430lice", "alice", False, id="a-letter-of-another-script-is-not-recognised"),
        pytest.param("jose", "jos\u00e9", False, id="an-accent-is-a-difference"),
    ],
)
def test_same_name(one: str, other: str, expected: bool) -> None:
    assert same_name(one, other) is same_name(other, one) is expected


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("Zo\u00eb \u00d8rsted-O'Brien", id="letters-with-marks"),
        pytest.param("agent #3 (ci)", id="signs"),
        pytest.param("robot \U0001f916", id="an-emoji"),
    ],
)
def test_honest_names_have_no_fault(name: str) -> None:
    assert find_name_fault(name) == ""


def _signal(name: str) -> object:
    return parse_signal(f'exit_signal: true\nby: "{name}"\n')


def _vote(name: str) -> object:
    return parse_vote(f'vote: approve\nconfidence: 1\nby: "{name}"\n', "vote.yaml")


def _report(name: str) -> object:
    return read_executor_result(f'status: failure\ntask_name: a\nerror: b\nby: "{name}"\n', "result.yaml")


def _verdict(name: str) -> object:
    return read_verdict(
        f'verdict: APPROVED\ntask_name: a\nconfidence: HIGH\nfindings: [b]\nrecommendation: commit\nby: "{name}"\n',
        "verdict.yaml",
    )


@pytest.mark.parametrize("read", [_signal, _vote, _report, _verdict])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("ali\u200bce", "U+200B", id="a-space-of-no-width"),
        pytest.param("\u0639\u0644\u06cc\u200c\u0631\u0636\u0627", "U+200C", id="a-joiner-where-it-may-stand"),
        pytest.param("alice\u3164", "U+3164", id="a-blank-that-is-a-letter"),
        pytest.param("alice\ufe0f", "U+FE0F", id="a-look-for-a-letter"),
    ],
)
def test_a_name_that_hides_something_is_refused(read: Callable[[str], object], name: str, message: str) -> None:
    with pytest.raises(PhaseGateError) as caught:
        read(name)
    assert message in caught.value.problem
    assert caught.value.problem.isprintable()
    read("Zo\u00eb  \u00d8rsted")


def test_two_spellings_have_one_vote() -> None:
    message: tuple[tuple[str, Choice], ...] = (("alice", "reject"), ("\uff21lice", "approve"), ("bob", "approve"))
    votes = [Word(by=name, answer=vote, confidence=1.0, about={"a": "1"}) for name, vote in message]
    tally = count_votes(votes, {"a": "1"})
    assert [vote.by for vote in tally.counted] == ["\uff21lice", "bob"]
