"""Names: spellings that are one name, and names that are refused because they are not what they look like."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from phase_gate.errors import PhaseGateError
from phase_gate.names import find_name_fault, name_key, same_name
from phase_gate.storage.signal_file import parse_signal
from phase_gate.tasks.handins import parse_vote, read_executor_result, read_verdict
from phase_gate.tasks.model import Choice, Word, count_votes


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param("alice", "alice", True, id="the-same"),
        pytest.param("Alice", " aLICE ", True, id="capitals-and-space-around"),
        pytest.param("Alice  Smith", "alice smith", True, id="two-spaces"),
        pytest.param("Alice\tSmith", "alice smith", True, id="a-tab"),
        pytest.param("alice\u00a0smith", "alice smith", True, id="a-space-that-does-not-break"),
        pytest.param("\uff41lice", "alice", True, id="a-wide-letter"),
        pytest.param("\U0001d41alice", "alice", True, id="a-bold-letter-of-mathematics"),
        pytest.param("\ufb01nn", "finn", True, id="a-ligature"),
        pytest.param("Jose\u0301", "JOS\u00c9", True, id="an-accent-written-apart"),
        pytest.param("Stra\u00dfer", "STRASSER", True, id="sharp-s"),
        pytest.param("\u1d2clice", "alice", True, id="a-raised-capital"),
        pytest.param("ali\u200bce", "alice", True, id="a-space-of-no-width"),
        pytest.param("ali\u202ece", "alice", True, id="another-direction"),
        pytest.param("ali\u00adce", "alice", True, id="a-soft-hyphen"),
        pytest.param("alice\U000e0061", "alice", True, id="a-tag"),
        pytest.param("alice\ufe0f", "alice", True, id="a-look"),
        pytest.param("alice", "bob", False, id="two-people"),
        pytest.param("alice", "alice-2", False, id="a-number-behind-it"),
        pytest.param("\u0430lice", "alice", False, id="a-letter-of-another-script-is-not-recognised"),
        pytest.param("jose", "jos\u00e9", False, id="an-accent-is-a-difference"),
    ],
)
def test_same_name(one: str, other: str, expected: bool) -> None:
    assert same_name(one, other) is same_name(other, one) is expected


@pytest.mark.parametrize("name", ["\u0345\u0301", "\u1fb3", "\u0390", "\u1e9e", "a \u200b b"], ids=ascii)
def test_the_key_of_a_key_is_the_key(name: str) -> None:
    assert name_key(name_key(name)) == name_key(name)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("Zo\u00eb \u00d8rsted-O'Brien", id="letters-with-marks"),
        pytest.param("\u5c71\u7530\u3000\u592a\u90ce", id="chinese-characters-and-their-space"),
        pytest.param("\u0905\u0928\u0941\u092a\u092e", id="devanagari"),
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
    ("name", "said"),
    [
        pytest.param("ali\u200bce", "U+200B", id="a-space-of-no-width"),
        pytest.param("\u0639\u0644\u06cc\u200c\u0631\u0636\u0627", "U+200C", id="a-joiner-where-it-may-stand"),
        pytest.param("ali\u00adce", "U+00AD", id="a-soft-hyphen"),
        pytest.param("alice\u3164", "U+3164", id="a-blank-that-is-a-letter"),
        pytest.param("alice\u2800", "U+2800", id="a-blank-that-is-a-sign"),
        pytest.param("alice\ufe0f", "U+FE0F", id="a-look-for-a-letter"),
    ],
)
def test_a_name_that_hides_something_is_refused(read: Callable[[str], object], name: str, said: str) -> None:
    with pytest.raises(PhaseGateError) as caught:
        read(name)
    assert said in caught.value.problem
    assert caught.value.problem.isprintable()
    read("Zo\u00eb  \u00d8rsted")


def test_two_spellings_have_one_vote() -> None:
    said: tuple[tuple[str, Choice], ...] = (("alice", "reject"), ("\uff21lice", "approve"), ("bob", "approve"))
    votes = [Word(by=name, answer=vote, confidence=1.0, about={"a": "1"}) for name, vote in said]
    tally = count_votes(votes, {"a": "1"})
    assert [vote.by for vote in tally.counted] == ["\uff21lice", "bob"]
