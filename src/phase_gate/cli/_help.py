"""What `--help` says beyond the arguments: groups of commands, an example each, exit codes.

Read by `--help` only: no other call pays for it.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from phase_gate.cli import COMMANDS, FEATURES
from phase_gate.exit_codes import MEANINGS
from phase_gate.values import Value

BEGIN, GO_ON, OVERRIDE, AGENTS, FEATURE, SET_UP = (
    "begin with these",
    "go on",
    "decide against the evidence (people only)",
    "work with agents",
    "verify tasks, pipelines, CI",
    "set up and look after it",
)
#: Groups in the order in which help lists them.
GROUPS = (BEGIN, GO_ON, OVERRIDE, AGENTS, FEATURE, SET_UP)

_USAGE = (2, "the command line, a file or the rules are invalid")
_TRUST = (11, "the state can't be trusted or written")
_CLOSED = (10, "a gate is closed")
_NOT_NOW = (13, "not now: the message says why")

Codes = tuple[tuple[int, str], ...]
_LOOKS: Codes = ((0, "the phase may end"), (10, "it may not"), _USAGE, _TRUST)
_DONE: Codes = ((0, "done"), _USAGE, _TRUST)
_DONE_OR_NOT: Codes = ((0, "done"), _USAGE, _TRUST, _NOT_NOW)
_PRINTED: Codes = ((0, "printed"), _USAGE)


class About(Value):
    """What help says about one command."""

    group: str
    #: A command line that can be typed as it is.
    example: str
    codes: Codes


ABOUT: Mapping[str, About] = {
    "demo": About(
        group=BEGIN,
        example="phase-gate demo --keep sample",
        codes=((0, "every step went as told"), (1, "a step did not"), _USAGE),
    ),
    "status": About(group=BEGIN, example="phase-gate status --criteria", codes=_LOOKS),
    "check": About(group=BEGIN, example="phase-gate check --gate1", codes=_LOOKS),
    "explain": About(group=BEGIN, example="phase-gate explain tests-unchanged", codes=_LOOKS),
    "signal": About(
        group=BEGIN,
        example='phase-gate signal --reason "both tests pass, twice"',
        codes=(
            (0, "the phase has ended"),
            _USAGE,
            _CLOSED,
            _TRUST,
            (13, "the signal is stale, contradictory or early"),
        ),
    ),
    "prove": About(
        group=BEGIN,
        example="phase-gate prove --base origin/main",
        codes=(
            (0, "nothing was disproven"),
            _USAGE,
            (10, "a test passes without the change, or a check can't fail"),
            _TRUST,
            _NOT_NOW,
        ),
    ),
    "report": About(group=BEGIN, example="phase-gate report -o report.html", codes=_DONE),
    "history": About(group=GO_ON, example="phase-gate history --events", codes=_DONE),
    "declare": About(
        group=GO_ON,
        example='phase-gate declare refactoring_complete=true --reason "nothing is left to move"',
        codes=_DONE_OR_NOT,
    ),
    "withdraw": About(group=GO_ON, example="phase-gate withdraw refactoring_complete", codes=_DONE_OR_NOT),
    "advance": About(
        group=GO_ON,
        example="phase-gate advance",
        codes=((0, "the next phase begins, or this one has ended"), _USAGE, _CLOSED, _TRUST, _NOT_NOW),
    ),
    "rewind": About(group=GO_ON, example='phase-gate rewind red --reason "a case is missing"', codes=_DONE_OR_NOT),
    "baseline": About(group=GO_ON, example="phase-gate baseline --rev HEAD~1", codes=_DONE_OR_NOT),
    "waive": About(
        group=OVERRIDE,
        example='phase-gate waive tests-kept --reason "the vendor dropped the call" --by Ada --days 7',
        codes=_DONE_OR_NOT,
    ),
    "breaker": About(group=OVERRIDE, example="phase-gate breaker status --markdown", codes=_DONE_OR_NOT),
    "force": About(
        group=OVERRIDE, example='phase-gate force --reason "shown on the device" --by Ada', codes=_DONE_OR_NOT
    ),
    "drive": About(
        group=AGENTS,
        example="phase-gate drive -- claude -p",
        codes=(
            (0, "the cycle is done, or the phase of --until has exited"),
            _USAGE,
            (10, "the budget is spent"),
            _TRUST,
            (12, "the circuit is open, or the agent is stuck"),
            (13, "a person has to answer, or not now"),
            (130, "interrupted"),
        ),
    ),
    "claim": About(
        group=AGENTS,
        example="phase-gate claim session.jsonl --transcript",
        codes=((0, "it is done"), _USAGE, (10, "it is not"), _TRUST, (12, "a person is needed"), _NOT_NOW),
    ),
    "hook": About(
        group=AGENTS,
        example="phase-gate hook stop --agent claude",
        codes=((0, "answered; some agents are told by 2 to go on"), _USAGE),
    ),
    "agent prompt": About(group=AGENTS, example="phase-gate agent prompt --phase green", codes=_DONE),
    "agent uninstall": About(group=AGENTS, example="phase-gate agent uninstall --agent claude", codes=_DONE_OR_NOT),
    "verify": About(
        group=FEATURE,
        example="phase-gate verify start --task-file tasks.xml",
        codes=(
            (0, "the step passed"),
            (10, "it failed, or the task is not done yet"),
            _USAGE,
            _TRUST,
            (12, "a person is needed"),
            _NOT_NOW,
        ),
    ),
    "pipeline vote": About(
        group=FEATURE,
        example="phase-gate pipeline vote vote.yaml --by Ada",
        codes=((0, "the vote counts"), (10, "no consensus yet"), _USAGE, _TRUST, _NOT_NOW),
    ),
    "pipeline request": About(
        group=FEATURE,
        example='phase-gate pipeline request new --type scope --title "refunds are wanted, too"',
        codes=_DONE_OR_NOT,
    ),
    "pipeline recover": About(
        group=FEATURE,
        example="phase-gate pipeline recover status",
        codes=((0, "nothing is to be recovered"), _USAGE, _CLOSED, _TRUST, (12, "the work is stuck"), _NOT_NOW),
    ),
    "pipeline snapshot": About(group=FEATURE, example="phase-gate pipeline snapshot", codes=_DONE_OR_NOT),
    "ci combine": About(
        group=FEATURE,
        example="phase-gate ci combine shards --report verdict.md",
        codes=(
            (0, "the gate that was asked for is open"),
            _USAGE,
            _CLOSED,
            (11, "a shard is missing, repeated or unlike the others, or the state can't be trusted"),
            (12, "the breaker is open"),
            _NOT_NOW,
        ),
    ),
    "init": About(group=SET_UP, example="phase-gate init --agent claude codex --dry-run", codes=_DONE_OR_NOT),
    "doctor": About(
        group=SET_UP,
        example="phase-gate doctor",
        codes=((0, "all is well"), (1, "something is not"), _USAGE),
    ),
    "audit": About(
        group=SET_UP,
        example="phase-gate audit --repair",
        codes=((0, "the ledger is intact, or is now"), _USAGE, (11, "it is not"), _NOT_NOW),
    ),
    "store status": About(
        group=SET_UP,
        example="phase-gate store status",
        codes=((0, "the store answers, and nothing waits"), _USAGE, (11, "it does not, or something waits")),
    ),
    "store trust": About(group=SET_UP, example="phase-gate store trust", codes=_DONE_OR_NOT),
    "store init": About(group=SET_UP, example="phase-gate store init git:origin#shop", codes=_DONE_OR_NOT),
    "workflow check": About(
        group=SET_UP,
        example="phase-gate workflow check pipeline",
        codes=((0, "nothing is wrong"), (2, "something is, or the command line is invalid"), _TRUST),
    ),
    "workflow schema": About(group=SET_UP, example="phase-gate workflow schema workflow", codes=_PRINTED),
    "completion": About(group=SET_UP, example="phase-gate completion bash", codes=_PRINTED),
}


def grouped() -> dict[str, list[str]]:
    """Return the names of all commands by group, in the order in which help lists them."""
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in COMMANDS:
        groups[ABOUT[name].group].append(name)
    return groups


def render_overview(parser: argparse.ArgumentParser, width: int) -> str:
    """Return the help of the command as a whole: what stands on the first level."""
    column = max(len(name) for name in COMMANDS if " " not in name) + 4
    rows = [parser.format_usage().rstrip(), "", *_fill(str(parser.description), width), ""]
    for group, names in grouped().items():
        entries = dict(map(_on_first_level, names))
        rows += [f"{group}:", *(row for name, text in entries.items() for row in _entry(name, text, column, width)), ""]
    rows += ["options:", *_entry("-h, --help", "show this text", column, width)]
    rows += [*_entry("--version", "print the version", column, width), ""]
    rows += _fill(
        "Without a command it says where the task stands, as status does. Every command has --help with an example,"
        " --json, --task NAME, --dir DIR, -q and -v.",
        width,
    )
    rows += ["", *_codes([*((code, meaning) for code, _, meaning in MEANINGS), _USAGE], width)]
    rows += ["", "begin with:", "  phase-gate demo", "  pytest --phase=red"]
    return "\n".join(rows) + "\n"


def _on_first_level(name: str) -> tuple[str, str]:
    """Return a command with its one line; for one of a feature, the feature with the names of its commands."""
    feature, _, below = name.partition(" ")
    if not below:
        return name, COMMANDS[name]
    names = [each.removeprefix(f"{feature} ") for each in COMMANDS if each.startswith(f"{feature} ")]
    return feature, f"{FEATURES[feature]}: {', '.join(names)}"


def similar_command(parser: argparse.ArgumentParser, word: str) -> tuple[str, ...]:
    """Return the call that was meant by a word which is no command; nothing where none is like it."""
    from difflib import get_close_matches

    calls = list(_calls(parser))
    parts = set(word.split("-"))
    # The very word one level down; all words in another order; then what is spelled alike.
    exact = [call for call in calls if call[-1] == word] or [call for call in calls if set(call) == parts]
    if exact:
        return min(exact, key=len)
    for length in (1, 2, 3):
        by_text = {call[-1]: call for call in reversed(calls) if len(call) == length}
        for name in get_close_matches(word, by_text, n=1):
            return by_text[name]
    return ()


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return the question that follows a word which is none of these; nothing where none is like it."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(names), n=1)
    return f": did you mean {found[0]}?" if found else ""


def _calls(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every way to call a command: with its name, its action."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield (*words, name)
                yield from _calls(below, (*words, name))
        elif action.dest == "action":
            yield from ((*words, choice) for choice in action.choices or ())


def render_end(name: str, width: int) -> str:
    """Return what stands below the arguments in the help of one command."""
    about = ABOUT.get(name)
    if about is None:
        return ""
    return "\n".join(["", "example:", f"  {about.example}", "", *_codes(about.codes, width)]) + "\n"


def _codes(codes: Iterable[tuple[int, str]], width: int) -> Iterator[str]:
    yield "exit codes:"
    for code, meaning in sorted(codes):
        yield from _entry(str(code), meaning[0].lower() + meaning[1:], 6, width)


def _entry(name: str, text: str, column: int, width: int) -> list[str]:
    return textwrap.wrap(
        text, max(width, column + 20), initial_indent=f"  {name}".ljust(column), subsequent_indent=" " * column
    )


def _fill(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 20))
