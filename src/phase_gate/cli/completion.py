"""`phase-gate completion`: the script that a shell reads once, and the values that it asks for at the tab key.

The scripts are made from the parser ahead of time (`python docs/generate.py`), so that printing one costs nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._completion_values import KINDS, live_values
from phase_gate.errors import UsageError
from phase_gate.visible import show_rows

FOLDER = Path(__file__).parent.parent / "completions"
#: Shells, and what a script is called where that shell looks for it.
SHELLS = {"bash": "phase-gate.bash", "zsh": "_phase-gate", "fish": "phase-gate.fish"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", nargs="?", choices=tuple(SHELLS), metavar="SHELL", help=f"one of: {', '.join(SHELLS)}")
    parser.add_argument(
        "--values", choices=KINDS, metavar="KIND", help=f"what the scripts ask for instead: {', '.join(KINDS)}"
    )


def run(call: Call) -> Answer:
    kind, shell = call.arguments.values, call.arguments.shell
    if kind is not None:
        values = live_values(kind, call)
        return Answer(text=show_rows(values), document={"kind": kind, "values": list(values)})
    if shell is None:
        raise UsageError("no shell is named", remedy=f"use one of: {', '.join(SHELLS)}")
    script = (FOLDER / SHELLS[shell]).read_text(encoding="utf-8")
    return Answer(text=script.rstrip(), document={"shell": shell, "file": SHELLS[shell], "script": script})
