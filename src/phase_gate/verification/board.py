"""What the steps of the verification gate share: which task is meant, its files, its verdict, and what is shown."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import read_input
from phase_gate.errors import NotAllowedError, TaskNameError, UsageError
from phase_gate.gate.evaluation import Evaluation, evaluation_to_json
from phase_gate.gate.rejudging import judgement_events
from phase_gate.gate.signals import ABSENT, Reading
from phase_gate.gate.state import Event, State
from phase_gate.project import Project, rules_of
from phase_gate.storage.lock import is_free
from phase_gate.storage.own_folders import refuse_links
from phase_gate.storage.store import TaskStore, Transaction
from phase_gate.storage.tree.fingerprint import Tree
from phase_gate.values import replace
from phase_gate.verification.changes import look_at
from phase_gate.verification.diff import TextChange
from phase_gate.verification.judging import Look, judge
from phase_gate.verification.model import (
    FINISHED,
    NOT_PASSED,
    PHASE,
    Check,
    FailureType,
    Status,
    Verification,
    find_verification,
)
from phase_gate.verification.overview import load_overview
from phase_gate.verification.result import status_to_json
from phase_gate.verification.rules import escalate
from phase_gate.verification.spec import TaskSpec, task_slug
from phase_gate.verification.stats import Overview
from phase_gate.verification.texts import read_changes
from phase_gate.visible import show_rows
from phase_gate.workflow.model import Phase, Workflow

#: Characters of a text that the ledger's lines have; the whole is a stored object.
LONGEST = 2000


class Board:
    """The project with all of its tasks."""

    def __init__(self, call: Call) -> None:
        self.call = call
        named = {name: value for name, value in call.environment.items() if name != "PHASE_GATE_TASK"}
        # A task may be named as people name it, which is no folder's name.
        self.project = Project.find(call.start, environment=named, folder=call.arguments.dir)
        refuse_links(self.project.own_folders)
        if self.project.configuration.verification.state_file is not None:
            from phase_gate.verification.overview import state_file

            state_file(self.project)  # refused before a step, not after it
        self._overview: Overview | None = None

    @property
    def overview(self) -> Overview:
        if self._overview is None:
            self._overview = load_overview(
                self.project.state_folder,
                lambda task: self.call.store(replace(self.project, task=task)),
                key=self.project.key,
            )
        return self._overview

    @property
    def damaged(self) -> tuple[str, ...]:
        """The tasks that can't be trusted."""
        return tuple(each.task for each in self.overview.untrusted)

    def forget(self) -> None:
        """Something was written: look anew when somebody asks."""
        self._overview = None

    def named(self) -> str | None:
        """Return the task that the call names, by its folder, its name, or the beginning of that."""
        given = self.call.arguments.task
        if given is None:
            given = self.call.environment.get("PHASE_GATE_TASK")
        return None if given is None else self.find(given)

    def find(self, given: str) -> str:
        tasks = [row.task for row in self.overview.rows]
        slug = task_slug(given)
        if slug in tasks or given in tasks:
            return slug if slug in tasks else given
        begin = [task for task in tasks if task.startswith(f"{slug}-")]
        if len(begin) == 1:
            return begin[0]
        self._tell_damage(task for task in self.damaged if task in (slug, given) or task.startswith(f"{slug}-"))
        shown = repr(given if len(given) <= 30 else f"{given[:27]}...")
        problem = f"{shown} is no task of the verification gate" if not begin else f"{shown} is not one task"
        known = ", ".join((begin or tasks)[:10])
        raise TaskNameError(problem, remedy=f"one of: {known}" if known else "phase-gate verify start --task-file FILE")

    def waiting(self, statuses: Collection[Status], what: str) -> str:
        """Return the one task in one of these statuses, where the call names none."""
        found = [row.task for row in self.overview.rows if row.status in statuses]
        if len(found) == 1:
            return found[0]
        unfinished = [row.task for row in self.overview.rows if row.status not in FINISHED]
        if not found and len(unfinished) == 1:
            return unfinished[0]  # it is meant, and says itself why it is not its turn
        if not found:
            self._tell_damage(self.damaged)
            remedy = "phase-gate verify status" if self.overview.rows else "phase-gate verify start --task-file FILE"
            raise NotAllowedError(f"no task waits for {what}", remedy=remedy)
        raise UsageError(
            f"{len(found)} tasks wait for {what}", remedy=f"add --task, with one of: {', '.join(found[:10])}"
        )

    def _tell_damage(self, tasks: Iterable[str]) -> None:
        """Raise what is wrong with the first of these, which can't be read: it may be the one that is meant."""
        for task in tasks:
            self.call.store(replace(self.project, task=task)).look()

    def desk(self, task: str) -> Desk:
        return Desk(self, task)


class Desk:
    """One task of the verification gate."""

    def __init__(self, board: Board, task: str) -> None:
        self.board, self.call, self.task = board, board.call, task
        self.project = replace(board.project, task=task)
        self.store: TaskStore = self.call.store(self.project)

    # --- looking -------------------------------------------------------------------------------------------------

    def state(self) -> State:
        return self.store.look().state

    def verification(self) -> Verification:
        return require_verification(self.state(), self.task)

    def tree(self, spec: TaskSpec) -> Tree:
        """Return the files now: the sources, and all that the task lists, whatever they are."""
        return self.project.take_task_tree(spec)

    def look(self, state: State, verification: Verification, tree: Tree) -> Look:
        scene = self.project.scene(frozenset(), self.store, state, phase=PHASE)
        before = self.store.objects.load(verification.memory)
        return look_at(scene, verification, tree, before, others=lambda: self.board.overview)

    def output(self, verification: Verification) -> str:
        """Return what the verify command printed, as far as it is kept."""
        check = verification.check
        return "" if check is None or not check.output else str(self.store.objects.load(check.output)["output"])

    def changes(self, verification: Verification, paths: Iterable[str]) -> list[TextChange]:
        """Return what these files were when the task was taken, and what they are."""
        return read_changes(self.project.root, self.store.objects.load(verification.memory), paths)

    def rules(self, change: Transaction) -> tuple[Workflow, Phase]:
        workflow = rules_of(self.project, self.store, change.opened)
        phase = workflow.phase(PHASE)
        assert phase is not None, "a task of the gate has the gate's phase"
        return workflow, phase

    def refuse_halted(self, verification: Verification) -> None:
        wave = verification.spec.wave
        why = self.board.overview.halted(wave)
        if why:
            raise NotAllowedError(
                why, remedy=f'look into it, then: phase-gate verify resume --wave {wave} --reason "..." --by NAME'
            )

    # --- changing ------------------------------------------------------------------------------------------------

    def close_lost(self, change: Transaction) -> None:
        """Record that a verify run will never end, if that is so. Refuses while it goes on."""
        verification = require_verification(change.state, self.task)
        check = verification.check
        if check is None or check.how != "running":
            return
        if not is_free(self.store.run_lock_file(check.id), self.store.files):
            raise NotAllowedError(
                f"the verify command of {self.task} runs since {check.at}", remedy="wait for it to end, then try again"
            )
        change.record(lost_check(check))

    def judge(self, change: Transaction, look: Look, reading: Reading = ABSENT) -> Evaluation:
        """Judge the task as it stands now, and record the verdict."""
        workflow, phase = self.rules(change)
        evaluation = judge(change.state, workflow, phase, reading, look, at=change.at, root=str(self.project.root))
        change.record(*judgement_events(evaluation, phase, at=change.at))
        return evaluation

    def fail(
        self,
        change: Transaction,
        kind: FailureType,
        *,
        step: int,
        error: str,
        tree: Tree,
        lines: tuple[str, ...] = (),
        counts: bool = True,
    ) -> None:
        """Record that the attempt failed, with the files as they are."""
        failure = {
            "type": str(kind),
            "step": step,
            "error": error[:LONGEST],
            "lines": [line[:300] for line in lines],
            "tree": tree.digest,
            "counts": counts,
        }
        files = self.store.keep("files", dict(tree.files))
        change.record(Event(kind="attempt-failed", data={"failure": failure, "files": files}))

    # --- answering -----------------------------------------------------------------------------------------------

    def answer(
        self, evaluation: Evaluation, *, code: int | None = None, more: Mapping[str, Any] | None = None
    ) -> Answer:
        """Return a step's answer, after writing what people read between two steps."""
        self.board.forget()
        write_state(self.board)
        verification = self.verification()
        document = self.document(verification)
        if code is None:
            code = exit_codes.GATE_CLOSED if verification.status in NOT_PASSED else exit_codes.HOLDS
        if code == exit_codes.GATE_CLOSED and document["escalation"]["level"] >= 2:
            code = exit_codes.CIRCUIT_OPEN  # whoever goes on by itself stops here
        if verification.status is Status.BLOCKED:
            code = exit_codes.CIRCUIT_OPEN
        return Answer(
            text=show_rows(self.rows(verification, evaluation)),
            document={**document, **(more or {}), "evaluation": evaluation_to_json(evaluation)},
            exit_code=code,
        )

    def document(self, verification: Verification) -> dict[str, Any]:
        halted = self.board.overview.halted(verification.spec.wave)
        return status_to_json(self.task, verification, escalate(verification, halted))

    def rows(self, verification: Verification, evaluation: Evaluation | None) -> list[str]:
        from phase_gate.verification.show import step_rows

        halted = self.board.overview.halted(verification.spec.wave)
        return step_rows(self.task, verification, evaluation, escalate(verification, halted))


def require_verification(state: State, task: str) -> Verification:
    verification = find_verification(state)
    if verification is None:
        raise NotAllowedError(
            f"{task} is no task of the verification gate", remedy="phase-gate verify status lists them"
        )
    return verification


def lost_check(check: Check) -> Event:
    """Return the end of a verify run that began and never ended."""
    ended = replace(check, how="interrupted", why="it began and never ended: it was killed, or the machine stopped")
    return check_event(ended)


def check_event(check: Check) -> Event:
    from phase_gate.verification.model import check_to_json

    return Event(kind="verify-ran", data={"check": check_to_json(check)})


def write_state(board: Board) -> None:
    """Write STATE.md from the state. Nobody reads it back."""
    from phase_gate.verification.overview import write_state_file

    write_state_file(board.project, board.overview, lambda task: find_verification(board.desk(task).state()))


def read_paper(call: Call, given: str) -> tuple[bytes, str, str | None]:
    """Return a result or verdict as it was handed in: its bytes, its name, and its path from the root if it has one."""
    if given == "-":
        return read_input(), "standard input", None
    path = call.start / given
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{given}: {error.strerror or error}", remedy="name a file that can be read, or - for input"
        ) from None
    return data, Path(given).name, given


def paper_path(project: Project, call: Call, given: str | None) -> str | None:
    """Return a handed-in file's path from the root; None for one that lies elsewhere."""
    if given is None:
        return None
    path = os.path.relpath(os.path.realpath(call.start / given), os.path.realpath(project.root)).replace(os.sep, "/")
    return None if path.startswith("../") else path
