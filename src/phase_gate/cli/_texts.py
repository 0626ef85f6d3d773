"""Texts on the command line, by the parser's own table: an option that is not named here has the strictest rule."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

from phase_gate.visible import strip_unseen

#: Names of files and words for other programs may be anything; the printer shows what is in them.
_ANYTHING = frozenset({"FILE", "DIR", "FOLDER", "COMMAND", "-- ARGS"})
_SENTENCES = frozenset({"TEXT", "REASON"})
#: Sentences that stay in the lines that they were written in: a commit has a title and a body.
_SEVERAL_LINES = frozenset({"message"})


def check_texts(parser: argparse.ArgumentParser, arguments: argparse.Namespace, given: Sequence[str]) -> None:
    """Put sentences into one line. Raises UsageError for what a reader would not see."""
    if all(strip_unseen(word) == word for word in given):
        return  # nearly always: nothing else is loaded
    for action in _actions(parser):
        value = getattr(arguments, action.dest, None)
        check = _check_of(action)
        name = action.option_strings[-1] if action.option_strings else str(action.metavar or action.dest)
        if check is None:
            continue
        if isinstance(value, str):
            setattr(arguments, action.dest, check(name, value))
        elif isinstance(value, list):
            setattr(arguments, action.dest, [check(name, each) for each in value])


def _check_of(action: argparse.Action) -> Callable[[str, str], str] | None:
    from phase_gate.typed_texts import check_lines, check_sentence, check_value

    if action.metavar in _ANYTHING or action.dest == "task":  # a task's name is a folder's, which has its own rule
        return None
    if action.dest in _SEVERAL_LINES:
        return check_lines
    return check_sentence if action.metavar in _SENTENCES else check_value


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield all arguments, those of the commands below among them."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
        else:
            yield action
