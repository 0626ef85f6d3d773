"""What is made visible before it is printed, and what honest text keeps."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata

import pytest

from phase_gate.gate.measured import Table
from phase_gate.report.text import table_lines
from phase_gate.visible import (
    find_unseen,
    fit_encoding,
    name_first,
    pad,
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
