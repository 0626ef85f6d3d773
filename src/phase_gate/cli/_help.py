"""What `--help` says beyond the arguments: groups of commands, an example each, exit codes.

Read by `--help` and by the man page only: no other call pays for it.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from phase_gate.cli import COMMANDS
from phase_gate.exit_codes import MEANINGS
from phase_gate.values import Value

LOOK, GO_ON, OVERRIDE, TELL, AGENTS, SET_UP, CARE = (
    "see where it stands",
    "go on",
    "decide against the evidence (people only)",
    "in CI, and for others to read",
    "work with agents",
    "set up",
    "look after it",
)
#: Groups in the order in which help lists them.
GROUPS = (LOOK, GO_ON, OVERRIDE, TELL, AGENTS, SET_UP, CARE)
#: Where a command stands that nobody has put into a group.
OTHERS = "others"

_USAGE = (2, "the command line, a file or the rules are off")
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
    "status": About(group=LOOK, example="phase-gate status --criteria", codes=_LOOKS),
    "check": About(group=LOOK, example="phase-gate check --gate1", codes=_LOOKS),
    "explain": About(group=LOOK, example="phase-gate explain tests-unchanged", codes=_LOOKS),
    "history": About(group=LOOK, example="phase-gate history --events", codes=_DONE),
    "signal": About(
        group=GO_ON,
        example='phase-gate signal --reason "both tests pass, twice"',
        codes=(
            (0, "the phase has ended"),
            _USAGE,
            _CLOSED,
            _TRUST,
            (13, "the signal is stale, contradictory or early"),
        ),
    ),
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
    "verify": About(
        group=GO_ON,
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
    "review": About(
        group=GO_ON,
        example="phase-gate review verdict.yaml --by Ada",
        codes=(
            (0, "approved, or the vote counts"),
            (10, "rejected, or no consensus yet"),
            _USAGE,
            _TRUST,
            (12, "a person is needed"),
            _NOT_NOW,
        ),
    ),
    "request": About(
        group=GO_ON,
        example='phase-gate request new --type scope --title "refunds are wanted, too"',
        codes=_DONE_OR_NOT,
    ),
    "recover": About(
        group=GO_ON,
        example="phase-gate recover status",
        codes=((0, "nothing is to be recovered"), _USAGE, _CLOSED, _TRUST, (12, "the work is stuck"), _NOT_NOW),
    ),
    "snapshot": About(group=GO_ON, example="phase-gate snapshot", codes=_DONE_OR_NOT),
    "constitution": About(
        group=OVERRIDE,
        example="phase-gate constitution status",
        codes=((0, "it is as recorded"), _USAGE, (10, "it is not"), _TRUST, _NOT_NOW),
    ),
    "waive": About(
        group=OVERRIDE,
        example='phase-gate waive tests-kept --reason "the vendor dropped the call" --by Ada --days 7',
        codes=_DONE_OR_NOT,
    ),
    "breaker": About(group=OVERRIDE, example="phase-gate breaker status --markdown", codes=_DONE_OR_NOT),
    "skip": About(
        group=OVERRIDE, example='phase-gate skip --reason "the vendor is down until May" --by Ada', codes=_DONE_OR_NOT
    ),
    "force": About(
        group=OVERRIDE, example='phase-gate force --reason "shown on the device" --by Ada', codes=_DONE_OR_NOT
    ),
    "report": About(group=TELL, example="phase-gate report -o report.html", codes=_DONE),
    "combine": About(
        group=TELL,
        example="phase-gate combine shards --report verdict.md",
        codes=(
            (0, "the gate that was asked for holds"),
            _USAGE,
            _CLOSED,
            (11, "a shard is missing, repeated or unlike the others, or the state can't be trusted"),
            (12, "the breaker is open"),
            _NOT_NOW,
        ),
    ),
    "badge": About(group=TELL, example="phase-gate badge -o badge.json", codes=_DONE),
    "attest": About(group=TELL, example="phase-gate attest --predicate svr", codes=_DONE_OR_NOT),
    "prompt": About(group=AGENTS, example="phase-gate prompt --phase green", codes=_DONE),
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
    "mcp": About(group=AGENTS, example="phase-gate mcp", codes=((0, "the client went away"), _USAGE)),
    "demo": About(
        group=SET_UP,
        example="phase-gate demo --keep sample",
        codes=((0, "every step went as told"), (1, "a step did not"), _USAGE),
    ),
    "init": About(group=SET_UP, example="phase-gate init --agent claude codex --dry-run", codes=_DONE_OR_NOT),
    "uninstall": About(group=SET_UP, example="phase-gate uninstall --agent claude", codes=_DONE_OR_NOT),
    "baseline": About(group=SET_UP, example="phase-gate baseline --rev HEAD~1", codes=_DONE_OR_NOT),
    "completion": About(group=SET_UP, example="phase-gate completion bash", codes=_PRINTED),
    "audit": About(
        group=CARE,
        example="phase-gate audit --repair",
        codes=((0, "the ledger is intact, or is now"), _USAGE, (11, "it is not"), _NOT_NOW),
    ),
    "doctor": About(
        group=CARE, example="phase-gate doctor --prove", codes=((0, "all is well"), (1, "something is not"), _USAGE)
    ),
    "schema": About(group=CARE, example="phase-gate schema workflow", codes=_PRINTED),
    "check-workflow": About(
        group=CARE,
        example="phase-gate check-workflow pipeline",
        codes=((0, "nothing is wrong"), (2, "something is, or the command line is off"), _TRUST),
    ),
}


def grouped() -> dict[str, list[str]]:
    """Return the names of all commands by group, in the order in which help lists them."""
    groups: dict[str, list[str]] = {group: [] for group in (*GROUPS, OTHERS)}
    for name in COMMANDS:
        groups[ABOUT[name].group if name in ABOUT else OTHERS].append(name)
    return {group: names for group, names in groups.items() if names}


def render_overview(parser: argparse.ArgumentParser, width: int) -> str:
    """Return the help of the command as a whole."""
    column = max(map(len, COMMANDS)) + 4
    rows = [parser.format_usage().rstrip(), "", *_fill(str(parser.description), width), ""]
    for group, names in grouped().items():
        rows += [f"{group}:", *(row for name in names for row in _entry(name, COMMANDS[name], column, width)), ""]
    rows += ["options:", *_entry("-h, --help", "show this text", column, width)]
    rows += [*_entry("--version", "print the version", column, width), ""]
    rows += _fill("Every command has --help with an example, --json, --task NAME and --dir DIR.", width)
    rows += ["", *_codes([*((code, meaning) for code, _, meaning in MEANINGS), _USAGE], width)]
    rows += ["", "begin with:", "  phase-gate demo", "  pytest --phase=red"]
    return "\n".join(rows) + "\n"


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
