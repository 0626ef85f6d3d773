"""Open a task: its state, its rules, its files and its status.

Begin reading here to learn what any command knows of a task. A task is opened once and handed down; what takes time
(rules, files) is read when it is first asked for, and once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from phase_gate.codec import from_json
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError, TamperedError
from phase_gate.gate.state import DRIVE, Event, State
from phase_gate.project import Project
from phase_gate.storage.fingerprint import Tree, changed_since_last_run, list_matcher
from phase_gate.storage.ledger import REPAIR
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.opening import Opened
from phase_gate.storage.root import DEFAULT_TASK, task_names
from phase_gate.storage.store import TaskStore, Transaction, now
from phase_gate.values import replace
from phase_gate.workflow.names import ANSWER_VARIABLE, call_command, is_answer_name, step_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.gate.freshness import CurrentStatus
    from phase_gate.workflow.model import Workflow


class Task:
    """One task as it was when it was opened."""

    def __init__(
        self,
        project: Project,
        store: TaskStore,
        state: State,
        *,
        opened: Opened | None = None,
        known: dict[str, Workflow] | None = None,
    ) -> None:
        """Take what was opened.

        :param opened: the files that the state was read from, for a change that comes after it.
        :param known: rules that were read already, by the names of their objects.
        """
        self.project, self.store, self.state = project, store, state
        self._opened, self._known = opened, {} if known is None else known

    @classmethod
    def open(cls, project: Project, *, command: str = "") -> Task:
        """Return the task. Takes no lock and writes nothing.

        :param command: the name to show while others wait for our lock.
        """
        store = project.store(command)
        opened = store.read()
        return cls(project, store, opened.state, opened=opened)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Lock the task to change it. It is opened again only if it was written since."""
        return self.store.transaction(known=self._opened)

    @again_if_moved
    def record(self, *events: Event) -> Task:
        """Write events that are valid in any state; return the task after them."""
        with self.transaction() as change:
            change.record(*events)
        return self.after(change)

    def after(self, change: Transaction) -> Task:
        """Return the task as a transaction has it: under the lock, or once it is written."""
        return Task(self.project, self.store, change.state, opened=change.opened, known=self._known)

    def leave_out(self, paths: tuple[str, ...]) -> Task:
        """Return the task without these files in its tree: what was handed to a command, from the root."""
        state = replace(self.state, reports=(*paths, *self.state.reports))
        return Task(self.project, self.store, state, opened=self._opened, known=self._known)

    def require_begun(self, *, verification: bool = False) -> None:
        """Refuse to change a task that does not exist yet, before anything is locked or made.

        :param verification: whether a verify task will do; its steps are those of `verify`.
        """
        name = self.project.task
        if self.state.phase is None:
            raise NotAllowedError(f"task {name} has no run yet", remedy=self.begin_command)
        if self.state.is_verify_task and not verification:
            raise NotAllowedError(
                f"{name} is a verify task: executor, verify command and reviewer decide about it",
                remedy=f"phase-gate verify status --task {name}",
            )

    @property
    def begin_command(self) -> str:
        """What to type where nothing is recorded for the task: a list of verify tasks comes first."""
        project = self.project
        has_list = project.task == DEFAULT_TASK and any(map(self._is_left, task_names(project.state_folder)))
        return "phase-gate verify status" if has_list else project.begin_command

    def _is_left(self, name: str) -> bool:
        """Return whether a task here is a verify task that has not been approved."""
        try:
            state = replace(self.project, task=name).store("").read().state
        except StateError:
            return False  # its own commands report that
        return state.is_verify_task and not state.exited

    @property
    def answer_file(self) -> Path | None:
        """The file that a drive gave its agent for the answer; None for all other users."""
        path = Path(self.project.environment.get(ANSWER_VARIABLE, ""))
        is_agents = path.name.startswith("signal-") and is_answer_name(path.name) and self.store.is_driven()
        return path if is_agents else None

    def refuse_agent(self) -> None:
        """Refuse to go back to an earlier phase for an agent that a drive started."""
        if self.answer_file is not None:
            remedy = f"ask a person for it, then stop: {call_command('test-wrong', self.project.task)}"
            raise NotAllowedError("an agent of a drive can't go back to an earlier phase", remedy=remedy)

    @functools.cached_property
    def lost_runs(self) -> tuple[str, ...]:
        """The open runs that will never end."""
        return self.store.lost_runs(self.state)

    @functools.cached_property
    def rules(self) -> Workflow:
        """The rules that the task began with and keeps, or that its last run was judged by; else the project's."""
        if self.state.is_pipeline:
            return self._read_rules(self.state.work.rules, "workflow")
        if self.state.rules is None:
            return self.project.workflow()
        return self._read_rules(self.state.rules)

    def _read_rules(self, name: str, key: str | None = None) -> Workflow:
        if name not in self._known:
            from phase_gate.workflow.model import Workflow

            document = self.store.objects.load(name)
            try:
                self._known[name] = from_json(Workflow, document if key is None else document[key])
            except (KeyError, TypeError, ValueError) as error:
                raise TamperedError(f"objects/{name[:12]} contains no rules: {error}", remedy=REPAIR) from error
        return self._known[name]

    @functools.cached_property
    def tree(self) -> Tree:
        """The current files that the task's verdict depends on."""
        if self.state.is_verify_task:
            return take_listed_tree(self.project, self.state.work.spec.files)
        return self.project.take_tree(beside=self.state.beside, reports=self.state.reports)

    @functools.cached_property
    def changed_files(self) -> tuple[str, ...]:
        """The files that are not what the last run left; none where that is not known."""
        left = self.state.last_tree
        if left is None or left == self.tree.digest:
            return ()
        return changed_since_last_run(self.store.folder, left, {**self.tree.files, **self.tree.beside})

    def current_status(self, *, gate_1_only: bool = False) -> CurrentStatus:
        """Return the current status of the task, for every command that shows it."""
        from phase_gate.gate.freshness import assess  # here, not above: a run does not ask

        return assess(
            self.state,
            # Where no phase has begun there is nothing that files could have changed since.
            tree="" if self.state.phase is None else self.tree.digest,
            at=now(),
            changed=() if self.state.phase is None else self.changed_files,
            lost=self.lost_runs,
            gate_1_only=gate_1_only,
            begin="" if self.state.phase is not None else self.begin_command,
            next_step=self._find_next_step,
        )

    def outdated(self) -> CurrentStatus | None:
        """Return why the last verdict is not about the current phase and files; None if it is."""
        from phase_gate.gate.freshness import outdated

        return outdated(
            self.state,
            tree=self.tree.digest,
            changed=self.changed_files,
            lost=self.lost_runs,
            next_step=self._find_next_step,
        )

    def _find_next_step(self) -> tuple[str, bool]:
        return self.next_step, self.takes_run

    @property
    def next_step(self) -> str:
        """What to type to have the present phase judged again."""
        # Rules that are kept need not be those that `auto` would look into.
        phase = str(self.state.phase) if self.state.is_pipeline else "auto"
        return step_command(phase, self.state.task, takes_run=self.takes_run)

    @functools.cached_property
    def takes_run(self) -> bool:
        """Whether the present phase is judged by a run of the tests."""
        try:
            phase = self.rules.phase(self.state.phase or "")
        except PhaseGateError:
            phase = None  # only a hint: the command that evaluates it reports the problem
        return not self.state.parts.keys() - {DRIVE} if phase is None else phase.tests != "none"


def take_listed_tree(project: Project, files: Iterable[str]) -> Tree:
    """Return the fingerprint of the sources and of these files: paths, folders, or globs from the root.

    Other untracked files do not count, because they are reports and verdicts. The task lists its own files.
    """
    files = tuple(files)
    plain = [each for each in files if not set(each) & set("*?") and not (project.root / each).is_dir()]
    if len(plain) < len(files):
        plain += project.list_files(list_matcher(files))
    return project.take_tree(always=tuple(plain), new_data=False)
