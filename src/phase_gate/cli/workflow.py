"""`phase-gate workflow check`, `schema`: workflow files and the schemas of all files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from phase_gate import exit_codes
from phase_gate.cli._call import Call, Done, describe_error
from phase_gate.config.documents import read_bytes
from phase_gate.config.workflow_files import check_commands, find_workflow, load_shipped_guards, parse_workflow
from phase_gate.errors import PhaseGateError, UsageError, WorkflowError
from phase_gate.project import Project
from phase_gate.task import Task
from phase_gate.visible import count, show_rows
from phase_gate.workflow.model import Guard, Workflow

# --- `phase-gate workflow check`: the first error in each workflow file, with its line. Read-only


def check(call: Call) -> Done:
    project = call.project()
    # In the configuration, the path is relative to the root; on the command line, to the current folder.
    given = [(name, call.start) for name in call.arguments.files] or [(project.configuration.workflow, project.root)]
    rows, files = [], []
    for name, folder in given:
        try:
            workflow = _load(name, folder, project)
        except PhaseGateError as error:
            rows += str(error).splitlines()
            files.append({"file": name, "workflow": None, "problem": describe_error(error)})
        else:
            phases = count(len(workflow.phases), "phase")
            rows.append(f"{name}: nothing wrong in workflow {workflow.name}, {phases}")
            files.append({"file": name, "workflow": workflow.name, "problem": None})
    has_problem = any(each["problem"] for each in files)
    code = exit_codes.COMMAND_USAGE if has_problem else exit_codes.OPEN
    return Done(text=show_rows(rows), document={"files": files}, code=code)


def _load(name: str, folder: Path, project: Project) -> Workflow:
    path, configuration = find_workflow(name, root=folder), project.configuration
    workflow = parse_workflow(
        read_bytes(path, name=name, error=WorkflowError, if_missing="check the path"),
        name=name,
        guards={**_recorded_guards(project), **load_shipped_guards()},
        extra_metrics=configuration.overlay.metrics if configuration.overlay else {},
    )
    if _is_own(path, project):
        check_commands(workflow, configuration.evidence.commands)
    return workflow


def _recorded_guards(project: Project) -> Mapping[str, Guard]:
    """Return the guards of the task's last run: only a run knows those of plugins."""
    try:
        return Task.open(project).rules.guards
    except PhaseGateError:
        return {}


def _is_own(path: Path, project: Project) -> bool:
    """Return whether the project uses this file."""
    try:
        return path.resolve() == find_workflow(project.configuration.workflow, root=project.root).resolve()
    except WorkflowError:  # a plugin may provide it
        return False


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
