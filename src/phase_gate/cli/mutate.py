"""`phase-gate mutate`: change new lines a little, each in a room, and show which changes no test notices."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._plugin import require_plugin
from phase_gate.cli._streams import say_progress
from phase_gate.codec import spell_out
from phase_gate.errors import UsageError
from phase_gate.mutation.as_red import Added, add_criteria, criteria_of
from phase_gate.mutation.model import Mutation
from phase_gate.mutation.show import dry_text, mutation_markdown, mutation_text
from phase_gate.mutation.task import DEFAULT_SECONDS, metrics_of, mutate, plan_mutants
from phase_gate.mutation.trying import usable_processors
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", metavar="N", type=float, help="how long it may take; 60 unless set")
    parser.add_argument("--mutants", metavar="N", type=int, help="how many to try at most in this call")
    parser.add_argument("--workers", metavar="N", type=int, help="how many at a time; one a processor unless set")
    parser.add_argument("--dry-run", action="store_true", help="list the mutants, and try none")
    parser.add_argument("--as-red", action="store_true", help="make each survivor an acceptance criterion")
    parser.add_argument("--markdown", action="store_true", help="print Markdown, for the summary of a CI job")


def run(call: Call) -> Answer:
    require_plugin()
    given = call.arguments
    for name in ("seconds", "mutants", "workers"):
        value = getattr(given, name)
        if value is not None and value <= 0:
            raise UsageError(f"--{name} {value:g} leaves nothing to be tried", remedy=f"--{name} 1, or more")
    task = call.task()
    task.require_begun()
    if given.dry_run:
        plan = plan_mutants(task)
        return Answer(
            text=dry_text(plan.mutants, plan.since),
            document={"mutants": [spell_out(each) for each in plan.mutants], "since": plan.since},
        )
    mutation = mutate(
        task,
        seconds=given.seconds or DEFAULT_SECONDS,
        most=given.mutants,
        workers=given.workers or usable_processors(),
        show=say_progress,
    )
    wants_criteria = given.as_red and mutation.survivors
    added = add_criteria(task.project.root, criteria_of(task), mutation.survivors) if wants_criteria else None
    rows = [] if added is None else list(_say_added(added))
    text = mutation_markdown(mutation) if given.markdown else mutation_text(mutation, is_last=not rows)
    document = {key: value for key, value in spell_out(mutation).items() if key not in ("baseline", "key")}
    return Answer(
        text="\n".join([text, *([show_rows(rows)] if rows else [])]),
        document={
            **document,
            "metrics": metrics_of(mutation),
            "criteria": {} if added is None else {"file": added.file, "written": added.is_written, **added.criteria},
        },
        exit_code=_exit_code(mutation),
    )


def _exit_code(mutation: Mutation) -> int:
    if mutation.problem:
        return exit_codes.NOT_TRUSTED
    if mutation.is_interrupted:
        return exit_codes.INTERRUPTED
    return exit_codes.OPEN if mutation.is_whole and not mutation.survivors else exit_codes.GATE_CLOSED


def _say_added(added: Added) -> Iterator[str]:
    if not added.criteria:
        yield f"{added.file} has a criterion for each survivor already"
    elif added.is_written:
        yield f"added to {added.file}:"
    else:
        yield f"{added.why}; add these to one, then pytest --phase=red --phase-criteria=FILE"
    for name, text in added.criteria.items():
        yield f"- [ ] {name} {text}"
    if added.is_written:
        yield "next: pytest --phase=red  # with the code taken back, and a test for each: they have to fail first"
