"""`phase-gate completion`: what shtab makes of our parser, for a shell to read. Needs the extra `completion`."""

from __future__ import annotations

from phase_gate.cli._answer import Call, Done
from phase_gate.cli._parser import build_full_parser, list_actions
from phase_gate.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


def run(call: Call) -> Done:
    shell = call.arguments.shell
    script = render_script(shell)
    return Done(text=script, document={"shell": shell, "script": script})


def render_script(shell: str) -> str:
    """Return what completes our command lines in a shell. Raises UsageError where shtab is not installed."""
    try:
        import shtab
    except ImportError:
        raise UsageError(
            "completion needs the package shtab", remedy="pip install 'pytest-phase-gate[completion]'"
        ) from None
    parser = build_full_parser()
    paths = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY, "FOLDER": shtab.DIRECTORY}
    for action in list_actions(parser):
        if action.metavar in paths:
            action.complete = paths[str(action.metavar)]  # type: ignore[attr-defined]
    script: str = shtab.complete(parser, shell=shell)
    return script.rstrip()
