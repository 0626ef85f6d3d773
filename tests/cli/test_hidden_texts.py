"""Texts on the command line: what a reader would not see is refused, whatever option it was given with."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from phase_gate.cli._parser import build_full_parser, check_texts
from phase_gate.errors import UsageError
from phase_gate.names import check_sentence
from tests.cli.conftest import Begin
from tests.support import Project

HIDDEN = {
    "an-escape": "a\x1b[2Jb",
    "carriage-return": "a\rb",
    "bell": "a\x07",
    "backspace": "a\x08",
    "an-escape-in-one": "a\x9b2J",
    "a-nul": "a\x00",
    "right-to-left": "a\u202eb",
    "isolate": "a\u2066b",
    "no-width": "a\u200bb",
    "line-separator": "a\u2028::error::",
    "next-line": "a\x85b",
    "tags": "a\U000e0041",
    "half-a-pair": "a\udc9b",
}

#: Names of files, and words for pytest or another program: the printer shows what is in them.
ANYTHING = {
    ("demo", "keep"),
    ("init", "program"),
    ("doctor", "program"),
    ("explain", "merge"),
    ("report", "output"),
    ("claim", "file"),
    ("verify start", "task_file"),
    ("verify executor", "file"),
    ("verify review", "file"),
    ("pipeline vote", "files"),
    ("pipeline snapshot", "output"),
    ("baseline", "arguments"),
    ("ci combine", "folder"),
    ("ci combine", "report"),
    ("workflow check", "files"),
    ("drive", "goal_file"),
    ("drive", "arguments"),
    ("drive", "executor"),
    ("drive", "reviewer"),
}
SENTENCES = ("reason", "remaining_work", "title", "exit_signal", "message", "goal")


def _texts(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[tuple[str, argparse.Action]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _texts(below, (*path, name))
        elif action.nargs != 0 and action.type is None and not action.choices:
            yield " ".join(path), action


PARSER = build_full_parser()
ROWS = [(command, action.dest) for command, action in _texts(PARSER) if action.dest not in ("dir", "task")]


@pytest.mark.parametrize(("command", "option"), ROWS)
def test_every_text_is_held_to_it(command: str, option: str) -> None:
    """From the commands' own table: one that is added later is here, too."""
    assert ROWS
    for text in HIDDEN.values():
        given = argparse.Namespace(**{option: text})
        parser = _parser_of(command)
        if (command, option) in ANYTHING:
            check_texts(parser, given, [text])
            assert getattr(given, option) == text
        else:
            with pytest.raises(UsageError) as caught:
                check_texts(parser, given, [text])
            assert f"U+{ord(next(each for each in text if each != 'a')):04X}" in caught.value.problem


def test_the_exemptions_are_there() -> None:
    assert set(ROWS) >= ANYTHING


def _parser_of(command: str) -> argparse.ArgumentParser:
    found = PARSER
    for name in command.split():
        found = next(each for each in found._actions if isinstance(each, argparse._SubParsersAction)).choices[name]
    return found


@pytest.mark.parametrize(("command", "option"), [row for row in ROWS if row not in ANYTHING])
def test_lines_are_for_sentences(command: str, option: str) -> None:
    text = "one\r\n\ttwo\n::error::three\n"
    given = argparse.Namespace(**{option: text})
    if option not in SENTENCES:
        with pytest.raises(UsageError, match=r"U\+000D"):
            check_texts(_parser_of(command), given, [text])
        return
    if option == "message":
        text = "title\n\n- body\n"
        given = argparse.Namespace(message=text)
        check_texts(_parser_of(command), given, [text])
        assert given.message == text
        return
    check_texts(_parser_of(command), given, [text])
    assert getattr(given, option) == "one two ::error::three"


@pytest.mark.parametrize(
    "text",
    [
        "all five are implemented, \u2714\ufe0f",
        "\u062a\u0645\u0627\u0645 \u0645\u06cc\u200c\u0634\u0648\u062f",
        "\u5b8c\u6210\u3057\u307e\u3057\u305f",
        "50 % \u2014 tests/a.py::test_b \u201cworks\u201d `now` @alice \U0001f469\u200d\U0001f4bb",
    ],
    ids=ascii,
)
def test_honest_sentences_stay(text: str) -> None:
    assert check_sentence("--reason", text) == text


def test_a_signal_that_hides_something_is_refused(begin: Begin) -> None:
    desk = begin("green")
    assert desk.error("signal", "--reason", "ok\x1b[1A\x1b[2Kforged") == (
        2,
        "bad-usage",
        "--reason can't be used: the character U+001B in it can't be seen",
    )
    assert desk.error("signal", "--reason", "ok", "--by", "al\u200bice")[0] == 2
    assert desk.error("signal", "--reason", "ok", "--by", "alice\nbob")[0] == 2
    assert desk.error("explain", "tests\u202ekept")[0] == 2


def test_a_signal_in_two_lines_is_one_sentence(begin: Begin) -> None:
    desk = begin("green")
    assert desk.json("signal", "--reason", "both pass\n  ::error::forged", "--by", "Zo\u00eb")["gate_2"] == {
        "satisfied": True,
        "open": True,
        "source": "explicit_signal",
        "answer": "done",
        "reason": "both pass ::error::forged",
        "by": "Zo\u00eb",
        "problem": "",
    }


def test_a_runs_own_signal_hides_nothing(project: Project) -> None:
    project.write(test_ok="def test_ok():\n    assert 1 + 1 == 2\n")
    refused = project.run("--phase=green", "--exit-signal=ok\x1b[2J", "-v")
    assert refused.code == 4
    assert refused.has("--exit-signal can't be used: the character U+001B in it can't be seen [bad-usage]")
    assert project.run("--phase=green", "--exit-signal=one\ntwo", "-v").has("one two")
