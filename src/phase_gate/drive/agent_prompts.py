"""Prompts for agents: for an iteration, for a voter, for the reviewer of a verify task.

The rules are those of `phase-gate agent prompt`. Foreign text is indented: a status block in it is not at the left
margin, so it does not count as a claim if an agent repeats it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from phase_gate.drive.loop import Session
from phase_gate.report.prompt import render_prompt
from phase_gate.task import Task
from phase_gate.tasks.artifacts import find_files
from phase_gate.tasks.board import TaskSession
from phase_gate.tasks.pipeline_show import Votes, needs_in
from phase_gate.tasks.prompts import make_bundle, render_bundle
from phase_gate.tasks.routing import rules_of
from phase_gate.tasks.work import FailureType, Verification, find_pipeline
from phase_gate.visible import show_line, show_text
from phase_gate.workflow.model import Phase, Workflow

#: Lines, and characters, of the end of the last run's output, which lists the failed tests.
_LINES, _CHARACTERS = 60, 6000


def write_prompt(
    session: Session,
    task: Task,
    workflow: Workflow,
    phase: Phase,
    *,
    number: int,
    notes: list[str],
    log: Path | None,
    answer: Path,
) -> str:
    """Return the prompt: the goal, the status, failures and their reasons, the rules, and how to answer.

    :param notes: about the agent's last turn: how it ended, and the result of its claim and signal.
    :param log: the output of our own last test run.
    """
    where = f"iteration {number}, and there are at most {session.settings.budget.iterations}"
    rows = [
        f"You work on task {show_line(task.project.task)}. This is {where}.",
        "Work, then stop. When you stop, the tests are run for you, and the next prompt lists what is missing.",
        "",
        *_goal_lines(session),
        *_need_lines(task, phase),
        *_status_lines(session, task, phase, notes, log),
    ]
    gate_2 = _gate_2_lines(session, session.relative(answer))
    rules = render_prompt(workflow, phase, "exit", task=task.project.task, gate_2=gate_2)
    return "\n".join([*rows, rules, ""])


def _goal_lines(session: Session) -> Iterator[str]:
    if session.goal:
        yield from ("# What is to be built", "", show_text(session.goal.strip()), "")


def _need_lines(task: Task, phase: Phase) -> Iterator[str]:
    """Yield the requirements of a pipeline's phase."""
    pipeline = find_pipeline(task.state)
    if pipeline is None or task.state.phase != phase.name:
        return
    rows = [f"{name}: {text}" for name, text in needs_in(task, phase)]
    if phase.recovers:
        failed = [each for each in pipeline.failures if each.phase == pipeline.failed_phase]
        rows += [f"failed: {pipeline.failed_phase}: {failed[-1].error}"] if failed else []
        rows.append(
            "fix it here, in the recovery: if `requires_phase_rewind_to` is null, the checks of the failed phase are"
            " run on what you leave"
        )
    if rows:
        yield from (f"# What {phase.name} asks for", "")
        yield from (f"- {show_line(row)}" for row in rows)
        yield "Snapshots are made and votes asked for when you stop."
        yield ""


def _status_lines(session: Session, task: Task, phase: Phase, notes: list[str], log: Path | None) -> Iterator[str]:
    state = task.state
    has_run = state.last_run is not None and state.last_run.phase == state.phase
    is_here = state.phase == phase.name and (state.iteration > 0 or has_run)
    if not is_here and not notes:
        return
    yield from ("# Status", "")
    if is_here:
        standing = task.current_status()
        yield f"{phase.name}: {show_line(standing.reason)}."
        if standing.next_hint:
            yield f"What to do: {show_line(standing.next_hint)}."
    yield from (f"- {show_line(note)}" for note in notes)
    if is_here and log is not None:
        yield from ("", f"The end of the last run (all of it: {session.relative(log)}):", "")
        output = log.read_text(encoding="utf-8", errors="replace")[-_CHARACTERS:]
        yield textwrap.indent(show_text("\n".join(output.splitlines()[-_LINES:])), "    ")
    yield ""


def _gate_2_lines(session: Session, answer: str) -> Iterator[str]:
    if session.settings.signal == "ask":
        yield "Gate 2 is an explicit signal, and a person gives it: not you. When your work is done, just stop."
        return
    yield "Gate 2 is an explicit signal. If you judge on purpose that this phase is done, give it before you stop:"
    yield '`phase-gate signal --reason "..."`, or write exactly this into'
    yield f"`{answer}`:"
    yield from ("", "    exit_signal: true", '    reason: "why it is done"', "")
    yield "It counts for the run that follows, and only once. Nothing that you print is taken for a signal."


# --- for agents that judge the work of others


def write_ballot(session: Session, task: Task, standing: Votes, name: str, answer: Path) -> str:
    """Return a voter's prompt."""
    root, described = task.project.root, rules_of(task.rules).artifacts
    rows = [
        *_goal_lines(session),
        f"You are a reviewer in {task.state.phase}, and vote on: {', '.join(standing.on)}. Nothing that you print is",
        "taken for a vote. Read these files, and change none:",
        "",
    ]
    for name in standing.on:
        rows += [f"- {show_line(path)}" for path in find_files(root, described[name])]
    rows += [
        "",
        "# Your vote",
        "",
        "Write this, filled in, as YAML alone into",
        f"`{session.relative(answer)}`:",
        "",
        "    vote: <approve, conditional or reject>",
        "    confidence: <how sure you are, 0 to 1>",
        f"    by: {name}",
        "    reason: <what has to change; not needed to approve>",
        "",
    ]
    return "\n".join(rows)


def write_review(current: TaskSession, verification: Verification, answer: str) -> str:
    """Return the prompt for the reviewer of a verify task."""
    last = verification.last_failure
    rows = [
        "You review one task that another agent executed. Look at all of this, and change no file.",
        "Nothing that you print is taken for a verdict.",
        "",
    ]
    if last is not None and last.step == 3 and last.type is FailureType.MALFORMED and not last.recovered:
        rows += ["# Your last verdict did not count", "", show_line(last.error), ""]
    rows += [
        render_bundle(make_bundle(current)),
        "# Where the verdict belongs",
        "Write it, filled in, as YAML alone into",
        f"`{answer}`:",
        "REJECTED needs `feedback:` for the next attempt.",
        "",
    ]
    return "\n".join(rows)
