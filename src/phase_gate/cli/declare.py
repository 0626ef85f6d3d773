"""`phase-gate declare`: a fact that the workflow asks a person for."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.decisions.declaring import declare_fact
from phase_gate.errors import UsageError
from phase_gate.gate.order import shorten
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("fact", metavar="NAME=VALUE", help="a name from the workflow's facts, and its value")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why it is so, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who says so; the user's name by default")


def run(call: Call) -> Answer:
    project = call.project()
    name, separator, text = call.arguments.fact.partition("=")
    if not separator:
        raise UsageError(f"{shorten(call.arguments.fact)} has no value", remedy="write NAME=VALUE")
    if not call.arguments.reason.strip():
        raise UsageError("a fact needs a reason", remedy='add --reason "..."')
    declared = declare_fact(call.task(project), name, text, reason=call.arguments.reason, by=call.by())
    return Answer(
        text=show_rows(
            (
                f"{declared.record['name']} = {text} counts until {declared.phase} ends",
                f"  next: {declared.next_command}",
            )
        ),
        document={"phase": declared.phase, **declared.record},
    )
