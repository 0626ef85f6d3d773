"""What is read before a test runs, by every recorder: project, options, workflow, criteria."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from phase_gate.errors import StateError
from phase_gate.gate.criteria import Criteria
from phase_gate.gate.parts import VERIFICATION
from phase_gate.project import Project
from phase_gate.recording.early import find_project
from phase_gate.recording.extensions import gather_guards, gather_workflows
from phase_gate.recording.options import Options, read_options
from phase_gate.storage.opening import Opened
from phase_gate.storage.store import TaskStore
from phase_gate.task import Task
from phase_gate.values import Value
from phase_gate.workflow.model import Workflow

if TYPE_CHECKING:
    from phase_gate.recording.criteria import CriterionMarks
    from phase_gate.recording.run import RecordedRun


class Prepared(Value):
    """Where we are, and what was asked for."""

    project: Project
    options: Options
    workflow: Workflow
    store: TaskStore
    #: The task, where its rules had to be looked up in its state.
    opened: Opened | None = None


def prepare(config: pytest.Config) -> Prepared:
    """Read project, options and workflow. Raises PhaseGateError for anything invalid."""
    project = find_project(config, config.option)
    options = read_options(config, project)
    store = project.store(" ".join(("pytest", *map(str, config.invocation_params.args))))
    if options.verifies:
        # What is wrong with the task is said where its turn is checked: the tests run all the same.
        with contextlib.suppress(StateError):
            opened = store.look()
            rules = Task(project, store, opened.state).rules
            return Prepared(project=project, options=options, workflow=rules, store=store, opened=opened)
    named = VERIFICATION if options.verifies else options.workflow
    workflow = project.workflow(named, extra_guards=gather_guards(config), extra_workflows=gather_workflows(config))
    return Prepared(project=project, options=options, workflow=workflow, store=store)


def take_criteria(config: pytest.Config, run: RecordedRun, typed: str | None) -> tuple[Criteria, CriterionMarks | None]:
    """Return the criteria of the run; where they have ids, with what looks for these on tests, registered."""
    if typed is None and not run.criteria_given and run.project.configuration.run.criteria is None:
        return Criteria(), None
    from phase_gate.recording.criteria import CriterionMarks, choose_criteria

    criteria = choose_criteria(run, typed, here=config.invocation_params.dir)
    if not criteria.listed:
        return criteria, None
    marks = CriterionMarks(config, criteria.ids)
    config.pluginmanager.register(marks, "phase_gate_criteria")
    return criteria, marks
