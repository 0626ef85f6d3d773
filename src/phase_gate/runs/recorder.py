"""One run of a task: its start and its end in the ledger.

Uses only files and the clock. `gate` evaluates a run; the result of a session arrives as a document.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

from phase_gate.bound import os, time
from phase_gate.codec import to_json
from phase_gate.errors import StateError, StorageError
from phase_gate.gate.inventory import Inventory
from phase_gate.gate.measured import NOTHING_REMEMBERED, Finding
from phase_gate.gate.measuring import GUARD, OFF
from phase_gate.gate.order import Entry, decide_entry, entry_events
from phase_gate.gate.record import Criteria, Document, JudgedRun
from phase_gate.gate.state import Event, State
from phase_gate.project import Project
from phase_gate.runs.ending import make_record, write_end
from phase_gate.runs.hello import (
    PYTHON_VERSION,
    Hello,
    choose_reports,
    refuse_outside_verify,
    take_surroundings,
    written_below,
)
from phase_gate.runs.meaning import AtStart, read_frozen
from phase_gate.storage.fingerprint import Tree
from phase_gate.storage.lock import KernelLock, again_if_moved
from phase_gate.storage.opening import Opened
from phase_gate.storage.root import DEFAULT_TASK, task_names
from phase_gate.storage.store import TaskStore, Transaction
from phase_gate.workflow.model import Phase, Workflow, name_rules

if TYPE_CHECKING:
    from phase_gate.evidence.context import RunCoverage
    from phase_gate.task import Task

#: Set for the processes of tests: a pytest for the same task detects that it runs inside this run.
RUN_VARIABLE = "PHASE_GATE_RUN"


#: Takes the inventory and the tree at the end of a run, its document, and a function that detects its output.
Compare = Callable[[Inventory, Tree, Document, Callable[[str], bool]], tuple[Finding, ...]]


class Recorder:
    """A run from its start record to its end record."""

    #: Known once the order was checked.
    phase: Phase

    def __init__(
        self,
        project: Project,
        workflow: Workflow,
        store: TaskStore,
        hello: Hello,
        *,
        start_facts: Mapping[str, Any] | None = None,
        refuse: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare the run that a session requests.

        :param start_facts: data for the start record that replace those of this process, for shards that ran elsewhere.
        :param refuse: raises an error if the run must not start, while its start record is being written.
        """
        self.project, self.workflow, self.store, self.hello = project, workflow, store, hello
        self._start_facts, self._refuse = start_facts or {}, refuse
        self.id = hello.run or os.urandom(8).hex()
        self.report_files = choose_reports(hello.reports, hello.start, project)
        self.written = written_below(project.root, hello.writes, self.report_files)
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self.tree: Tree | None = None
        #: The files after the run; None before it has ended.
        self.tree_left: Tree | None = None
        #: Contents of frozen files at the start of the run; None if there were none, or if this run freezes again.
        self.at_start: AtStart | None = None
        #: Recorded before the project's code can tamper with anything.
        self.surroundings = take_surroundings(project.root)
        #: Returns the differences from tests that other tasks of the same root have frozen.
        self.find_altered_elsewhere: Compare = lambda *_: ()
        #: The task as known to this run: opened before the project's code runs, then updated by the run's own start.
        self.opened = Opened()
        self._entry: Entry | None = None
        #: The meaning of the tests is frozen by this run's phase, or by this run itself.
        self.freezes = True
        #: The criteria that the user gave this cycle on the command line: a number, or a path from the root.
        self.criteria_given = ""
        self.criteria = Criteria()
        self.remembered = NOTHING_REMEMBERED
        self._exit_memory: Mapping[str, str] | None = None
        self._hold: KernelLock | None = None
        #: Number of warnings and notes before the start.
        self._counts_at_start = (0, 0)
        #: The task before and after the run's start; None for a nested run.
        self._states: tuple[State, State] | None = None
        self._outer: str | None = None
        self._began_at = 0.0

    @classmethod
    def find(cls, project: Project, hello: Hello) -> Self:
        """Return the run with the rules that the session, the project or the task names."""
        store = project.store(" ".join(("pytest", *hello.arguments)))
        if hello.verifies:
            # Problems of the task are reported when its order is checked: the tests run anyway.
            with contextlib.suppress(StateError):
                opened = store.read()
                from phase_gate.task import Task

                run = cls(project, Task(project, store, opened.state).rules, store, hello)
                run.opened = opened
                return run
        named = "verification" if hello.verifies else hello.workflow
        workflow = project.workflow(named, extra_guards=hello.guards, extra_workflows=hello.workflows)
        return cls(project, workflow, store, hello)

    @property
    def state(self) -> State:
        return self.opened.state

    def task(self, state: State) -> Task:
        """Return the run's task with that state."""
        from phase_gate.task import Task  # here, not above: most runs do not need it

        return Task(self.project, self.store, state)

    @functools.cached_property
    def rules(self) -> Mapping[str, Any]:
        """The workflow as JSON."""
        return to_json(self.workflow)

    @property
    def reports(self) -> tuple[str, ...]:
        """The reports of this run and of earlier ones."""
        return (*self.written, *self.state.reports)

    def check_order(self) -> None:
        """Check that the phase may run now, before anything is written."""
        if not self.opened.exists:
            self.opened = self.store.read()
        refuse_outside_verify(self.state)
        if self.hello.exit_signal is not None:
            self.store.refuse_while_driven(self.state)
        self._keep_rules(self.state)
        entry = decide_entry(self.state, self.workflow, self.hello.phase)
        if entry.how == "rewind":
            self.task(self.state).refuse_agent()
        self._entry, self.phase = entry, entry.phase
        self.freezes = entry.phase.scope == "targets" or entry.begins_cycle or self.state.freeze.current is None
        self.criteria_given = "" if entry.begins_cycle else self.state.criteria_file

    def _keep_rules(self, state: State) -> None:
        """Evaluate a pipeline by the rules that it began with, even if files or arguments have changed since."""
        if not state.is_pipeline or state.is_done:
            return
        rules = self.task(state).rules
        if name_rules(to_json(rules)) != name_rules(to_json(self.workflow)):
            self.warnings.append("the rules have changed: this pipeline continues with those it began with")
        self.workflow = rules

    @property
    def confirms(self) -> bool:
        """Whether it is run again while green; a verify command runs only as often as its task requires."""
        typed = self.hello.confirms
        return not self.hello.verifies and (self.project.configuration.run.confirm if typed is None else typed)

    def take_criteria(self) -> None:
        """Read the criteria that were typed, now or earlier in this cycle; by default those of the project's file."""
        typed = self.hello.criteria
        if typed is None and not self.criteria_given and self.project.configuration.run.criteria is None:
            return
        from phase_gate.runs.criteria_coverage import choose_criteria

        self.criteria = choose_criteria(self, typed)

    def begin(self) -> None:
        """Write the start record and acquire the run's own lock."""
        self._counts_at_start = (len(self.warnings), len(self.notes))
        self._begin()

    @again_if_moved
    def _begin(self) -> None:
        # If another machine was first, the run begins a second time, and collects its warnings and notes again.
        del self.warnings[self._counts_at_start[0] :], self.notes[self._counts_at_start[1] :]
        entry = self._entry
        assert entry is not None, "the order was checked"
        self.tree = self.project.take_tree(beside=self.state.beside, reports=self.reports)
        self._remember(self.state, entry)
        frozen = None if entry.phase.scope == "targets" else self.store.objects.load_frozen(self.state.freeze.current)
        if frozen is not None:
            self.at_start = read_frozen(self.project, frozen, self.tree)
        self._look_around(self.state, entry.phase)
        with self.store.transaction(known=self.opened) as change:
            self._report_lost(change)
            if change.opened.head != self.opened.head:
                entry = self._decide_again(change.state, entry)
            self.phase = entry.phase
            outer = self.project.environment.get(RUN_VARIABLE, "")
            is_nested = change.state.open_run(outer) is not None
            before = change.state
            if not is_nested:
                self._note_entry(change.state, entry)
                change.record(
                    *entry_events(
                        change.state,
                        entry,
                        self.workflow,
                        run=self.id,
                        allow_non_interactive=self.project.configuration.overrides.allow_non_interactive,
                        remembered=self.remembered,
                    )
                )
            self._refuse()
            change.record(Event(kind="run-started", data=self._start_data(entry, is_nested=is_nested)))
            self.close()  # for a second start after another machine was first
            self._began_at, self._hold = time.time(), self.store.hold(self.id)
        self.opened = change.opened
        self._states = None if is_nested else (before, self.state)
        self._outer = os.environ.get(RUN_VARIABLE)
        os.environ[RUN_VARIABLE] = self.id

    def _decide_again(self, state: State, expected: Entry) -> Entry:
        """Return how the run begins after another process advanced the task since the order was checked."""
        entry = decide_entry(state, self.workflow, self.hello.phase)
        if entry != expected:
            self._remember(state, entry)
        return entry

    def _look_around(self, state: State, phase: Phase) -> None:
        """Find tests frozen by other tasks of this state folder, if this one has not been through RED itself."""
        assert self.tree is not None, "it was taken"
        if phase.tests != "passing" or "tests-unchanged" not in phase.gate_1.guards or state.freeze.red_exited:
            return
        others = {DEFAULT_TASK, *task_names(self.project.state_folder)} - {self.project.task}
        if others:
            from phase_gate.runs.neighbours import find_neighbours

            self.find_altered_elsewhere = find_neighbours(self.project, self.tree, sorted(others))

    def _remember(self, state: State, entry: Entry) -> None:
        if entry.how == "stay":
            return
        from phase_gate.evidence.gathering import remember

        self.remembered = remember(
            self.task(state),
            self.workflow,
            entry.phase,
            begins_cycle=entry.begins_cycle,
            known=state.memory.exit if entry.how == "next" else {},
        )
        self.warnings += self.remembered.warnings

    def remember_next(self, state: State) -> Mapping[str, str]:
        """Return the references for the next phase: taken once, even if the run is evaluated twice."""
        if self._exit_memory is None:
            from phase_gate.evidence.gathering import remember_next

            task = self.task(state)
            if self.tree_left is not None:
                task.tree = self.tree_left
            self._exit_memory = remember_next(task, self.workflow, self.phase)
        return self._exit_memory

    def _report_lost(self, change: Transaction) -> None:
        for run in self.store.close_lost(change):
            began = f"run {run.id[:8]}, which began at {run.at},"
            self.warnings.append(f"{began} was lost: it never ended, so the streak starts over")

    def _note_entry(self, state: State, entry: Entry) -> None:
        if GUARD in entry.phase.gate_1.guards and self.project.configuration.proof.mode == "off":
            self.notes.append(OFF)
        if entry.how == "rewind":
            self.notes.append(f"a complete run goes back to {entry.phase.name} from {state.phase}")
        unvisited = [phase.name for phase in self.workflow.phases if phase.name not in state.visited]
        if entry.how == "new-cycle" and unvisited:
            self.notes.append(f"cycle {state.cycle + 1} begins; the last one did not visit {', '.join(unvisited)}")

    def _start_data(self, entry: Entry, *, is_nested: bool) -> dict[str, Any]:
        assert self.tree is not None
        return {
            "run": self.id,
            "phase": entry.phase.name,
            "tree": self.tree.digest,
            "nested": is_nested,
            "rewinds": entry.how == "rewind",
            "limit": self.store.run_limit,
            "rules": self.store.objects.keep(self.rules),
            "criteria_given": self.criteria_given,
            "arguments": list(self.hello.arguments),
            "reports": list(self.written),
            "pid": os.getpid(),
            "python": PYTHON_VERSION,
            "pytest": self.hello.pytest,
            "optimize": sys.flags.optimize,
            **self._start_facts,
        }

    def state_before(self, state: State) -> State | None:
        """Return the task before the run began; None if another event happened since."""
        return self._states[0] if self._states is not None and state is self._states[1] else None

    def refresh(self) -> State:
        """Return the task's state after the tests: as our start left it, if no process has written since."""
        if not self.store.is_as_opened(self.opened):
            self.opened = self.store.read()
        self.refuse_lost(self.opened)
        return self.state

    def refuse_lost(self, opened: Opened) -> None:
        """Refuse to end a run that is no longer open in the ledger."""
        is_shared, limit = self.store.shared is not None, self.store.run_limit
        is_over = is_shared and time.time() - self._began_at > limit
        if opened.state.open_run(self.id) is not None and not is_over:
            return
        if is_shared and opened.exists:
            raise StorageError(
                f"this run took longer than its limit of {limit / 3600:g} h, so that other machines take it for lost",
                remedy="run again; if the suite needs more time, set `run_limit` in the settings",
            )
        folder = self.store.folder
        if not opened.exists:
            raise StorageError(
                f"the state folder {folder.name} was removed while the tests ran",
                remedy=f"find the test or the command that removes {folder}, then run again",
            )
        raise StorageError(
            f"the ledger in {folder.name} does not have this run any more: it was replaced while the tests ran",
            remedy=f"find the test or the command that writes to {folder}, then run again",
        )

    def end(
        self,
        document: Document,
        *,
        is_output: Callable[[str], bool],
        show: Callable[[str], None] = lambda text: None,
        progress: Callable[[str], None] = lambda text: None,
        coverage: Callable[[], RunCoverage] | None = None,
    ) -> JudgedRun:
        """Evaluate the run with the document of its session, and write its end record.

        :param is_output: whether the run itself has written a file.
        :param show: shows a line to a user who waits for a command; `progress`: for a proof.
        """
        record = make_record(self, document, is_output=is_output, show=show, coverage=coverage)
        return write_end(self, record, progress)

    def further_runs(self, streak: int) -> int:
        """Return how many green runs will automatically follow this one."""
        index, total = self.hello.confirming
        if total:
            return total - index
        needed = self.workflow.parameters.get("required_green_runs")
        if not self.confirms or not isinstance(needed, int):
            return 0
        return max(0, needed - streak)

    def close(self, *, has_ended: bool = False) -> None:
        """Release the run's lock and variable, whatever happened."""
        if self._hold is not None:
            self._hold.release(has_ended=has_ended or self.store.shared is None)
            self._hold = None
        if os.environ.get(RUN_VARIABLE) == self.id:
            if self._outer is None:
                del os.environ[RUN_VARIABLE]
            else:
                os.environ[RUN_VARIABLE] = self._outer
