"""`phase-gate waive`: a person lets one guard's present findings pass, on the record."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.decisions.waiving import waive_guard
from phase_gate.visible import count, show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("guard", metavar="GUARD", help="the guard that the last verdict names")
    parser.add_argument("--reason", metavar="TEXT", help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who answers for it")
    parser.add_argument("--days", metavar="N", type=float, help="let it expire after so many days; else with the cycle")


def run(call: Call) -> Answer:
    waived = waive_guard(call.task(), call.arguments.guard, call.person(), days=call.arguments.days)
    record = waived.record
    until = f"until {record['expires']}" if record["expires"] else "until the cycle ends"
    return Answer(
        text=show_rows(
            (
                f"{record['guard']} is waived for {count(len(record['findings']), 'finding')}, {until}",
                f"  next: {waived.next_command}",
            )
        ),
        document=record,
    )
