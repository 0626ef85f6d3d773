"""`phase-gate workflow check`, `schema`: workflow files and the schemas of all files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate import exit_codes
from phase_gate.cli._call import Call, Done
from phase_gate.errors import UsageError, WorkflowError
from phase_gate.values import as_dict
from phase_gate.visible import count, show_rows

if TYPE_CHECKING:
    from phase_gate.config.rule_files import Checked
    from phase_gate.project import Project


# --- `phase-gate workflow check`: all errors in workflow files, each with its line. Read-only


def check(call: Call) -> Done:
    project = call.project()
    # In the configuration, the path is relative to the root; on the command line, to the current folder.
    given = [(name, call.start) for name in call.arguments.files] or [(project.configuration.workflow, project.root)]
    checked = {name: _check(name, folder, project) for name, folder in given}
    total = sum(len(each.problems) for each in checked.values())
    return Done(
        text=show_rows(row for name, each in checked.items() for row in _rows(name, each)),
        document={
            "problems": total,
            "files": [
                {
                    "file": name,
                    "workflow": None if each.workflow is None else each.workflow.name,
                    "problems": [as_dict(problem) for problem in each.problems],
                }
                for name, each in checked.items()
            ],
        },
        code=exit_codes.COMMAND_USAGE if total else exit_codes.OPEN,
    )


def _check(name: str, folder: Path, project: Project) -> Checked:
    from phase_gate.config.documents import read_bytes
    from phase_gate.config.nodes import MAX_BYTES
    from phase_gate.config.reading import Fault
    from phase_gate.config.rule_files import Checked, check_workflow, find_workflow, read_plugins

    path = find_workflow(name, root=folder)
    try:
        text = read_bytes(path, name=name, limit=MAX_BYTES, error=WorkflowError, if_missing="check the path")
    except WorkflowError as error:
        # An unreadable file must not prevent the check of the others.
        problem = error.problem.removeprefix(f"{name}: ")
        return Checked(problems=(Fault(line=1, column=1, slug=error.slug, problem=problem, remedy=error.remedy),))
    configuration = project.configuration
    return check_workflow(
        text,
        name=name,
        extra_metrics=configuration.overlay.metrics if configuration.overlay else {},
        plugins=read_plugins(project),
        commands=configuration.evidence.commands if _is_own(path, project) else None,
    )


def _is_own(path: Path, project: Project) -> bool:
    """Return whether the project uses this file."""
    from phase_gate.config.rule_files import find_workflow

    try:
        return path.resolve() == find_workflow(project.configuration.workflow, root=project.root).resolve()
    except WorkflowError:  # a plugin may provide it
        return False


def _rows(name: str, checked: Checked) -> Iterator[str]:
    for each in checked.problems:
        yield f"{name}:{each.line}:{each.column}: {each.problem} [{each.slug}]"
        yield f"  try: {each.remedy}"
    if not checked.problems:
        assert checked.workflow is not None, "what can't be read has a problem"
        phases = count(len(checked.workflow.phases), "phase")
        yield f"{name}: nothing wrong in workflow {checked.workflow.name}, {phases}"


# --- `phase-gate workflow schema`: the JSON Schemas (draft-07) of our file formats

_FOLDER = Path(__file__).parent.parent / "schemas"


def schema_names() -> tuple[str, ...]:
    return tuple(sorted(path.name.removesuffix(".schema.json") for path in _FOLDER.glob("*.schema.json")))


def read_schema(name: str) -> str:
    return (_FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")


def schema(call: Call) -> Done:
    name = "evaluation" if call.arguments.name is None else call.arguments.name
    if name not in schema_names():
        raise UsageError(f"there is no schema {name!r}", remedy=f"use one of: {', '.join(schema_names())}")
    text = read_schema(name)
    return Done(text=text.rstrip(), document=json.loads(text), is_file=True)
