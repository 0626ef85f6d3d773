"""The report of a pipeline that is stuck: what failed, why, how often, and what a person has to give.

Pure; from the failures that the pipeline remembers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from phase_gate.core.pipeline import Failure, Pipeline
from phase_gate.core.pipeline_order import budget
from phase_gate.core.pipeline_verdict import furthest_failure
from phase_gate.values import Value
from phase_gate.workflow.model import Workflow


class PipelineStuck(Value):
    reason: str
    current_failure: Failure
    root_cause: str
    recoveries: int
    allowed: int
    #: Every gate that failed, oldest first.
    failures: tuple[Failure, ...]
    best: Failure
    human_input: tuple[str, ...]


def describe_pipeline_stuck(pipeline: Pipeline, workflow: Workflow) -> PipelineStuck:
    """Return the report on a pipeline that has ended in STUCK."""
    last = pipeline.failures[-1]
    known = [each for each in reversed(pipeline.failures) if each.root_cause]
    return PipelineStuck(
        reason=pipeline.stuck,
        current_failure=last,
        root_cause=known[0].root_cause if known else "nobody has written one down",
        recoveries=pipeline.recoveries,
        allowed=budget(workflow),
        failures=pipeline.failures,
        best=furthest_failure(pipeline, workflow) or last,
        human_input=tuple(_needed(pipeline)),
    )


def _needed(pipeline: Pipeline) -> Iterator[str]:
    asked = [each.human_input for each in reversed(pipeline.failures) if each.human_input]
    if asked:
        yield asked[0]
    failed = pipeline.failed_phase or pipeline.failures[-1].phase
    last = next((each for each in reversed(pipeline.failures) if each.phase == failed), pipeline.failures[-1])
    # Guards have names that one can ask about; a clause without one stands as it is.
    guards = [name for name in last.unmet if " " not in name] or list(last.unmet)
    yield f"Decide how the gate of {failed} can hold: {', '.join(guards) or last.reason}"
    yield 'Then begin anew, on the record: phase-gate recover restart --reason "..." --by NAME'


def stuck_to_json(report: PipelineStuck) -> dict[str, Any]:
    return {
        "reason": report.reason,
        "current_failure": failure_to_json(report.current_failure),
        "root_cause_summary": report.root_cause,
        "failed_iterations": len(report.failures),
        "recoveries": report.recoveries,
        "max_recoveries": report.allowed,
        "best_attempt": failure_to_json(report.best),
        "failures": [failure_to_json(each) for each in report.failures],
        "required_human_input": list(report.human_input),
    }


def failure_to_json(failure: Failure) -> dict[str, Any]:
    return {
        "phase": failure.phase,
        "reason": failure.reason,
        "unmet": list(failure.unmet),
        "failing": failure.failing,
        "root_cause": failure.root_cause,
        "at": failure.at,
    }


def stuck_sections(report: PipelineStuck) -> list[tuple[str, list[str]]]:
    """Return the report as headings with rows."""
    last = report.current_failure
    best = report.best
    counted = "" if best.failing is None else f", {best.failing} tests and checks failing"
    return [
        ("Current failure", [f"{last.phase}: {last.reason}", *(f"unmet: {name}" for name in last.unmet)]),
        ("Root cause", [report.root_cause]),
        (
            "Failed iterations",
            [
                f"{len(report.failures)} gates failed, {report.recoveries} of {report.allowed} recoveries are used up",
                *(f"{each.at} {each.phase}: {each.reason}" for each in report.failures),
                f"best attempt: {best.phase}{counted}",
            ],
        ),
        ("Required human input", list(report.human_input)),
    ]
