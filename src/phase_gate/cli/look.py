"""`phase-gate check`, `status`: whether the phase may end, the task's status, the next command. Read-only."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from phase_gate import exit_codes
from phase_gate.cli._call import Call, Done
from phase_gate.cli._streams import draw
from phase_gate.codec import spell_out
from phase_gate.errors import NotAllowedError, PhaseGateError, UsageError
from phase_gate.gate.breaker import Breaker, at_time
from phase_gate.gate.freshness import CurrentStatus
from phase_gate.gate.measured import describe_override, waiver_to_json
from phase_gate.gate.state import WORK, State
from phase_gate.gate.verdict import evaluation_to_json
from phase_gate.storage.store import TaskStore, now
from phase_gate.visible import show_rows, show_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.project import Project
    from phase_gate.task import Task
    from phase_gate.tasks.rules import Overview


# --- whether the phase may end


def check(call: Call) -> Done:
    task = call.task()
    state, standing = task.state, task.current_status(gate_1_only=call.arguments.gate1)
    document: dict[str, object] = {
        "task": task.project.task,
        "root": str(task.project.root),
        "phase": state.phase,
        "open": standing.is_open,
        **standing.advice,
        "forced_exit": state.forced,
    }
    phase = state.phase or "no phase"
    forced = " (forced)" if state.forced else ""
    word = "open" if standing.is_open else "closed"
    rows = [f"{phase}: {word}{forced}: {standing.verdict}"]
    if not (call.arguments.gate1 and standing.is_open):  # else all is there that was asked for
        rows.append(f"  next: {standing.next_step}")
    if notes := _note_proof(task):
        document["notes"] = notes
        rows[1:1] = [f"  note: {note}" for note in notes]
    return Done(text=show_rows(rows), document=document, code=standing.exit_code)


def _note_proof(task: Task) -> list[str]:
    """Return why the phase requires a proof but has none: it is off, failed, or no RED was seen."""
    state = task.state
    if task.project.configuration.proof.mode == "off":
        from phase_gate.gate.measuring import GUARD, OFF

        phase = task.rules.phase(state.phase or "")
        return [OFF] if phase is not None and GUARD in phase.gate_1.guards else []
    findings = () if state.evaluation is None else state.evaluation.findings
    unseen = [finding.detail for finding in findings if finding.slug == "red-was-seen"]
    if unseen or state.proof is None or not state.proof.problem:
        return unseen
    from phase_gate.gate.measuring import describe_missing_proof

    return [describe_missing_proof(state.proof.problem)]


# --- the status of the task


def status(call: Call) -> Done:
    if not call.arguments.watch:
        return _look(call)
    if call.arguments.json:
        raise UsageError(
            "--watch is for people: it has no JSON", remedy="phase-gate status --json, as often as you like"
        )
    return watch(lambda: _look(call))


def _look(call: Call) -> Done:
    task = call.task()
    state, standing = task.state, task.current_status()
    if call.arguments.block and state.evaluation is not None:
        from phase_gate.report.text import render_status_block

        verdict = evaluation_to_json(state.evaluation)
        if not standing.is_open and verdict["can_exit"]:  # something was recorded after it
            verdict |= {"can_exit": False, **standing.advice}
        return Done(text=render_status_block(verdict), document=verdict, code=standing.exit_code, is_file=True)
    if call.arguments.criteria:
        return _criteria(task.store, state, standing)
    breaker, tasks = at_time(state.breaker, now()), _overview(call, task.project)
    document = _document(task, standing, breaker, tasks)
    rows = _rows(task, standing, breaker, tasks, document, is_long=call.arguments.v)
    text = show_rows(f"{name:9}{value}" for name, value in rows)
    if state.is_pipeline:
        from phase_gate.tasks.pipeline_show import pipeline_to_json

        document["pipeline"] = pipeline_to_json(state.parts[WORK])
    if breaker.is_open:
        from phase_gate.cli.people import stuck_report
        from phase_gate.report.text import render_stuck

        report = stuck_report(task)
        document["stuck"] = spell_out(report)
        text = f"{text}\n\n{render_stuck(report)}"
    # Before the task begins there is nothing to refuse. `check` is the command that asks whether a phase may end.
    has_begun = state.phase is not None or standing.status != "unstarted"
    return Done(text=text, document=document, code=standing.exit_code if has_begun else exit_codes.OPEN)


def _document(task: Task, standing: CurrentStatus, breaker: Breaker, tasks: Overview | None) -> dict[str, Any]:
    project, state, run = task.project, task.state, task.state.last_run
    return {
        "task": project.task,
        "root": str(project.root),
        "workflow": state.workflow or project.configuration.workflow,
        "cycle": state.cycle,
        "phase": state.phase,
        "iteration": state.iteration,
        "exited": state.exited,
        "forced_exit": state.forced,
        "streak": state.streak,
        "open": standing.is_open,
        **standing.advice,
        "facts": [
            {"name": fact.name, "value": fact.value, "reason": fact.reason, "by": fact.by, "at": fact.at}
            for fact in state.facts
        ],
        "overrides": [
            *(waiver_to_json(waiver) for waiver in state.waivers if waiver.is_in_force(now())),
            *state.overrides,
        ],
        "breaker": spell_out(breaker),
        "signal_waiting": _describe_signal(task),
        "open_runs": [run.id for run in state.open_runs if run.id not in task.lost_runs],
        "lost_runs": list(task.lost_runs),
        "last_run": None if run is None else {"id": run.id, "kind": run.kind, "phase": run.phase},
        "evaluation": None if state.evaluation is None else evaluation_to_json(state.evaluation),
        "verification": None if tasks is None else _stats(tasks),
    }


def _rows(
    task: Task,
    standing: CurrentStatus,
    breaker: Breaker,
    tasks: Overview | None,
    document: Mapping[str, Any],
    *,
    is_long: bool,
) -> Iterator[tuple[str, str]]:
    project, state = task.project, task.state
    yield "root", str(project.root)
    yield "task", project.task
    if state.phase is not None:
        exited = ", exited (forced)" if state.forced else ", exited" if state.exited else ""
        yield "workflow", f"{state.workflow}, cycle {state.cycle}"
        yield "phase", f"{state.phase}{f', iteration {state.iteration}' if state.iteration else ''}{exited}"
        yield "streak", f"{state.streak} green in a row"
    if breaker.status != "closed":
        yield "breaker", f"{breaker.status}: {breaker.reason}"
    elif is_long:
        counts = (
            f"{seen} of {limit or 'any number of'} {what}"
            for seen, limit, what in (
                (breaker.no_progress, breaker.limits.no_progress, "runs without progress"),
                (breaker.same_error, breaker.limits.same_error, "times the same error"),
                (breaker.exit_blocked, breaker.limits.exit_blocked, "blocked claims"),
            )
        )
        yield "breaker", f"closed: {', '.join(counts)}"
    judged = "" if state.evaluation is None else state.evaluation.timestamp
    for fact in state.facts:
        from phase_gate.workflow.metrics import show_value

        text = f"{fact.name} = {show_value(fact.value)}, declared by {fact.by} at {fact.at}: {fact.reason}"
        # The verdict below does not include it.
        yield "fact", text if fact.at < judged else f"{text} (not judged yet: run again, or signal)"
    for override in document["overrides"]:
        yield "waived" if override["kind"] == "waive" else "override", describe_override(override)
    if document["signal_waiting"]:
        yield "signal", document["signal_waiting"]
    verdict, following = standing.verdict, standing.next_step
    if tasks is not None:
        from phase_gate.cli.verify import render_list

        progress = render_list(project, tasks)
        yield "tasks", f"{tasks.summary}; {progress}" if progress else tasks.summary
        if state.phase is None:  # there is only the list
            verdict, following = progress or "no cycle has begun, and verify tasks are left", tasks.next_command
    yield "verdict", verdict
    if following and not breaker.is_open:  # with an open circuit, the options for people are shown below instead
        yield "next", following


def _describe_signal(task: Task) -> str | None:
    """Return what waits in the signal file, if there is one. Imports its reader only then."""
    if not os.path.lexists(task.store.signal_file):
        return None
    from phase_gate.storage.signal_file import read_signal_file

    waiting = read_signal_file(task.store.signal_file, spent=task.state.spent_signal)
    return None if waiting is None else waiting.problem or "waiting for the next evaluation"


def _overview(call: Call, project: Project) -> Overview | None:
    """Return the verify tasks; None if there are none, which a look at the folder shows."""
    look = project.read_tasks(f"phase-gate {call.arguments.command}")
    if not os.path.isdir(project.state_folder / "tasks"):
        return None
    from phase_gate.tasks.rules import load_overview

    found = load_overview(project.state_folder, look, tuple(look.refused))
    return found if found.total else None


def _stats(overview: Overview) -> dict[str, Any]:
    from phase_gate.tasks.show import stats_to_json

    return stats_to_json(overview)


def _criteria(store: TaskStore, state: State, standing: CurrentStatus) -> Done:
    if state.criteria is None:
        raise NotAllowedError(
            "no complete run of this cycle was given criteria with ids",
            remedy="pytest --phase=auto --phase-criteria=FILE, with FILE a list in Markdown or YAML",
        )
    from phase_gate.report.text import render_criteria

    table = store.objects.load(state.criteria)
    return Done(text=render_criteria(table), document=table, code=standing.exit_code)


# --- `--watch`: repeat the answer, and redraw it when it changes


#: Seconds between two checks: a check costs little, and users do not notice a shorter wait.
PAUSE = 0.5
#: Clear the terminal, so that each answer begins at the top.
_CLEAR = "\x1b[H\x1b[2J"


def watch(look: Callable[[], Done]) -> Done:
    """Show the answer until the user stops it (Ctrl-C); return the last one."""
    out, shown, answer = sys.stdout, "", Done(text="")
    if out is None:
        return look()  # nowhere to print
    clear, end = (_CLEAR, "\nwatching; Ctrl-C ends it\n") if out.isatty() else ("", "\n")
    try:
        while True:
            answer = _ask(look)
            if answer.text != shown and not draw(f"{clear}{show_text(answer.text)}\n{end}", out):
                break  # the terminal or the reader of the pipe is gone
            shown = answer.text
            time.sleep(PAUSE)
    except KeyboardInterrupt:
        pass
    return Done(text="", code=answer.code)


def _ask(look: Callable[[], Done]) -> Done:
    try:
        return look()
    except PhaseGateError as error:
        # A user may be editing the file: show the error, and check again.
        return Done(text=f"phase-gate: {error}", code=error.exit_code)
