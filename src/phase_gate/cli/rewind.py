"""`phase-gate rewind`: go back to an earlier phase, on purpose and with a reason."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.decisions.rewinding import rewind
from phase_gate.errors import UsageError
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("phase", metavar="PHASE", help="the earlier phase to go back to")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who says so; the user's name by default")


def run(call: Call) -> Answer:
    project = call.project()
    if not call.arguments.reason.strip():
        raise UsageError("going back needs a reason", remedy='add --reason "..."')
    rewound = rewind(call.task(project), call.arguments.phase, reason=call.arguments.reason, by=call.by())
    return Answer(
        text=show_rows((f"back in {rewound.phase}", f"  next: {rewound.next_command}")),
        document=rewound.record,
    )
