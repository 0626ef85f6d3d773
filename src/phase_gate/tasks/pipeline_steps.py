"""Begin a cycle of a pipeline, a recovery of it, or all anew; and what its other commands share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from phase_gate.codec import to_json
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.evidence.gathering import remember
from phase_gate.gate.order import Entry, How, entry_events, shorten
from phase_gate.gate.overrides import Kind, Person, override_record, refuse_excuse
from phase_gate.gate.parts import WORK
from phase_gate.gate.state import Event, State
from phase_gate.storage.files import REAL, make_folder, write_atomically
from phase_gate.storage.root import place_below
from phase_gate.storage.store import Transaction, now
from phase_gate.storage.tree.fingerprint import compile_globs
from phase_gate.storage.tree.git import head_of
from phase_gate.stores.shared import again_if_moved
from phase_gate.task import Task
from phase_gate.tasks.artifacts import fingerprint
from phase_gate.tasks.asking import vote_file
from phase_gate.tasks.evidence import Look, tree_of
from phase_gate.tasks.handins import Ballot
from phase_gate.tasks.model import Failure, Pipeline, Request, Tally, Word, count_votes, pipeline_of
from phase_gate.tasks.routing import (
    Plan,
    budget,
    decided,
    entry_data,
    failure_events,
    files_in,
    made,
    main_line,
    rules_of,
)
from phase_gate.values import Value, replace
from phase_gate.workflow.model import CHANGE_TYPES, SNAPSHOT, Consensus, Phase, Workflow, requires_of, settle


@again_if_moved
def begin_cycle(task: Task, workflow: Workflow) -> Task:
    """Enter the first phase of a new cycle, with the constitution on record. Returns the task after it."""
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        if change.state.phase is not None and not change.state.is_done:
            raise NotAllowedError(f"{change.state.phase} has begun meanwhile", remedy="phase-gate status")
        enter_first(task, workflow, change)
        return task.after(change)


@again_if_moved
def restart_cycle(task: Task, person: Person) -> State:
    """Begin a new cycle where the pipeline is stuck: a person answers for it. Returns the state after it."""
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        if not change.state.is_stuck:
            raise NotAllowedError("the pipeline is not stuck: there is nothing to begin anew", "phase-gate status")
        person.require(change.opened.state, "beginning anew")
        refuse_excuse(person.reason)
        workflow = task.project.workflow()
        if workflow.pipeline is None:
            raise NotAllowedError(f"workflow {workflow.name} is no pipeline", remedy="name one in the settings")
        said = override("restart", change.state, person, at=change.at)
        enter_first(task, workflow, change)
        # After the cycle began, which forgets what was decided in the one before.
        change.record(said)
    return change.state


@again_if_moved
def resume_with_guidance(task: Task, person: Person) -> Task:
    """Enter the failed phase anew where the pipeline is stuck, as a person says. Returns the task after it."""
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        if not change.state.is_stuck:
            raise NotAllowedError("the pipeline is not stuck: it goes on without guidance", "phase-gate status")
        person.require(change.opened.state, "guidance")
        refuse_excuse(person.reason)
        stuck, workflow = task.after(change), task.after(change).rules
        failed = workflow.phase(pipeline_of(change.state).failed_phase)
        assert failed is not None, "a gate of the pipeline failed"
        said = override("guidance", change.state, person, at=change.at)
        (entered,) = entry_events(
            change.state,
            Entry(failed, How.GUIDED),
            workflow,
            run=None,
            allow_non_interactive=task.project.configuration.allow_non_interactive,
            remembered=remember(stuck, workflow, failed),
        )
        words = f"{person.by}: {' '.join(person.reason.split())}"
        data = {**entered.data, WORK: {**entered.data[WORK], "guidance": words}}
        change.record(said, replace(entered, data=data))
        return task.after(change)


@again_if_moved
def start_recovery(task: Task, *, reason: str, by: str) -> State:
    """Enter the recovery on purpose. Returns the state after it."""
    reason = " ".join(reason.split())
    if not reason:
        raise UsageError("a recovery needs a reason", remedy='add --reason "..."')
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        pipeline, workflow = pipeline_of(change.state), task.after(change).rules
        phase = workflow.phase(change.state.phase or "")
        if phase is None or phase.recovers or not phase.on_failure:
            raise NotAllowedError(f"{change.state.phase} leads to no recovery", remedy="phase-gate status")
        if pipeline.recoveries >= budget(workflow):
            raise NotAllowedError(
                f"all {budget(workflow)} recoveries are used up: the next gate that fails ends the pipeline",
                remedy="see that Gate 1 is open before you signal: phase-gate advance",
            )
        entered = workflow.phase(phase.on_failure)
        assert entered is not None, "the file was checked"
        now = remember(task.after(change), workflow, entered)
        plan = Plan(failure=Failure(phase=phase.name, error=f"{reason} (begun on purpose by {by})"))
        change.record(*failure_events(pipeline, workflow, phase, plan, now, at=change.at))
    return change.state


def enter_first(task: Task, workflow: Workflow, change: Transaction) -> None:
    """Record a new cycle. Refuses one whose constitution is not there: no gate of it could ever open."""
    project, rules = task.project, rules_of(workflow)
    missing = [path for path in rules.constitution if not (project.root / path).is_file()]
    if missing:
        raise NotAllowedError(
            f"the pipeline's constitution is missing: {', '.join(missing)}",
            remedy=f"write {missing[0]}: the rules that must not change on the way; "
            "or name others as constitution: [...] in the settings",
        )
    state = change.state
    how = How.BEGIN if state.phase is None else How.NEW_CYCLE
    change.record(
        *entry_events(
            state,
            Entry(workflow.first, how),
            workflow,
            run=None,
            allow_non_interactive=project.configuration.allow_non_interactive,
            remembered=remember(task.after(change), workflow, workflow.first, begins_cycle=True),
        )
    )


def require_pipeline(task: Task) -> Pipeline:
    """Return the pipeline of the present cycle. Refuses before anything is locked or made."""
    if task.state.phase is None:
        raise NotAllowedError(f"task {task.project.task} has not begun", remedy=task.project.begin_command)
    return pipeline_of(task.state)


def override(kind: Kind, state: State, person: Person, *, at: str) -> Event:
    """Return what is recorded where a person decides against the evidence."""
    return Event(kind="overridden", data=override_record(kind, state, reason=person.reason, by=person.by, at=at))


# --- Change requests of a pipeline: make one, approve it, reject it


@again_if_moved
def make_request(task: Task, *, kind: str | None, title: str, by: str, blocking: bool) -> Request:
    """Record a change request, and return it."""
    title = " ".join(title.split())
    with _changing(task) as (change, workflow):
        if kind is None or not title:
            raise UsageError(
                "a change request needs a type and a title", remedy=f'--type {"|".join(CHANGE_TYPES)} --title "..."'
            )
        rules, pipeline = rules_of(workflow), pipeline_of(change.state)
        if kind not in rules.routes:
            known = ", ".join(rules.routes) or "none"
            raise NotAllowedError(
                f"workflow {workflow.name} does not say where {kind} requests lead", remedy=f"types: {known}"
            )
        same = [each for each in pipeline.pending if (each.type, each.title) == (kind, title)]
        if same:
            remedy = "phase-gate pipeline request list"
            raise NotAllowedError(f"{same[0].id} asks for the same, and waits", remedy=remedy)
        request = Request(
            id=f"CR-{len(pipeline.requests) + 1}",
            type=kind,
            title=title,
            target=rules.routes[kind],
            by=by,
            blocking=blocking,
        )
        change.record(made(request, at=change.at))
    return request


@again_if_moved
def reject_request(task: Task, name: str | None, person: Person, *, by: str) -> Request:
    """Record that a request is rejected, and return it."""
    with _changing(task) as (change, _):
        request = _find(change, name)
        if not person.reason.strip():
            raise UsageError("a rejection needs a reason", remedy='add --reason "..."')
        if request.fingerprint or request.blocking:
            # Only a person rejects what a phase has found, or what blocks: an agent would do it to go on.
            what = "the rejection of what blocks" if request.blocking else f"the rejection of what {request.by} found"
            person.require(change.opened.state, what)
        change.record(decided(request, "rejected", by=by, reason=person.reason))
    return _after(change, request)


@again_if_moved
def approve_request(task: Task, name: str | None, *, by: str, reason: str) -> tuple[Request, bool]:
    """Record that a request is approved, and enter the phase that it leads to, unless that is still to come.

    Return the request, and whether its phase has begun.
    """
    with _changing(task) as (change, workflow):
        request = _find(change, name)
        current, target = workflow.phase(change.state.phase or ""), workflow.phase(request.target)
        assert current is not None, "the pipeline has not ended"
        assert target is not None, "the file was checked"
        if current.recovers:
            raise NotAllowedError(
                f"{current.name} has to end first: {request.id} would lead out of it",
                remedy="phase-gate pipeline recover",
            )
        change.record(decided(request, "approved", by=by, reason=reason or "decided on purpose"))
        line = main_line(workflow)
        is_entered = line.index(target.name) <= line.index(current.name)
        if is_entered:
            _enter(task, change, workflow, target)
    return _after(change, request), is_entered


@contextmanager
def _changing(task: Task) -> Iterator[tuple[Transaction, Workflow]]:
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        state = change.state
        if state.is_done or state.is_stuck:
            raise NotAllowedError(
                f"the pipeline is {state.phase}: nothing can be changed on the way any more", remedy="phase-gate status"
            )
        yield change, task.after(change).rules


def _find(change: Transaction, name: str | None) -> Request:
    pipeline = pipeline_of(change.state)
    if name is None:
        raise UsageError("which request is decided on is missing", remedy="phase-gate pipeline request list names them")
    request = pipeline.request(name)
    if request is None:
        known = ", ".join(each.id for each in pipeline.requests) or "there is none"
        raise UsageError(f"there is no request {shorten(name)}", remedy=f"known: {known}")
    if request.status != "proposed":
        raise NotAllowedError(f"{request.id} is {request.status} already", remedy="phase-gate pipeline request list")
    return request


def _after(change: Transaction, request: Request) -> Request:
    return pipeline_of(change.state).request(request.id) or request


def _enter(task: Task, change: Transaction, workflow: Workflow, phase: Phase) -> None:
    now = remember(task.after(change), workflow, phase)
    current = workflow.phase(change.state.phase or "")
    said = entry_data(pipeline_of(change.state), workflow, current, phase, How.REQUEST, files_in(now))
    data = {"phase": phase.name, "how": How.REQUEST, "remembered": dict(now.phase), "run": None, **said}
    change.record(Event(kind="phase-entered", data=data))


# --- Write down which tree a phase of a pipeline speaks of


def write_snapshot(task: Task, output: str | None = None) -> tuple[str, Mapping[str, Any]]:
    """Write the snapshot of the present phase; return where, and what.

    :param output: where, if the workflow's path is a pattern.
    """
    pipeline = require_pipeline(task)
    project, state, rules = task.project, task.state, rules_of(task.rules)
    wanted = [each for each in rules.artifacts.values() if each.schema == SNAPSHOT]
    if not wanted:
        raise NotAllowedError(
            f"workflow {state.workflow} has no artifact with `schema: {SNAPSHOT}`", remedy="there is nothing to write"
        )
    path = output or wanted[0].path
    if any(character in path for character in "*?["):
        raise UsageError(f"{path} is a pattern, no file", remedy="name the file: --output FILE")
    if not compile_globs([wanted[0].path])(path):
        raise UsageError(f"{path} is not where {wanted[0].name} is looked for", remedy=f"use {wanted[0].path}")
    files = project.take_tree(new_data=False).files
    document = {
        "tree": tree_of(files, rules),
        "files": len(files),
        "commit": head_of(project.root),
        "task": state.task,
        "cycle": state.cycle,
        "phase": state.phase,
        "attempt": pipeline.attempts.get(state.phase or "", 0),
        "at": now(),
    }
    target = place_below(project.root, path, setting=f"artifact {wanted[0].name}")
    make_folder(REAL, target.parent)
    write_atomically(REAL, target, (json.dumps(document, indent=2) + "\n").encode())
    return path, document


# --- votes of reviewers in a consensus phase: what is voted on, and how the votes stand


#: Characters of a version that people type.
_VERSION = 12


class VoteStanding(Value):
    """How the votes of a phase stand."""

    task: str
    phase: str
    #: Digests of what is voted on, by artifact.
    on: Mapping[str, str]
    #: Where a vote may lie.
    file: str
    tally: Tally
    threshold: float
    required_voters: int

    @property
    def version(self) -> str:
        return version_of(self.on)

    @property
    def is_reached(self) -> bool:
        score = self.tally.score
        return score is not None and score >= self.threshold and not self.misses_voters

    @property
    def misses_voters(self) -> bool:
        return len(self.tally.counted) < self.required_voters


def show_votes(task: Task) -> VoteStanding:
    """Return how the votes stand."""
    state, workflow = task.state, task.rules
    phase, consensus = _asked(state, workflow)
    on = _versions(task, workflow, pipeline_of(state), consensus)
    return _standing(state, workflow, phase, consensus, on)


@again_if_moved
def cast_votes(task: Task, *ballots: Ballot, reports: tuple[str, ...] = ()) -> VoteStanding:
    """Record votes, all of them or none; return how the votes stand with them.

    :param reports: the files with the votes, from the root: they are no part of what is voted on.
    """
    with task.transaction() as change:
        state = change.state
        task.store.refuse_while_running(change.opened.state)
        pipeline = pipeline_of(state)
        workflow = task.after(change).rules
        phase, consensus = _asked(state, workflow)
        on = _versions(task, workflow, pipeline, consensus)
        for ballot in ballots:
            _refuse_other(ballot, phase, on)
            word = Word(by=ballot.by, answer=ballot.vote, confidence=ballot.confidence, about=on, reason=ballot.reason)
            change.record(Event(kind="reviewed", data={"word": to_json(word), "reports": list(reports)}))
    return _standing(change.state, workflow, phase, consensus, on)


def _asked(state: State, workflow: Workflow) -> tuple[Phase, Consensus]:
    """Return the phase and what it asks to agree on. Raises NotAllowedError where the phase asks for no votes."""
    phase = workflow.phase(state.phase or "")
    consensus = None if phase is None else requires_of(phase).consensus
    if phase is None or consensus is None or state.exited:
        asking = [each.name for each in workflow.phases if requires_of(each).consensus is not None]
        raise NotAllowedError(
            f"{state.phase} asks for no vote{' any more' if consensus is not None else ''}",
            remedy=f"vote in one of: {', '.join(asking)}; phase-gate status says what is next",
        )
    return phase, consensus


def _versions(task: Task, workflow: Workflow, pipeline: Pipeline, consensus: Consensus) -> dict[str, str]:
    """Return the digests of what is voted on. Raises NotAllowedError for what does not count, whatever is voted."""
    look = Look(task, workflow, pipeline)
    for name in consensus.on:
        path = look.rules.artifacts[name].path
        if fault := look.fault(name):
            problem = f"there is nothing to vote on: {name} ({path}) {fault}"
            raise NotAllowedError(problem, remedy=f"write it first: {path}")
    return {name: look.artifact(name).digest for name in consensus.on}


def version_of(on: Mapping[str, str]) -> str:
    """Return what tells this version from others, short enough to be typed."""
    return fingerprint(*(part for pair in sorted(on.items()) for part in pair))[:_VERSION]


def _refuse_other(ballot: Ballot, phase: Phase, on: dict[str, str]) -> None:
    if ballot.phase and ballot.phase != phase.name:
        raise NotAllowedError(
            f"the vote speaks of {ballot.phase}, and the task is in {phase.name}", remedy="vote on what is there now"
        )
    if ballot.version and ballot.version != version_of(on):
        raise NotAllowedError(
            f"the vote speaks of version {ballot.version}, and this is {version_of(on)}",
            remedy="read what is there now, then vote again",
        )


def _standing(state: State, workflow: Workflow, phase: Phase, consensus: Consensus, on: dict[str, str]) -> VoteStanding:
    pipeline = pipeline_of(state)
    return VoteStanding(
        task=state.task,
        phase=phase.name,
        on=on,
        file=vote_file(workflow, consensus),
        tally=count_votes(pipeline.words, on),
        threshold=settle(consensus.threshold, workflow),
        required_voters=int(settle(consensus.voters, workflow)),
    )
