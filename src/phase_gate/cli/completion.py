"""`phase-gate completion`: a shell completion script, made by shtab from the table of commands."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Call, Done
from phase_gate.cli._parser import arguments_of
from phase_gate.cli._table import COMMANDS, FEATURES
from phase_gate.errors import UsageError


def completion(call: Call) -> Done:
    shell = call.arguments.shell
    script = render_script(shell)
    return Done(text=script, document={"shell": shell, "script": script}, is_file=True)


def render_script(shell: str) -> str:
    """Return the completion script for a shell. Raises UsageError if shtab is not installed."""
    try:
        import shtab
    except ImportError:
        raise UsageError(
            "completion needs the package shtab", remedy="pip install 'pytest-phase-gate[completion]'"
        ) from None
    paths = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY, "FOLDER": shtab.DIRECTORY}
    parser = argparse.ArgumentParser(prog="phase-gate")
    top = parser.add_subparsers()
    below = {feature: top.add_parser(feature, help=text).add_subparsers() for feature, text in FEATURES.items()}
    for name, command in COMMANDS.items():
        feature, _, last = name.rpartition(" ")
        added = below.get(feature, top).add_parser(last, help=command.summary)
        for each in arguments_of(name):
            how = {"choices": each.choices or None, "metavar": each.value} if each.value else {"action": "store_true"}
            action = added.add_argument(*each.names, help=each.meaning, **how)
            if each.value in paths:
                action.complete = paths[each.value]  # type: ignore[attr-defined]
    script: str = shtab.complete(parser, shell=shell)
    return script.rstrip()
