"""Make a proof: lay out the sandboxes, run the targets in them, and judge what they show.

Control: the project as it was when RED exited; every target has to fail. Treatment: the frozen tests with the present
sources; every target has to pass. Then the targets that expect something else, in `unfailing`, and the negative
control, in `negative`.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from phase_gate.gate.inventory import split_id
from phase_gate.proof.experiment import (
    TWO_OUTCOMES,
    excuse_built,
    first_failure,
    has_failed_by_check,
    judge_target,
    outcome_of,
)
from phase_gate.proof.frozen_test import read_target
from phase_gate.proof.model import FunctionProof, Proof, TargetProof
from phase_gate.proof.negative import ChangedSource, NegativeControl
from phase_gate.proof.rows import find_changed_rows, judge_rows, name_references
from phase_gate.proof.sandbox import NoSandboxError, Sandbox, keep_sandbox
from phase_gate.proof.testing import SandboxRun, run_in_sandbox
from phase_gate.proof.trial import Sandboxes, Trial
from phase_gate.proof.unfailing import find_unfailing
from phase_gate.source.functions import find_changed
from phase_gate.storage.keeping import LostError
from phase_gate.values import replace
from phase_gate.visible import name_first

Show = Callable[[str], None]
Runs = tuple[SandboxRun, ...]
Targets = tuple[TargetProof, ...]

#: Seconds that a proof may take before it says what it does.
_PATIENCE = 1.0
#: Runs that a proof may take: what is left then is unknown. A number, not seconds, so that it is the same when busy.
MOST_STARTS = 100


def make_proof(trial: Trial, *, show: Show = lambda text: None, keep_in: Path | None = None) -> Proof:
    """Return what the experiment shows. It never raises for what a project does: then it is unknown, and says why.

    :param keep_in: a folder to copy both sandboxes into, for people who want to look.
    """
    began = time.monotonic()
    if not trial.targets:
        return Proof(problem="there are no targets")
    try:
        experiment = Experiment(trial, show)
        if keep_in is not None:
            keep_sandbox(experiment.sandboxes.control(), keep_in / "without-the-change")
            keep_sandbox(experiment.sandboxes.treatment(), keep_in / "with-the-change")
        proof = experiment.run()
    except (LostError, NoSandboxError, OSError) as error:
        proof = Proof(problem=str(error))
    return replace(proof, seconds=round(time.monotonic() - began, 2))


class Experiment:
    """The sandboxes of one trial, and the runs in them."""

    def __init__(self, trial: Trial, show: Show) -> None:
        self._trial, self._show = trial, show
        self._began = time.monotonic()
        self._starts = 0
        self._words = trial.words
        self._kind = ""
        #: Files in whose lines a target fails by its own check.
        self._checked = trial.frozen | trial.sources_with_tests
        self.sandboxes = Sandboxes(trial)
        self._notes = [
            f"{path} was too large to be kept: the sandboxes have it as it is now" for path in self.sandboxes.too_large
        ]
        #: Built modules that the targets can't do without.
        self._built: list[str] = []
        self._sources: dict[str, ChangedSource] = {}
        self._look_at(
            path
            for path in sorted(self.sandboxes.changed - trial.frozen)
            if path.endswith(".py") and not self.sandboxes.is_late(path)
        )

    def _look_at(self, paths: Iterable[str]) -> None:
        """Take in changed sources, and the functions in them that are new or changed."""
        for path in paths:
            text = (self._trial.root / path).read_bytes()
            functions = find_changed(self.sandboxes.before.get(path), text)
            self._sources[path] = ChangedSource(text=text, functions=tuple(functions))

    def enter(
        self,
        sandbox: Sandbox,
        targets: Iterable[str],
        *,
        is_watched: bool = False,
        is_traced: bool = False,
        limit: float = math.inf,
    ) -> SandboxRun:
        """Run the targets in a sandbox.

        :param is_watched: it is told which of the changed functions they call.
        :param limit: processor seconds that this run may take, where that is less than what any run may take.
        """
        if self._starts >= MOST_STARTS:
            return SandboxRun(kind="mounted", seconds=0.0, problem=f"more than {MOST_STARTS} runs were needed")
        wanted, limits = tuple(targets), self._trial.limits
        if limit < limits.processor:
            limits = replace(limits, processor=limit, clock=limits.clock * limit / limits.processor)
        files = dict.fromkeys(split_id(target)[0] for target in wanted)
        while True:
            run = run_in_sandbox(
                sandbox,
                (*self._trial.options, *self._words, *files),
                limits=limits,
                wanted=wanted,
                watched=self._watched() if is_watched else None,
                is_traced=is_traced,
            )
            self._starts += 1
            self._kind = run.kind
            if not run.is_silent or not self._words:
                return run
            # A plugin that RED had is not there any more, say.
            self._notes.append(f"pytest does not start with what was typed in RED: {' '.join(self._words)}")
            self._words = ()

    def _watched(self) -> dict[str, dict[str, str]]:
        """Return the changed functions, by file and first line."""
        return {
            path: {str(each.first_line): f"{path}::{each.name}" for each in source.functions if each.is_watched}
            for path, source in self._sources.items()
            if source.functions
        }

    @contextlib.contextmanager
    def _told(self, text: str) -> Iterator[None]:
        """Say what is being done, to a user who waits."""
        timer = threading.Timer(max(0.0, self._began + _PATIENCE - time.monotonic()), self._show, (f"proof: {text}",))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def run(self) -> Proof:
        """Return what all runs show."""
        trial = self._trial
        controls: Runs = ()
        if trial.has_control:
            with self._told("the targets without the change"):
                controls = (self.enter(self.sandboxes.control(), trial.targets),)
        with self._told("the targets with the change"):
            sandbox, treatments = self._treat()
        targets, controls = self._compare(controls, treatments, sandbox)
        if trial.has_control and not trial.has_present_tests:
            targets, notes = judge_rows(targets, controls, treatments[0], sandbox.read)
            self._notes += notes
        functions: tuple[FunctionProof, ...] = ()
        # A gate that is closed already needs no further runs; a pull request is told everything at once.
        if trial.has_present_tests or not any(each.is_disproven for each in targets):
            targets, functions = self._look_closer(targets, controls, treatments[0], sandbox)
            if len(controls) == 1 and not controls[0].is_cut and trial.has_present_tests:
                targets = self._find_flaky(targets)
            targets = self._find_broken(targets)
        return Proof(
            targets=targets,
            functions=functions,
            notes=tuple(self._notes),
            outside=self._imported_outside(controls),
            sandbox=self._kind,
            has_control=trial.has_control,
            starts=self._starts,
        )

    # --- with the change, and without it

    def _treat(self) -> tuple[Sandbox, Runs]:
        """Run the targets with the change; once more with files that turn out to be needed, and say which."""
        targets = self._trial.targets
        sandbox = self.sandboxes.treatment()
        run = self.enter(sandbox, targets, is_watched=True)
        failing = [target for target in targets if outcome_of(target, run) == "fails"]
        needed = self._needed(failing, run)
        if needed:
            wider = self.sandboxes.treatment(needed)
            # What they need to be imported is code of the step, wherever it lies.
            self._look_at(path for path in needed if path.endswith(".py"))
            again = self.enter(wider, targets, is_watched=True)
            if not again.is_cut and not any(outcome_of(target, again) == "fails" for target in failing):
                self._built = [path for path in needed if path in self.sandboxes.built]
                if not self._built:
                    self._notes.append(f"the targets need files that came after RED: {name_first(needed)}")
                return wider, (again,)
        if not run.is_cut or run.is_lack:
            return sandbox, (run,)
        # It died, or never ended. Once more: that may have been an accident.
        again = self.enter(sandbox, targets, is_watched=True)
        return sandbox, ((run, again) if again.is_cut else (again,))

    def _needed(self, failing: list[str], run: SandboxRun) -> list[str]:
        """Return the left-out files that failing targets, or a conftest, ask for: missing modules, and data."""
        failures = [failure for target in failing if (failure := first_failure(target, run)) is not None]
        missing = [run.missing, *(failure.missing for failure in failures)]
        return self.sandboxes.needed(missing) if failing or run.missing else []

    def _compare(self, controls: Runs, treatments: Runs, sandbox: Sandbox) -> tuple[Targets, Runs]:
        """Return what both runs say, and the controls; what speaks against a target is tried once more.

        What has two outcomes on the same files says nothing.
        """
        targets = self._judge(controls, treatments)
        failing = [each.id for each in targets if each.verdict == "fails-with"]
        if failing:
            treatments = (*treatments, self.enter(sandbox, failing))
        is_doubted = any(each.is_disproven for each in targets) or find_changed_rows(controls, treatments[0])
        if is_doubted and controls and not controls[0].is_cut:
            controls = (*controls, self._control_again(self._trial.targets))
        imported = {path for run in controls for path in run.built}
        judged = self._judge(controls, treatments)
        return excuse_built(judged, imported, self._built, self.sandboxes.changed), controls

    def _control_again(self, targets: Iterable[str]) -> SandboxRun:
        with self._told("the targets without the change, once more"):
            return self.enter(self.sandboxes.control(), targets)

    def _judge(self, controls: Runs, treatments: Runs) -> Targets:
        trial = self._trial
        # A refactoring has no control, and a pull request is told about its tests, and no more.
        may_close = trial.has_control and not trial.has_present_tests
        return tuple(
            judge_target(
                target,
                controls,
                treatments,
                is_structural=may_close
                and target not in trial.old
                and not has_failed_by_check(target, controls, self._checked),
                has_control=trial.has_control,
                has_passed=trial.took is not None,
            )
            for target in trial.targets
        )

    # --- what else they show

    def _look_closer(
        self, targets: Targets, controls: Runs, treatment: SandboxRun, sandbox: Sandbox
    ) -> tuple[Targets, tuple[FunctionProof, ...]]:
        """Return the targets with what they show when they expect something else, and when functions do nothing."""
        with self._told("the targets expecting something else"):
            targets = find_unfailing(targets, treatment, sandbox, self.enter)
        written = {each.id: read_target(each.id, sandbox.read) for each in targets}
        with self._told("the targets with emptied functions"):
            control = NegativeControl(targets, written, self._sources, treatment, sandbox, self.enter, self._checked)
            targets, functions = control.run()
        # What failed by its own check without the change has shown that it can, whatever else it holds for.
        targets = tuple(
            replace(each, verdict="proven")
            if each.verdict == "checks-nothing" and has_failed_by_check(each.id, controls, self._checked)
            else each
            for each in targets
        )
        if not self._trial.has_present_tests:
            now = {path: source.text for path, source in self._sources.items()}
            self._notes += name_references(targets, written, self.sandboxes.before, now)
        return targets, functions

    def _find_flaky(self, targets: Targets) -> Targets:
        """Return the targets; what a single run has seen failing runs once more: it may fail by itself."""
        once = [each.id for each in targets if each.control == "fails" and not each.notices and not each.is_disproven]
        run = self._control_again(once) if once else None
        return tuple(
            replace(each, verdict="flaky", control="unknown", why=TWO_OUTCOMES)
            if each.id in once and outcome_of(each.id, run) == "passes"
            else each
            for each in targets
        )

    def _find_broken(self, targets: Targets) -> Targets:
        """Return the targets; those that pass with the files that the cycle began with ask for what was there."""
        files = tuple(sorted(self.sandboxes.changed_twice))
        if not files:
            return targets
        try:
            with self._told("the targets with the files that the cycle began with"):
                run = self.enter(self.sandboxes.beginning(), self._trial.targets)
        except LostError:  # it would be advice only
            return targets
        return tuple(
            replace(each, worked_with=files)
            if each.verdict == "proven" and outcome_of(each.id, run) == "passes"
            else each
            for each in targets
        )

    def _imported_outside(self, controls: Runs) -> tuple[str, ...]:
        outside = self._trial.outside
        imported = {os.path.realpath(file) for run in controls for file in run.modules} if outside else set()
        return tuple(sorted(shown for path, shown in outside.items() if path in imported))
