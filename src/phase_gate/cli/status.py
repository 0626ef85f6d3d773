"""`phase-gate status`: where the task stands and what to type next. Only looks."""

from __future__ import annotations

import os
from collections.abc import Mapping

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done
from phase_gate.codec import spell_out
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.breaker import Status, at_time
from phase_gate.gate.parts import PIPELINE
from phase_gate.gate.standing import Standing
from phase_gate.gate.state import State
from phase_gate.gate.verdict import evaluation_to_json
from phase_gate.gate.waivers import describe_override, waiver_to_json
from phase_gate.storage.store import TaskStore, now
from phase_gate.visible import show_rows
from phase_gate.workflow.settings import DEFAULT_WORKFLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.project import Project
    from phase_gate.storage.signal_file import SignalFile
    from phase_gate.task import Task
    from phase_gate.tasks.overview import Overview


#: With more phases than this, the name of the present one no longer says how far it is.
_FEW = 4


def run(call: Call) -> Done:
    if not call.arguments.watch:
        return _look(call)
    if call.arguments.json:
        raise UsageError(
            "--watch is for people: it has no JSON", remedy="phase-gate status --json, as often as you like"
        )
    from phase_gate.cli._watch import watch

    store = call.store(call.project())
    files = (store.state_file, store.ledger_file, store.signal_file)
    return watch(lambda: _look(call), files)


def _look(call: Call) -> Done:
    task = call.task()
    project, state, lost = task.project, task.state, task.lost_runs
    standing = task.standing()
    waiting = _find_signal(task)
    if call.arguments.block and state.evaluation is not None:
        from phase_gate.report.status_block import render_status_block

        return Done(
            text=render_status_block(_as_it_stands(evaluation_to_json(state.evaluation), standing)),
            document=_as_it_stands(evaluation_to_json(state.evaluation), standing),
            code=standing.exit_code,
        )
    if call.arguments.criteria:
        return _criteria(task.store, state, standing)
    in_force = [waiver_to_json(waiver) for waiver in state.overrides.waivers if waiver.is_in_force(now())]
    overrides: list[Mapping[str, Any]] = [*in_force, *state.overrides.others]
    overview = _overview(call, project)
    document: dict[str, Any] = {
        "task": project.task,
        "root": str(project.root),
        "workflow": state.workflow or project.configuration.workflow,
        "cycle": state.cycle,
        "phase": state.phase,
        "iteration": state.iteration,
        "exited": state.exited,
        "forced_exit": state.forced,
        "streak": state.streak.count,
        "open": standing.is_open,
        **standing.document,
        "facts": [
            {"name": fact.name, "value": fact.value, "reason": fact.reason, "by": fact.by, "at": fact.at}
            for fact in state.facts
        ],
        "overrides": overrides,
        "breaker": spell_out(at_time(state.breaker, now())),
        "signal_waiting": None if waiting is None else (waiting.problem or "waiting for the next evaluation"),
        "open_runs": [run.id for run in state.open_runs if run.id not in lost],
        "lost_runs": list(lost),
        "last_run": None
        if state.last_run is None
        else {"id": state.last_run.id, "kind": state.last_run.kind, "phase": state.last_run.phase},
        "evaluation": None if state.evaluation is None else evaluation_to_json(state.evaluation),
        "verification": _verification(overview),
    }
    rows = [("root", str(project.root)), ("task", project.task)]
    if state.phase is not None:
        exited = ", exited (forced)" if state.forced else ", exited" if state.exited else ""
        rows += [
            ("workflow", f"{state.workflow}, cycle {state.cycle}"),
            ("phase", f"{state.phase}, iteration {state.iteration}{exited}"),
            ("streak", f"{state.streak.count} green in a row"),
        ]
    breaker = at_time(state.breaker, now())
    if breaker.status is not Status.CLOSED:
        rows.append(("breaker", f"{breaker.status}: {breaker.reason}"))
    judged = "" if state.evaluation is None else state.evaluation.subject.timestamp
    for fact in state.facts:
        from phase_gate.workflow.metrics import show_value

        said = f"{fact.name} = {show_value(fact.value)}, declared by {fact.by} at {fact.at}: {fact.reason}"
        # The verdict below does not know of it.
        rows.append(("fact", said if fact.at < judged else f"{said} (not judged yet: run again, or signal)"))
    rows += [
        ("waived" if override["kind"] == "waive" else "override", describe_override(override)) for override in overrides
    ]
    if waiting is not None:
        rows.append(("signal", waiting.problem or "waiting for the next evaluation"))
    verdict, following = standing.verdict, standing.next_step
    if overview is not None:
        from phase_gate.cli._verify_show import tell_list

        told = tell_list(project, overview)
        rows.append(("tasks", f"{overview.summary}; {told}" if told else overview.summary))
        if state.phase is None:  # the list is all that there is
            verdict, following = told or "no cycle has begun, and verify tasks are left", overview.next_command
    rows += [("verdict", verdict), *([("next", following)] if following else ())]
    text = show_rows(f"{name:9}{value}" for name, value in rows)
    if PIPELINE in state.parts:
        from phase_gate.tasks.result import pipeline_to_json

        document["pipeline"] = pipeline_to_json(state.parts[PIPELINE])
    route = _draw(task, standing)
    if route is not None:
        drawn, document["route"] = route
        text = f"{text}\n\n{show_rows(drawn)}"
    # Where nothing has begun there is nothing to refuse: `check` is what asks whether a phase may end.
    has_begun = state.phase is not None or standing.status != "unstarted"
    return Done(text=text, document=document, code=standing.exit_code if has_begun else exit_codes.OPEN)


def _find_signal(task: Task) -> SignalFile | None:
    """Return the signal that waits; its reader is loaded only where there is something to read."""
    if not os.path.lexists(task.store.signal_file):
        return None
    from phase_gate.storage.signal_file import read_signal_file

    return read_signal_file(task.store.signal_file, spent=task.state.spent_signal)


def _overview(call: Call, project: Project) -> Overview | None:
    """Return the verify tasks; None where there are none, which is told at a glance."""
    look = project.look_at_tasks(f"phase-gate {call.arguments.command}")
    if not os.path.isdir(project.state_folder / "tasks"):
        return None
    from phase_gate.tasks.overview import load_overview

    found = load_overview(project.state_folder, look)
    return found if found.total else None


def _verification(overview: Overview | None) -> dict[str, Any] | None:
    if overview is None:
        return None
    from phase_gate.tasks.result import stats_to_json

    return stats_to_json(overview)


def _draw(task: Task, standing: Standing) -> tuple[list[str], dict[str, Any]] | None:
    """Return the way through the workflow, in rows and as a document; None where the present phase says it all."""
    state = task.state
    if state.phase is None or (state.workflow == DEFAULT_WORKFLOW and not _has_turned(state)):
        return None
    from phase_gate.tasks.show import route_rows, route_to_json

    workflow = task.rules
    verdict = state.evaluation
    is_closed = verdict is not None and verdict.subject.phase == state.phase and not verdict.gate_1.is_open
    route = route_to_json(state, workflow, blocked=standing.is_halted or is_closed)
    is_straight = not route["turns"] and all(row["mark"] not in ("again", "aside") for row in route["phases"])
    if len(workflow.phases) <= _FEW and is_straight:
        return None
    recoveries = workflow.parameters.get("max_recoveries") if any(each.recovers for each in workflow.phases) else None
    return route_rows(route, recoveries if isinstance(recoveries, int) else None), route


def _has_turned(state: State) -> bool:
    """Tell whether the task has been farther than it is, without a look at the rules."""
    return bool(state.visited) and not state.is_done and state.visited[-1] != state.phase


def _criteria(store: TaskStore, state: State, standing: Standing) -> Done:
    if state.aim.criteria is None:
        raise NotAllowedError(
            "no complete run of this cycle was given criteria with ids",
            remedy="pytest --phase=auto --phase-criteria=FILE, with FILE a list in Markdown or YAML",
        )
    from phase_gate.report.tables import render_criteria

    table = store.objects.load(state.aim.criteria)
    return Done(text=render_criteria(table), document=table, code=standing.exit_code)


def _as_it_stands(evaluation: Mapping[str, Any], standing: Standing) -> dict[str, Any]:
    """Return the last verdict as it stands now: one that something came after opens nothing."""
    if standing.is_open or not evaluation["can_exit"]:
        return dict(evaluation)
    return {**evaluation, "can_exit": False, **standing.document}
