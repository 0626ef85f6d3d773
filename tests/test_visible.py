"""What is made visible before it is printed, and what honest text keeps."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from collections.abc import Callable

import pytest

from phase_gate.errors import PhaseGateError
from phase_gate.gate.measured import Table
from phase_gate.report.text import table_lines
from phase_gate.storage.signal_file import parse_signal
from phase_gate.tasks.handins import parse_vote, read_executor_result, read_verdict
from phase_gate.tasks.pipeline_show import count_votes
from phase_gate.tasks.work import Choice, Word
from phase_gate.visible import (
    find_name_fault,
    find_unseen,
    fit_encoding,
    name_first,
    pad,
    same_name,
    show_text,
    width_of,
)
from tests.support import FAILING_TESTS, Project


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\x1b[2Jb", "a\\x1b[2Jb", id="an-escape-sequence"),
        pytest.param("a\rb", "a\\x0db", id="back-to-the-beginning-of-the-line"),
        pytest.param("a\u202eb\u2066", "a\\u202eb\\u2066", id="marks-of-direction"),
        pytest.param("a\ufe01\ufe02", "a\\ufe01\\ufe02", id="looks-that-carry-a-message"),
        pytest.param("a\u200db", "a\\u200db", id="a-joiner-between-letters-that-do-not-join"),
        pytest.param("\udc80", "\\udc80", id="half-a-pair"),
        pytest.param("::error::x", "\\x3a:error::x", id="an-order-to-github"),
        pytest.param("a\n \u3000::set-output x", "a\n \u3000\\x3a:set-output x", id="an-order-behind-spaces"),
        pytest.param("a ##[error]b", "a \\x23#[error]b", id="an-old-order-to-github-anywhere"),
    ],
)
def test_what_is_hidden_is_shown(text: str, shown: str) -> None:
    assert show_text(text) == shown
    assert show_text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("tests/a.py::test_b[x::y]", id="a-test"),
        pytest.param("done \u2714\ufe0f \u26a0\ufe0f 1\ufe0f\u20e3", id="signs-in-colour"),
        pytest.param("\U0001f469\u200d\U0001f4bb \U0001f3f3\ufe0f\u200d\U0001f308", id="emoji-of-several-parts"),
        pytest.param("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", id="persian"),
        pytest.param("a\u00a0b \u202f5 \u3000", id="spaces-that-are-seen"),
        pytest.param("## Title\n### [link](x) #[test]\n: a", id="markdown-and-rust"),
        pytest.param("one\ttwo\nthree", id="lines-and-tabs"),
    ],
)
def test_honest_text_stays_as_it_is(text: str) -> None:
    assert show_text(text) == text
    assert find_unseen(text, but="\n\t") is None


def test_every_control_and_format_character_is_shown() -> None:
    """Against Unicode's own list: whatever a later version adds is looked at here."""
    forgotten = [
        f"U+{code:04X}"
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp", "Cs")
        and find_unseen(f"a{chr(code)}a") is None
        and not _has_a_look(chr(code))
    ]
    assert forgotten == []


def _has_a_look(character: str) -> bool:
    """Signs in front of Arabic and Kaithi numbers, hieroglyphs that stand in groups, shorthand: they are drawn."""
    name = unicodedata.name(character, "")
    return name.startswith(("ARABIC ", "SYRIAC ABBREVIATION", "KAITHI ", "EGYPTIAN HIEROGLYPH "))


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        pytest.param("GREEN · 2 tests", "utf-8", "GREEN · 2 tests", id="as-it-is"),
        pytest.param("GREEN · 2 tests", "ascii", "GREEN - 2 tests", id="ascii"),
        pytest.param("größe ✗", "cp437", "größe -", id="what-is-not-ours-stays"),
        pytest.param("GREEN · 2 tests", None, "GREEN - 2 tests", id="nobody-knows-which"),
    ],
)
def test_a_terminal_gets_signs_that_it_has(text: str, encoding: str | None, shown: str) -> None:
    assert fit_encoding(text, encoding) == shown


@pytest.mark.parametrize(
    ("names", "beside", "message"),
    [
        pytest.param("", 0, "", id="none"),
        pytest.param("abcd", 0, "a, b, c and 1 more", id="one-more"),
        pytest.param("abcde", 24, "a, b, c and 26 more", id="some-that-have-no-name-here"),
    ],
)
def test_the_first_and_the_others_add_up(names: str, beside: int, message: str) -> None:
    assert name_first(names, beside=beside) == message


# --- names: spellings that are one name, and names that are refused because they are not what they look like


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


# --- columns stay columns, whatever script a name is written in


@pytest.mark.parametrize(
    ("text", "width"),
    [
        pytest.param("test_add", 8, id="ascii"),
        pytest.param("テスト", 6, id="wide"),
        pytest.param("e\u0301", 1, id="a-mark-that-combines"),
        pytest.param("👍", 2, id="an-emoji"),
        pytest.param("👩\u200d👩\u200d👧", 2, id="an-emoji-of-several"),
    ],
)
def test_how_many_columns_a_text_takes(text: str, width: int) -> None:
    assert width_of(text) == width
    assert width_of(pad(text, 12)) == 12


def test_numbers_stand_below_each_other() -> None:
    names = ("test_plain.py", "tests/テスト.py", "tests/בדיקה.py", "tests/é\u0301.py")
    rows = tuple((name, str(10**index)) for index, name in enumerate(names))
    _, *lines = table_lines(Table(title="T", columns=("file", "lines"), rows=rows), width=60)
    assert len({width_of(line) for line in lines}) == 1


@pytest.mark.processes
@pytest.mark.parametrize(
    ("encoding", "title"),
    [
        ("ascii", "phase gate: RED - iteration 1 - 2 tests"),
        ("cp437", "phase gate: RED · iteration 1 · 2 tests"),
    ],
)
def test_a_panel_has_only_signs_that_its_terminal_has(encoding: str, title: str, project: Project) -> None:
    project.write(test_calc=FAILING_TESTS)
    command = (sys.executable, "-m", "pytest", "-p", "phase_gate.plugin", "--phase=red")
    ran = subprocess.run(
        command, cwd=project.root, env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True
    )
    shown = ran.stdout.decode(encoding)
    assert title in shown
    assert "\\x" not in shown
