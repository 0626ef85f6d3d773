"""`phase-gate store status`: which store, why that one, and whether it answers. Only looks."""

from __future__ import annotations

import argparse
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._store import choose
from phase_gate.errors import StateError
from phase_gate.stores.shared import Head
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take no arguments of its own."""


def run(call: Call) -> Answer:
    project = call.project()
    chosen = choose(project)
    if chosen is None:
        return Answer(text=f"state folder {project.state_folder}: no shared store is named", document={"store": None})
    store = call.store(project)
    document: dict[str, Any] = {
        "store": str(chosen.address),
        "kind": chosen.address.kind,
        "named_by": "environment" if chosen.is_users else "file",
        "trusted": chosen.is_trusted,
        "task": project.task,
    }
    rows = [f"{chosen.address}: {chosen.why}"]
    try:
        opened = store.opener.open()
        here = Head(opened.serial, opened.head)
        document["here"] = here.serial
        assert store.shared is not None, "it was chosen"
        there = store.shared.read(project.task, here).head
        notes = store.shared.notes()
    except StateError as error:
        document["problem"] = {"slug": error.slug, "problem": error.problem, "remedy": error.remedy}
        rows.append(f"{error}")
        return Answer(
            text=show_rows(row for text in rows for row in text.splitlines()),
            document=document,
            exit_code=exit_codes.NOT_TRUSTED,
            is_error=True,
        )
    document |= {"there": there.serial, "same": there == here, "notes": list(notes), "problem": None}
    where = "the same here" if there == here else f"line {here.serial} here: the next command takes the rest over"
    rows.append(f"  it answers: task {project.task} at line {there.serial}, {where}")
    rows += [f"  {note}" for note in notes]
    return Answer(text=show_rows(rows), document=document)
