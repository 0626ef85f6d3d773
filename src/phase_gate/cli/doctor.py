"""`phase-gate doctor`: is everything where it should be? `--prove` tries cheats against this very installation."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from phase_gate.agents.installing import PROGRAM
from phase_gate.cli._agent_looks import look_at_agents
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._looks import (
    Look,
    Mark,
    look_at_file_system,
    look_at_folder,
    look_at_git,
    look_at_package,
    look_at_plugin,
    look_at_state,
)
from phase_gate.cli._output import say
from phase_gate.errors import PhaseGateError
from phase_gate.values import as_dict
from phase_gate.visible import show_rows

_SIGNS: dict[Mark, str] = {"good": "+", "note": "?", "bad": "-"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prove", action="store_true", help="try cheats and their honest twins in a temporary folder")
    parser.add_argument(
        "--program", metavar="COMMAND", default=PROGRAM, help="how agents call us, as with init (default: %(default)s)"
    )


def run(call: Call) -> Answer:
    looks = list(_look_around(call))
    rows = [f"{_SIGNS[look.mark]} {look.what:14}{look.says}" for look in looks]
    document: dict[str, object] = {"looks": [as_dict(look) for look in looks]}
    is_well = all(look.mark != "bad" for look in looks)
    if call.arguments.prove:
        from phase_gate.selftest.runner import prove_all

        say(show_rows(rows), aside=call.arguments.json, flush=True)
        proofs = prove_all(show=None if call.arguments.json else _show)
        failed = [proof for proof in proofs if not proof.holds]
        document["proofs"] = [as_dict(proof) for proof in proofs]
        is_well = is_well and not failed
        rows = [f"{len(proofs) - len(failed)} of {len(proofs)} proofs hold"]
    return Answer(text=show_rows(rows), document=document, exit_code=0 if is_well else 1)


def _show(text: str) -> None:
    say(text, flush=True)


def _look_around(call: Call) -> Iterator[Look]:
    yield look_at_package()
    yield look_at_plugin(call.start)
    try:
        project = call.project()
    except PhaseGateError as error:
        yield Look(what="configuration", mark="bad", says=f"{error.problem}; try: {error.remedy}")
        return
    yield Look(what="root", mark="good", says=str(project.root))
    yield look_at_folder(project)
    yield from look_at_state(call.store(project))
    yield look_at_file_system(project)
    yield from look_at_git(project)
    yield from look_at_agents(project, call.arguments.program)
