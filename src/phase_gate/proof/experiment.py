"""Make a proof: create the sandboxes, run the targets in them, and judge the results.

All experiments work the same way: some targets run in a sandbox with one difference, and each has an outcome there.

- Control: the project as it was when RED exited. Every target has to fail.
- Treatment: the frozen tests with the current sources. Every target has to pass.
- Altered tests, in `unfailing`: the targets expect different values.
- Negative control, in `negative`: changed functions do nothing.

A run without a result for a target proves nothing, and is never evidence against it.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from phase_gate.evidence.context import ignore
from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.proof.negative import ChangedSource, NegativeControl
from phase_gate.proof.sandbox import NoSandboxError, Sandbox
from phase_gate.proof.sandbox_runs import Laboratory, Runs, SandboxRun
from phase_gate.proof.trial import Sandboxes, Trial
from phase_gate.proof.unfailing import find_unfailing
from phase_gate.proof.verdicts import MEANINGS, FunctionProof, Outcome, Proof, TargetProof, Targets, Verdict
from phase_gate.source.functions import find_changed
from phase_gate.source.syntax_names import named_functions
from phase_gate.source.tests import parse_source
from phase_gate.storage.snapshots import SnapshotError
from phase_gate.values import replace
from phase_gate.visible import cut, name_first

Show = Callable[[str], None]

#: Sources of compiled modules.
COMPILED = (
    *(".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hpp", ".m", ".mm"),
    *(".pyx", ".pxd", ".pxi", ".rs", ".go", ".zig", ".f", ".for", ".f90", ".f95"),
)


def make_proof(trial: Trial, *, show: Show = ignore) -> Proof:
    """Return the proof. Never raises because of the project's code: the result is unknown then, with the reason."""
    began = time.monotonic()
    if not trial.targets:
        return Proof(problem="there are no targets")
    try:
        proof = _Experiment(trial, show).run()
    except (SnapshotError, NoSandboxError, OSError) as error:
        proof = Proof(problem=str(error))
    return replace(proof, seconds=round(time.monotonic() - began, 2))


class _Experiment:
    """The sandboxes of one trial and their runs."""

    def __init__(self, trial: Trial, show: Show) -> None:
        self._trial, self._show = trial, show
        self._laboratory = Laboratory(trial.words, trial.limit)
        #: Files whose lines count as a target's own check.
        self._checked = trial.frozen | trial.sources_with_tests
        self._sandboxes = Sandboxes(trial)
        self._notes = [
            f"{path} {why}: the sandboxes have it as it is now" for path, why in sorted(self._sandboxes.unkept.items())
        ]
        self._sources: dict[str, ChangedSource] = {}
        for path in sorted(self._sandboxes.changed - trial.frozen):
            # A link to nothing, as editors leave it for a lock, is not a source.
            if path.endswith(".py") and (trial.root / path).exists():
                text = (trial.root / path).read_bytes()
                functions = find_changed(self._sandboxes.before.get(path), text)
                self._sources[path] = ChangedSource(text=text, functions=tuple(functions))

    def run(self) -> Proof:
        """Run all experiments and return the proof."""
        trial = self._trial
        controls: Runs = (self._control(),) if trial.has_control else ()
        self._show("proof: the targets with the change")
        sandbox, treatments = self._treat()
        targets, controls = self._compare(controls, treatments, sandbox)
        # In a pull request, a test may follow what has changed.
        if trial.has_control and not trial.is_change:
            targets, notes = judge_rows(targets, controls, treatments[0], sandbox)
            self._notes += notes
        functions: tuple[FunctionProof, ...] = ()
        # If the gate is closed already, no further runs are needed. A pull request gets all results at once.
        if trial.is_change or not any(each.is_disproven for each in targets):
            targets, functions = self._look_closer(targets, controls, treatments[0], sandbox)
            targets = self._find_broken(targets)
        return Proof(
            targets=targets,
            functions=functions,
            notes=tuple(self._notes),
            sandbox=self._laboratory.kind,
            has_control=trial.has_control,
            starts=self._laboratory.starts,
        )

    # --- with the change, and without it

    def _control(self) -> SandboxRun:
        self._show("proof: the targets without the change")
        return self._laboratory.run(self._sandboxes.control(), self._trial.targets)

    def _run_watched(self, sandbox: Sandbox) -> SandboxRun:
        """Run the targets with the change, and record which of the changed functions they call."""
        watched = {
            path: {str(each.first_line): f"{path}::{each.name}" for each in source.functions if each.is_watched}
            for path, source in self._sources.items()
            if source.functions
        }
        return self._laboratory.run(sandbox, self._trial.targets, watched=watched)

    def _treat(self) -> tuple[Sandbox, Runs]:
        """Run the targets with the change. Run them again if they need files that were left out, and note which."""
        targets, sandbox = self._trial.targets, self._sandboxes.treatment()
        run = self._run_watched(sandbox)
        failing = [target for target in targets if run.outcome(target) == "fails"]
        missing = [report.missing for target in failing for report in run.of(target)]
        if needed := self._sandboxes.needed(missing) if failing else []:
            wider = self._sandboxes.treatment(needed)
            again = self._run_watched(wider)
            if not again.is_cut and not any(again.outcome(target) == "fails" for target in failing):
                self._notes.append(f"the targets need files that came after RED: {name_first(needed)}")
                return wider, (again,)
        if not run.is_cut:
            return sandbox, (run,)
        # It crashed, or never ended. Try again, because the cause may be temporary.
        again = self._run_watched(sandbox)
        return sandbox, ((run, again) if again.is_cut else (again,))

    def _compare(self, controls: Runs, treatments: Runs, sandbox: Sandbox) -> tuple[Targets, Runs]:
        """Return the judged targets, and the controls. Results against a target are tried once more.

        A target with two outcomes on the same files is flaky, and its result does not count.
        """
        targets = self._judge(controls, treatments)
        failing = [each.id for each in targets if each.verdict == "fails-with"]
        if failing:
            treatments = (*treatments, self._laboratory.run(sandbox, failing))
        is_doubted = any(each.is_disproven for each in targets) or any(find_changed_rows(controls, treatments[0]))
        if is_doubted and controls:
            controls = (*controls, self._control())
        judged = []
        for each in self._judge(controls, treatments):
            why = self._why_built(each, controls)
            judged.append(replace(each, verdict="unknown", why=why) if why else each)
        return tuple(judged), controls

    def _judge(self, controls: Runs, treatments: Runs) -> Targets:
        trial = self._trial
        # A refactoring has no control, and the proof of a pull request closes no gate.
        may_close = trial.has_control and not trial.is_change
        judged = (
            judge_target(each, controls, treatments, has_control=trial.has_control, has_passed=trial.took is not None)
            for each in trial.targets
        )
        return tuple(
            replace(each, is_structural=may_close and not self._failed_by_check(each.id, controls)) for each in judged
        )

    def _failed_by_check(self, target: str, runs: Runs) -> bool:
        return any(report.is_own_check(self._checked) for run in runs for report in run.of(target))

    def _why_built(self, target: TargetProof, controls: Runs) -> str:
        """Describe the compiled module that a target used although its source has changed. Empty if there is none."""
        imported = {path for run in controls for path in run.built}
        sources = [path for path in self._sandboxes.changed if path.endswith(COMPILED)]
        if not imported or not sources or target.verdict != "passes-without":
            return ""
        return f"{min(imported)} is as it was built last, and {min(sources)} has changed: nothing is built in a sandbox"

    # --- further experiments

    def _look_closer(
        self, targets: Targets, controls: Runs, treatment: SandboxRun, sandbox: Sandbox
    ) -> tuple[Targets, tuple[FunctionProof, ...]]:
        """Run the altered tests and the negative control. Return the targets with the results, and the functions."""
        self._show("proof: the targets expecting something else")
        targets = find_unfailing(targets, treatment, sandbox, self._laboratory)
        self._show("proof: the targets with emptied functions")
        control = NegativeControl(targets, self._sources, treatment, sandbox, self._laboratory, self._checked)
        targets, functions = control.run()
        judged = []
        for each in targets:
            # A target that failed by its own check without the change has shown that it can fail.
            if each.verdict == "checks-nothing" and self._failed_by_check(each.id, controls):
                each = replace(each, verdict="proven", why="")
            judged.append(each)
        return tuple(judged), functions

    def _find_broken(self, targets: Targets) -> Targets:
        """Return the targets. Those that pass with the files from the start of the cycle get `worked_with`."""
        files = tuple(sorted(self._sandboxes.changed_twice))
        if not files:
            return targets
        self._show("proof: the targets with the files that the cycle began with")
        run = self._laboratory.run(self._sandboxes.beginning(), self._trial.targets)
        return tuple(replace(each, worked_with=files) if run.outcome(each.id) == "passes" else each for each in targets)


# --- the verdict on a target

#: Outcomes without the change and with it -> verdict. Any other pair is unknown.
_VERDICTS: Mapping[tuple[str, str], Verdict] = {
    ("fails", "passes"): "proven",
    **{("passes", after): "passes-without" for after in ("passes", "unknown")},
    **{(before, "fails"): "fails-with" for before in ("passes", "fails", "skipped", "unknown")},
    **{(before, "skipped"): "skipped" for before in ("skipped", "unknown")},
    **{(before, "skipped"): "fails-with" for before in ("passes", "fails")},
}


def judge_target(
    target: str, controls: Runs, treatments: Runs, *, has_control: bool = True, has_passed: bool = False
) -> TargetProof:
    """Return the verdict on a target from its control and treatment runs. Each may have been run twice.

    :param has_control: whether the target was also run without the change.
    :param has_passed: whether the target passes with the change outside of the sandbox.
    """
    control, treatment = _settle(target, controls), _settle(target, treatments)
    verdict: Verdict = _VERDICTS.get((control if has_control else "fails", treatment), "unknown")
    failing = controls if treatment in ("passes", "skipped") else treatments
    failure = failing[0].failure(target) if failing else None
    is_cut = any(run.is_cut for run in (*controls, *treatments))
    why = ""
    if has_passed and (ending := _find_ending(target, treatments)):
        # It is this target that ends the sandbox, and no other.
        verdict, why = "fails-with", f"it passes outside, and ends the sandbox, twice: {ending}"
    elif "flaky" in (control, treatment):
        verdict, why = "flaky", "the same files gave two outcomes"
    elif treatment == "skipped" and not any(target in run.functions for run in controls):
        verdict = "skipped"  # the control has a result for its file at most
    elif control == "skipped" and treatment == "passes":
        why = "it is skipped without the change"
    elif verdict == "unknown" or ("refuted" in MEANINGS[verdict].kinds and is_cut):
        # A run that did not end is no evidence against a target.
        verdict, why = "unknown", _why_unknown(target, controls, treatments)
    elif treatment == "fails" and failure is not None:
        why = failure.message
    return TargetProof(
        id=target,
        verdict=verdict,
        control="unknown" if control == "flaky" else control,
        treatment="unknown" if treatment == "flaky" else treatment,
        why=why,
        missing=failure.missing if failure is not None else failing[0].missing if failing else "",
    )


def _settle(target: str, runs: Runs) -> Outcome | Literal["flaky"]:
    known = {run.outcome(target) for run in runs} - {"unknown"}
    return "flaky" if len(known) > 1 else next(iter(known), "unknown")


def _why_unknown(target: str, controls: Runs, treatments: Runs) -> str:
    for name, runs in (("without the change", controls), ("with the change", treatments)):
        problems = [run.problem for run in runs if run.problem]
        doubts = [report.doubt for run in runs for report in run.of(target) if report.doubt]
        if problems or doubts:
            return f"{name}: {(*problems, *doubts)[0]}"
    return "it did not run in the sandbox"


def _find_ending(target: str, treatments: Runs) -> str:
    """Return how this target ended the sandbox in every run. Empty if it did not, or if another target did."""
    if len(treatments) < 2 or any(not run.is_cut or run.outcome(target) != "unknown" for run in treatments):
        return ""
    last = treatments[-1]
    return last.problem if not last.at_work or bare_id(last.at_work) == target else ""


# --- values and settings that tests get from a source: changing them under the same test id changes the test, and no
# test file shows it


def judge_rows(targets: Targets, controls: Runs, treatment: SandboxRun, sandbox: Sandbox) -> tuple[Targets, list[str]]:
    """Return the targets, with those refuted whose rows have changed their values, and notes about other rows.

    Only rows whose id is written in a test file refute a target. Others may follow the sources, for example a registry.
    """
    refuted = dict(_find_weaker(controls, treatment))
    notes = []
    for test_id, name, before, after in find_changed_rows(controls, treatment):
        target, row = bare_id(test_id), test_id.partition("[")[2].removesuffix("]")
        message = f"[{row}] {name} was {cut(before)} in RED, and is {cut(after)} now"
        # One control does not show that the value is stable. None in RED means that the value was missing.
        is_plain = len(controls) > 1 and before != "None"
        written = _written_ids(sandbox.read(split_id(test_id)[0]))
        if is_plain and not written.isdisjoint({row, *row.split("-")}):
            refuted.setdefault(target, f"{message}; write it into the test, or put it back")
        else:
            notes.append(f"a row has another value with the change: {target}{message}")
    judged = (
        replace(each, verdict="row-changed", why=refuted[each.id])
        if each.id in refuted and each.verdict == "proven"
        else each
        for each in targets
    )
    return tuple(judged), notes


def find_changed_rows(controls: Runs, treatment: SandboxRun) -> Iterator[tuple[str, str, str, str]]:
    """Yield the parameter values that the change has altered, and that are the same in every control.

    Yields the test, the parameter, the old value and the new value.
    """
    values = [{test.id: test.values for test in run.tests} for run in controls]
    for test in treatment.tests if values else ():
        for name, after in test.values.items():
            known = {others.get(test.id, {}).get(name, after) for others in values}
            before = min(known)
            if len(known) == 1 and before != after:
                yield test.id, name, before, after


def _written_ids(source: bytes) -> set[object]:
    """Return the ids of rows that are written in a test file. Such a row must not change its values."""
    found: set[object] = set()
    try:
        tree = parse_source(source)
    except SyntaxError:
        return found  # only a special loader can read it
    for each in named_functions(tree.body):
        for decorator in each.node.decorator_list:
            for given in ast.walk(decorator):
                if isinstance(given, ast.keyword) and given.arg in ("id", "ids"):
                    found |= {getattr(node, "value", None) for node in ast.walk(given.value)}
    return found


def _find_weaker(controls: Runs, treatment: SandboxRun) -> Iterator[tuple[str, str]]:
    """Yield the tests that hypothesis checks less thoroughly with the change, and how."""
    efforts = {test.id: test.effort for run in controls for test in run.tests if test.effort}
    for test in treatment.tests:
        before, after = efforts.get(test.id), test.effort
        if not before or not after:
            continue
        lost = {*before["phases"]} - {*after["phases"]} | {*after["excuses"]} - {*before["excuses"]}
        if after["max_examples"] < before["max_examples"] or lost:
            examples = f"{before['max_examples']} examples in RED, and {after['max_examples']} now"
            less = f"{examples}{''.join(f', {each}' for each in sorted(lost))}"
            yield bare_id(test.id), f"hypothesis tries less hard: {less}; leave its settings to the tests"
