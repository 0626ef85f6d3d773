"""What the runs in sandboxes say about each target: pure, values in, values out.

A target is a test function: it fails if one of its rows does. A control that passes, or a treatment that fails,
disproves it; a run that says nothing about it proves nothing, and is never evidence against it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Literal

from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.proof.model import DISPROVEN, UNPROVEN, Outcome, Proof, TargetProof, Verdict
from phase_gate.proof.testing import Report, Reports, SandboxRun
from phase_gate.values import replace

#: Said of a target that is flaky.
TWO_OUTCOMES = "the same files gave two outcomes"


def outcome_of(target: str, run: SandboxRun | None) -> Outcome:
    """Return how a target ended in a sandbox."""
    # What ended before it was cut counts; a copied sandbox may not have told where its modules came from.
    if run is None or (run.problem and not (run.is_cut and (run.kind == "mounted" or run.modules))):
        return "unknown"
    reports = list(reports_of(target, run.reports))
    if not reports or any(report.doubt for report in reports):
        return "unknown"
    if any(not report.has_passed and not report.is_skipped for report in reports):
        return "fails"
    # Rows that do not run here, by their platform say, leave the others their word.
    return "passes" if any(report.has_passed for report in reports) else "skipped"


def reports_of(target: str, reports: Reports) -> Iterable[Report]:
    """Yield what was said about a target, or about the file that it stands in."""
    if found := reports.of(target):
        yield from found
    elif (file := reports.get(split_id(target)[0])) is not None:
        yield file


def first_failure(target: str, run: SandboxRun | None) -> Report | None:
    if run is None:
        return None
    reports = [report for report in reports_of(target, run.reports) if not report.has_passed]
    return min(reports, key=lambda report: report.is_skipped, default=None)


def fails_by_check(report: Report, checked: Collection[str], *, or_error: bool = False) -> bool:
    """Tell whether a test failed by its own check: an assertion in the lines of a frozen file.

    :param or_error: any other exception in these lines counts as well.
    """
    is_failure = not report.has_passed and not report.is_skipped
    return is_failure and report.place in checked and (report.is_check or or_error)


def has_failed_by_check(target: str, runs: Iterable[SandboxRun], checked: Collection[str]) -> bool:
    return any(fails_by_check(report, checked) for run in runs for report in reports_of(target, run.reports))


def judge_target(
    target: str,
    controls: tuple[SandboxRun, ...],
    treatments: tuple[SandboxRun, ...],
    *,
    is_structural: bool,
    has_control: bool = True,
    has_passed: bool = False,
) -> TargetProof:
    """Return what both runs say about a target; each may have been made twice.

    :param has_control: it was to be tried without the change, too.
    :param has_passed: it passes with the change where there is no sandbox.
    """
    before = [outcome_of(target, run) for run in controls]
    after = [outcome_of(target, run) for run in treatments]
    control, treatment = _settle(before), _settle(after)
    verdict: Verdict = "proven"
    why = ""
    if control == "flaky" or treatment == "flaky":
        verdict = "flaky"
        why = TWO_OUTCOMES
    elif treatment == "skipped" and not (control in ("passes", "fails") and _has_run(target, controls)):
        verdict = "skipped"
    elif treatment in ("fails", "skipped"):
        verdict = "fails-with"
        failure = first_failure(target, treatments[0])
        why = "" if failure is None else failure.message
        if failure is not None and failure.lack:
            verdict, why = "unknown", f"with the change: {failure.lack}: {failure.message}"
    elif control == "passes":
        verdict = "passes-without"
    elif control == "skipped":
        verdict = "unknown"
        why = "it is skipped without the change"
    elif treatment == "unknown" or (has_control and control == "unknown"):
        verdict = "unknown"
        why = _why_unknown(target, controls, treatments)
    if verdict in DISPROVEN and any(run.is_cut for run in (*controls, *treatments)):
        verdict = "unknown"  # a run that did not end speaks against nothing
        why = _why_unknown(target, controls, treatments)
    if has_passed and (ending := _find_ending(target, treatments)):
        # Unless that is just what the target does to it, and to nothing else.
        verdict = "fails-with"
        why = f"it passes outside, and ends the sandbox, twice: {ending}"
    failing = controls if treatment in ("passes", "skipped") else treatments
    failure = first_failure(target, failing[0]) if failing else None
    unfound = failing[0].missing if failing else ""
    return TargetProof(
        id=target,
        verdict=verdict,
        control="unknown" if control == "flaky" else control,
        treatment="unknown" if treatment == "flaky" else treatment,
        why=why,
        missing=unfound if failure is None else failure.missing,
        broken="" if failure is None else failure.broken,
        is_structural=is_structural,
    )


def _has_run(target: str, runs: tuple[SandboxRun, ...]) -> bool:
    """Tell whether the test itself had a word, not only the file that it stands in."""
    return any(run.reports.of(target) for run in runs)


def _settle(outcomes: list[Outcome]) -> Outcome | Literal["flaky"]:
    known = {each for each in outcomes if each != "unknown"}
    if len(known) > 1:
        return "flaky"
    return next(iter(known), "unknown")


def _why_unknown(target: str, controls: tuple[SandboxRun, ...], treatments: tuple[SandboxRun, ...]) -> str:
    for name, runs in (("without the change", controls), ("with the change", treatments)):
        problems = [run.problem for run in runs if run.problem]
        doubts = [report.doubt for run in runs for report in reports_of(target, run.reports) if report.doubt]
        if problems or doubts:
            return f"{name}: {(*problems, *doubts)[0]}"
    return "it did not run in the sandbox"


def _find_ending(target: str, treatments: tuple[SandboxRun, ...]) -> str:
    """Return how a target, and no other, ended the sandbox each time that it was tried; empty if it did not."""
    if len(treatments) < 2 or any(outcome_of(target, run) != "unknown" for run in treatments):
        return ""
    last = treatments[-1]
    is_its_own = all(run.is_cut and not run.is_lack for run in treatments) and (
        not last.at_work or bare_id(last.at_work) == target
    )
    return last.problem if is_its_own else ""


def excuse(targets: tuple[TargetProof, ...], why: Callable[[TargetProof], str]) -> tuple[TargetProof, ...]:
    """Return the targets; of those nothing is known for which there is a reason for that."""
    return tuple(replace(each, verdict="unknown", why=reason) if (reason := why(each)) else each for each in targets)


#: Sources of compiled modules.
COMPILED = (
    *(".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hpp", ".m", ".mm"),
    *(".pyx", ".pxd", ".pxi", ".rs", ".go", ".zig", ".f", ".for", ".f90", ".f95"),
)


def excuse_built(
    targets: tuple[TargetProof, ...], imported: Collection[str], needed: Collection[str], changed: Collection[str]
) -> tuple[TargetProof, ...]:
    """Return the targets; of those nothing is known that used a module as it was built before its source changed.

    :param imported: the compiled modules of the project that were imported without the change.
    :param needed: those that the targets can't do without although their sources have changed.
    :param changed: the files that are not what they were.
    """
    # A module of Python may be compiled, too: it has the same name.
    stems = {path.partition(".")[0] for path in imported}
    sources = [path for path in changed if path.endswith(COMPILED) or (path.endswith(".py") and path[:-3] in stems)]

    def why(target: TargetProof) -> str:
        if needed and target.verdict == "proven":
            built, source = min(needed), f"{min(needed).partition('.')[0]}.py"
        elif imported and sources and target.verdict == "passes-without":
            built, source = min(imported), min(sources)
        else:
            return ""
        return f"{built} is as it was built last, and {source} has changed: nothing is built in a sandbox"

    return excuse(targets, why)


def is_objection(target: TargetProof, *, required: bool) -> bool:
    """Tell whether a target keeps the gate closed.

    "Checks nothing" closes only where the test has never failed by its own check: it may be unable to.
    """
    if target.is_disproven:
        return True
    if target.verdict == "checks-nothing":
        return target.is_structural
    return required and (target.is_tolerated or target.verdict in UNPROVEN)


def closes(proof: Proof, *, required: bool) -> bool:
    """Tell whether one of the targets keeps the gate closed."""
    return any(is_objection(each, required=required) for each in proof.targets)
