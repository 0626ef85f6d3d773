"""Make a proof: lay out the sandboxes, run the targets in them, and judge what they show.

Control: the project as it was when RED exited; every target has to fail. Treatment: the frozen tests with the present
sources; every target has to pass. Then the negative control, in `negative`.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.proof.excuses import excuse_built
from phase_gate.proof.experiment import TWO_OUTCOMES, first_failure, has_failed_by_check, judge_target, outcome_of
from phase_gate.proof.model import FunctionProof, Proof, TargetProof
from phase_gate.proof.negative import ChangedCode, find_vacuous
from phase_gate.proof.rows import find_changed_rows, judge_rows, name_references
from phase_gate.proof.sandbox import NoSandboxError, Sandbox, keep_sandbox
from phase_gate.proof.testing import SandboxRun, run_in_sandbox
from phase_gate.proof.trial import Sandboxes, Trial, name_laid_in
from phase_gate.proof.unfailing import find_unfailing
from phase_gate.source.functions import Function, find_changed, find_functions
from phase_gate.storage.keeping import LostError
from phase_gate.values import replace

Show = Callable[[str], None]

#: Seconds that a proof may take before it says what it does.
_PATIENCE = 1.0
#: Runs that a proof may take: what is left then is unknown. A number, not seconds, so that it is the same when busy.
MOST_STARTS = 100


def key_of(trial: Trial) -> str:
    """Return a digest of all that the sandboxes have in them: the same again needs no second proof."""
    hashed = hashlib.sha256()
    for part in (
        sorted(trial.targets),
        sorted(trial.then.files.items()),
        sorted(trial.now.items()),
        sorted(trial.frozen),
        sorted(trial.as_now),
        trial.options,
        trial.words,
        sys.version_info[:3],
        trial.has_control,
    ):
        hashed.update(repr(part).encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


def make_proof(trial: Trial, *, at: str, show: Show = lambda text: None, keep_in: Path | None = None) -> Proof:
    """Return what the experiment shows. It never raises for what a project does: then it is unknown, and says why.

    :param keep_in: a folder to copy both sandboxes into, for people who want to look.
    """
    began = time.monotonic()
    if not trial.targets:
        return Proof(problem="there are no targets", key=key_of(trial), at=at)
    try:
        experiment = Experiment(trial, show)
        if keep_in is not None:
            keep_sandbox(experiment.sandboxes.control(), keep_in / "without-the-change")
            keep_sandbox(experiment.sandboxes.treatment(), keep_in / "with-the-change")
        proof = experiment.run()
    except (LostError, NoSandboxError, OSError) as error:
        proof = Proof(problem=str(error))
    return replace(proof, key=key_of(trial), at=at, seconds=round(time.monotonic() - began, 2))


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
        self._before = self.sandboxes.before
        sources = sorted(
            path
            for path in self.sandboxes.changed
            if path.endswith(".py") and path not in trial.frozen and not self.sandboxes.is_late(path)
        )
        self._texts: dict[str, bytes] = {}
        self._functions: dict[str, list[Function]] = {}
        self._look_at(sources)

    def _look_at(self, sources: Iterable[str]) -> None:
        """Take in changed sources, and the functions in them that are new or changed."""
        for path in sources:
            self._texts[path] = (self._trial.root / path).read_bytes()
            if found := find_changed(self._before.get(path), self._texts[path]):
                self._functions[path] = found

    def enter(
        self,
        sandbox: Sandbox,
        targets: Iterable[str],
        *,
        is_watched: bool = False,
        is_traced: bool = False,
        limit: float = math.inf,
        stand_ins: Mapping[str, Mapping[str, str]] | None = None,
    ) -> SandboxRun:
        """Run the targets in a sandbox.

        :param is_watched: it is told which of the changed functions they call.
        :param limit: processor seconds that this run may take, where that is less than what any run may take.
        :param stand_ins: target -> the name that something stands in for.
        """
        if self._starts >= MOST_STARTS:
            return SandboxRun(kind="mounted", seconds=0.0, problem=f"more than {MOST_STARTS} runs were needed")
        wanted, limits = tuple(targets), self._trial.limits
        if limit < limits.processor:
            limits = replace(limits, processor=limit, clock=limits.clock * limit / limits.processor)
        watched = {
            path: {str(each.first_line): f"{path}::{each.name}" for each in functions if each.is_watched}
            for path, functions in self._functions.items()
        }
        files = tuple(dict.fromkeys(split_id(target)[0] for target in wanted))
        run = run_in_sandbox(
            sandbox,
            (*self._trial.options, *self._words, *files),
            limits=limits,
            wanted=wanted,
            watched=watched if is_watched else None,
            stand_ins=stand_ins,
            changed=self._texts,
            is_traced=is_traced,
        )
        self._starts += 1
        self._kind = run.kind
        if run.is_silent and self._words:
            # A plugin that RED had is not there any more, say.
            self._notes.append(f"pytest does not start with what was typed in RED: {' '.join(self._words)}")
            self._words = ()
            return self.enter(
                sandbox, wanted, is_watched=is_watched, is_traced=is_traced, limit=limit, stand_ins=stand_ins
            )
        return run

    # --- the three runs

    @contextlib.contextmanager
    def _told(self, text: str) -> Iterator[None]:
        """Say what is being done, to a user who waits."""
        timer = threading.Timer(max(0.0, self._began + _PATIENCE - time.monotonic()), self._show, (text,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def run(self) -> Proof:
        trial = self._trial
        controls: tuple[SandboxRun, ...] = ()
        if trial.has_control:
            with self._told("proof: the targets without the change"):
                controls = (self.enter(self.sandboxes.control(), trial.targets),)
        with self._told("proof: the targets with the change"):
            sandbox, treatments = self._treat()
        targets = self._judge(controls, treatments)
        # Once more, in the other order: what has two outcomes on the same files says nothing.
        failing = [each.id for each in targets if each.verdict == "fails-with"]
        if failing:
            treatments = (*treatments, self.enter(sandbox, failing))
        is_doubted = any(each.is_disproven for each in targets) or find_changed_rows(controls, treatments[0])
        if is_doubted and controls and not controls[0].is_cut:
            controls = (*controls, self._control_again(trial.targets))
        targets = self._judge(controls, treatments)
        if trial.has_control and not trial.has_present_tests:
            targets, notes = judge_rows(targets, controls, treatments[0], self._reader(sandbox))
            self._notes += notes
        functions: tuple[FunctionProof, ...] = ()
        # A gate that is closed already needs no further runs; a pull request is told everything at once.
        if trial.has_present_tests or not any(each.is_disproven for each in targets):
            with self._told("proof: the targets expecting something else"):
                targets = find_unfailing(targets, treatments[0], sandbox, self.enter)
            code = ChangedCode(texts=self._texts, before=self._before, functions=self._functions)
            with self._told("proof: the targets with emptied functions"):
                targets, functions = find_vacuous(
                    targets, code, treatments[0], sandbox, self.enter, self._checked, self._reader(sandbox)
                )
            if len(controls) == 1 and not controls[0].is_cut and not trial.red_rows:
                targets = self._find_flaky(targets)
            targets = self._find_broken(targets)
            self._notes += name_references(targets, self._had_another_body(), self._reader(sandbox))
        proof = Proof(
            targets=targets,
            functions=functions,
            notes=tuple(self._notes),
            outside=self._imported_outside(controls),
            sandbox=self._kind,
            has_control=trial.has_control,
            starts=self._starts,
        )
        built = {path for run in controls for path in run.built}
        return excuse_built(proof, built, self._built, self.sandboxes.changed)

    def _had_another_body(self) -> dict[str, Function]:
        """Return the functions that had a body in RED, and have another one now."""
        found: dict[str, Function] = {}
        for path, functions in self._functions.items():
            known = find_functions(self._before.get(path))
            here = (each for each in functions if each.name in known and not known[each.name].left_out)
            found |= {f"{path}::{each.name}": each for each in here}
        return found

    def _find_broken(self, targets: tuple[TargetProof, ...]) -> tuple[TargetProof, ...]:
        """Return the targets; those that pass with the files that the cycle began with ask for what was there."""
        files = tuple(sorted(self.sandboxes.changed_twice))
        if not files:
            return targets
        try:
            with self._told("proof: the targets with the files that the cycle began with"):
                run = self.enter(self.sandboxes.beginning(), self._trial.targets)
        except LostError:  # it would be advice only
            return targets
        return tuple(
            replace(each, worked_with=files)
            if each.verdict == "proven" and outcome_of(each.id, run) == "passes"
            else each
            for each in targets
        )

    def _reader(self, sandbox: Sandbox) -> Callable[[str], bytes]:
        """Return what reads a file as it is in a sandbox."""

        def read(path: str) -> bytes:
            return sandbox.contents[path] if path in sandbox.contents else (self._trial.root / path).read_bytes()

        return read

    def _control_again(self, targets: Iterable[str]) -> SandboxRun:
        with self._told("proof: the targets without the change, once more"):
            return self.enter(self.sandboxes.control(), targets)

    def _find_flaky(self, targets: tuple[TargetProof, ...]) -> tuple[TargetProof, ...]:
        """Return the targets; what a single run has seen failing runs once more: it may fail by itself."""
        once = [each.id for each in targets if each.control == "fails" and not each.notices and not each.is_disproven]
        run = self._control_again(once) if once else None
        return tuple(
            replace(each, verdict="flaky", control="unknown", why=TWO_OUTCOMES)
            if each.id in once and outcome_of(each.id, run) == "passes"
            else each
            for each in targets
        )

    def _imported_outside(self, controls: tuple[SandboxRun, ...]) -> tuple[str, ...]:
        outside = self._trial.outside
        imported = {os.path.realpath(file) for run in controls for file in run.modules} if outside else set()
        return tuple(sorted(shown for path, shown in outside.items() if path in imported))

    def _treat(self) -> tuple[Sandbox, tuple[SandboxRun, ...]]:
        """Run the targets with the change; once more with files that turn out to be needed, and say which."""
        trial = self._trial
        sandbox = self.sandboxes.treatment()
        run = self.enter(sandbox, trial.targets, is_watched=True)
        failing = [target for target in trial.targets if outcome_of(target, run) == "fails"]
        needed = self._needed(failing, run)
        if needed:
            wider = self.sandboxes.treatment(needed)
            # What they need to be imported is code of the step, wherever it lies.
            self._look_at(path for path in needed if path.endswith(".py"))
            again = self.enter(wider, trial.targets, is_watched=True)
            if not again.is_cut and not any(outcome_of(target, again) == "fails" for target in failing):
                self._built = [path for path in needed if path in self.sandboxes.built]
                if not self._built:
                    self._notes.append(name_laid_in("the targets", needed))
                return wider, (again,)
        if not run.is_cut or run.is_lack:
            return sandbox, (run,)
        # It died, or never ended. Once more: that may have been an accident.
        again = self.enter(sandbox, trial.targets, is_watched=True)
        return sandbox, ((run, again) if again.is_cut else (again,))

    def _needed(self, failing: list[str], run: SandboxRun) -> list[str]:
        """Return the left-out files that failing targets, or a conftest, ask for: missing modules, and data."""
        failures = [failure for target in failing if (failure := first_failure(target, run)) is not None]
        missing = [run.missing, *(failure.missing for failure in failures)]
        return self.sandboxes.needed(missing) if failing or run.missing else []

    def _judge(self, controls: tuple[SandboxRun, ...], treatments: tuple[SandboxRun, ...]) -> tuple[TargetProof, ...]:
        trial = self._trial
        # A refactoring has no control, and a pull request is told about its tests, and no more.
        may_close = trial.has_control and not trial.has_present_tests
        red: dict[str, list[str]] = {}
        for row in trial.red_rows:
            red.setdefault(bare_id(row), []).append(row)
        return tuple(
            judge_target(
                target,
                controls,
                treatments,
                rows=red.get(target, ()),
                is_structural=may_close
                and target not in trial.old
                and not has_failed_by_check(target, controls, self._checked),
                has_control=trial.has_control,
                has_passed=trial.took is not None,
            )
            for target in trial.targets
        )
