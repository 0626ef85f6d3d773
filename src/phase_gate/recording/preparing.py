"""What is read before a test runs, by whoever records: project, options, workflow, criteria."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from phase_gate.gate.criteria import Criteria
from phase_gate.project import Project
from phase_gate.recording.extensions import gather_guards, gather_workflows
from phase_gate.recording.options import Options, read_options
from phase_gate.recording.verify_run import task_rules
from phase_gate.workflow.model import Workflow

if TYPE_CHECKING:
    from phase_gate.recording.criteria import CriterionMarks
    from phase_gate.recording.run import RecordedRun


def prepare(config: pytest.Config) -> tuple[Project, Options, Workflow]:
    """Return where we are, and what was asked for. Raises PhaseGateError for whatever is off."""
    project = Project.find(
        config.invocation_params.dir,
        environment=dict(os.environ),
        task=config.option.phase_task,
        folder=config.option.phase_dir,
    )
    options = read_options(config, project)
    workflow = task_rules(project, options)
    if workflow is None:
        workflow = project.workflow(
            options.workflow, extra_guards=gather_guards(config), extra_workflows=gather_workflows(config)
        )
    return project, options, workflow


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
