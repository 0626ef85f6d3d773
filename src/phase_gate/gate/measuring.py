"""The measurements of a run: its metrics, its findings and notes.

Pure. A name that is not among the metrics was not measured.
"""

from __future__ import annotations

from collections.abc import Set

from phase_gate.gate.inventory import bare_id, find_altered, find_changed_settings, split_id
from phase_gate.gate.measured import (
    ALREADY_PASSING,
    BROKEN_MODULE,
    NO_NEW_SKIPS,
    STREAK_STARTS_OVER,
    TEST_FAILS,
    TESTS_GONE,
    Finding,
    Measured,
    cap_findings,
    name_tests,
)
from phase_gate.gate.outcomes import FAILING, REMEDIES, Failure, Judgement, all_passed, odd_buckets
from phase_gate.gate.record import JudgedRun, RunRecord
from phase_gate.gate.state import ProofRecord, State
from phase_gate.gate.verdict import Evaluation
from phase_gate.values import replace
from phase_gate.visible import count, name_first
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import Phase, Workflow

_UNEXPLAINED = Failure(reason="unexplained")

#: Minimum duration of a suite in seconds, and the speedup that looks suspicious.
_TIME_TAKEN, _SUDDENLY = 2.0, 20


def code_as_tested(green_tree: str | None, tree: str) -> dict[str, MetricValue]:
    return {} if green_tree is None else {"code_as_tested": green_tree == tree}


def take_measure(run: JudgedRun) -> Measured:
    """Return the metrics, findings and notes of a run, without those of providers."""
    unseen = _note_unseen(run.state, run.workflow)
    findings = _find_findings(run, unseen)
    return Measured(
        metrics={**_count_tests(run), **_measure(run, findings)},
        findings=cap_findings(findings),
        notes=(*_take_notes(run), *unseen),
    )


def _count_tests(run: JudgedRun) -> dict[str, MetricValue]:
    """Return the numbers of tests, by outcome; those in scope, and those of the whole suite."""
    record, judged = run.record, run.outcomes
    in_scope = judged.targets if run.in_first_phase else None

    def scoped(ids: Set[str]) -> int:
        return len(ids if in_scope is None else in_scope.intersection(ids))

    buckets = odd_buckets(record.session.outcomes)
    passing, failing = scoped(judged.passing) - len(judged.rows_passing), scoped(judged.failing)
    return {
        "tests_total": passing + failing + scoped(judged.newly_skipped),
        "tests_passing": passing,
        "tests_failing": failing,
        "suite_total": len(judged.passing) + len(judged.failing) + len(judged.newly_skipped),
        "suite_passing": len(judged.passing),
        "suite_failing": len(judged.failing),
        "tests_skipped": buckets.count("skipped") + buckets.count("skipped-if"),
        "tests_newly_skipped": len(judged.newly_skipped | judged.excused),
        "tests_guarding": len(record.session.guarding),
        "tests_rows_passing": len(judged.rows_passing),
        "tests_xfailed": buckets.count("xfailed"),
        "tests_xpassed": buckets.count("xpassed"),
        "tests_errors": buckets.count("error"),
        "tests_flaky": len(judged.flaky),
        "tests_known_failing": len(judged.known_failing),
        "tests_not_run": buckets.count("not-run"),
        "tests_deselected": len(record.session.deselected),
        "tests_unselected": len(record.unselected),
        "tests_missing": len(run.missing),
        "tests_uncollectable": buckets.count("uncollectable"),
        "collection_errors": len(record.session.collection_errors),
        "baseline_total": 0 if run.past.baseline is None else run.past.baseline.inventory.number,
        "baseline_failing": len(judged.baseline_failing),
    }


def _measure(run: JudgedRun, findings: tuple[Finding, ...]) -> dict[str, MetricValue]:
    """Return the other metrics of the run; a name that is not in it was not measured."""
    state, record, tree = run.state, run.record, run.record.tree
    hard = [finding.slug for finding in findings if finding.tier == "hard"]
    green_tree = {"green": tree, "odd": state.green_tree}.get(run.outcomes.green)
    metrics: dict[str, MetricValue] = {
        "consecutive_green_runs": run.streak,
        "signals_premature": state.signals_premature,
        "run_complete": run.kind == "complete",
        "run_kind": run.kind,
        "duration_s": round(record.session.duration_s, 3),
        **code_as_tested(green_tree, tree),
        "outcomes_doubtful": len(record.session.doubts),
    }
    if not run.in_first_phase:
        metrics |= {
            "tests_altered": hard.count("tests-unchanged"),
            "rules_changed": hard.count("rules-unchanged"),
            "red_seen": state.freeze.red_exited or not state.vanished,
            "red_resolved_elsewhere": len(_resolved_elsewhere(record)),
        }
    if run.phase.tests == "failing":
        metrics["tests_refused"] = hard.count("red-for-a-reason")
    if run.iteration is not None:
        metrics["iteration"] = run.iteration
    return metrics


def find_new_skips(outcomes: Judgement) -> tuple[Finding, ...]:
    # Including the exempt ones, so that the waiver is visible.
    skipped = outcomes.newly_skipped | outcomes.excused
    return name_tests(NO_NEW_SKIPS, "hard", skipped, "skipped now, and not before", "weakened")


def _find_findings(run: JudgedRun, unseen: tuple[str, ...]) -> tuple[Finding, ...]:
    """Return the problems of the evidence (hard), and anomalies (advisory).

    :param unseen: the note about a skipped first phase, if any: its finding has the same text.
    """
    record, judged, why = run.record, run.outcomes, run.why
    name_failures = _refusals if run.phase.tests == "failing" else _broken_modules
    unfinished = () if not why else (Finding(slug="complete-run", tier="hard", detail=why),)
    return (
        *unfinished,
        *(() if run.in_first_phase else _frozen_findings(run, unseen)),
        *record.session.doubts,
        *name_failures(record, judged),
        *_in_the_way(run),
        *_deleted(run),
        *find_new_skips(judged),
        *name_tests("baseline-kept", "hard", judged.baseline_failing, "passed before this cycle, fails now"),
        *find_weakened(run),
        *name_tests("flaky", "advisory", judged.flaky, "passed only after a rerun"),
        *name_tests("odd-xpass", "advisory", judged.odd, "passes against an xfail mark that is new"),
        *name_tests("two-outcomes", "advisory", {*_two_outcomes(run)}, "ended differently on the same files"),
        *_too_fast(record, run.state),
        *_streak_starts_over(run),
    )


def _deleted(run: JudgedRun) -> tuple[Finding, ...]:
    """Return the frozen tests that are gone. A function that ran has other parameters now."""
    if not run.missing:
        return ()
    ran = frozenset(map(bare_id, run.record.session.outcomes))
    other = "is frozen, and its function ran with other parameters: their ids must be the same in each run"
    gone = name_tests("tests-kept", "hard", run.missing, "is frozen, and was deleted", "gone")
    return tuple(replace(each, detail=other) if bare_id(each.id) in ran else each for each in gone)


def _streak_starts_over(run: JudgedRun) -> list[Finding]:
    """Return the changed files that made a green run the first of a new streak."""
    changed = run.record.changed_since_green if run.is_green and run.streak == 1 else ()
    detail = "changed since the last green run: the streak starts over"
    return [Finding(slug=STREAK_STARTS_OVER, tier="advisory", file=path, detail=detail) for path in changed]


def _broken_modules(record: RunRecord, judged: Judgement) -> list[Finding]:
    """Return the modules that pytest could not collect, with the error of each."""
    session = record.session
    errors = {
        split_id(test_id)[0]: session.messages.get(test_id, "")
        for test_id in sorted(judged.failing)
        if session.outcomes[test_id] == "uncollectable"
    }
    return [
        Finding(slug=BROKEN_MODULE, tier="advisory", file=path, detail=_describe_broken(error))
        for path, error in errors.items()
    ]


def _describe_broken(error: str) -> str:
    first = error.strip().partition("\n")[0]
    if first.startswith("Failed: "):  # pytest refuses it; any other exception comes from the module's own code
        return f"can't be collected: {first[8:]}"
    return f"can't be imported: {first}".removesuffix(": ")


def _too_fast(record: RunRecord, state: State) -> tuple[Finding, ...]:
    """Return a finding if a slow suite has become almost instantaneous with all of its tests."""
    before = {} if state.measurement is None else state.measurement.measured.metrics
    took, tests = before.get("duration_s"), before.get("tests_total")
    if not isinstance(took, (int, float)) or not isinstance(tests, int) or took < _TIME_TAKEN:
        return ()
    if len(record.session.outcomes) < tests or record.session.duration_s * _SUDDENLY > took:
        return ()
    detail = f"the suite took {took:.1f} s last time and {record.session.duration_s:.2f} s now, with no test less"
    return (Finding(slug="suite-too-fast", tier="advisory", detail=detail),)


def _resolved_elsewhere(record: RunRecord) -> list[str]:
    """Return the modules that were missing in RED, and are now provided by code outside of the project."""
    return sorted(module for module, file in record.resolved.items() if file.startswith("../"))


def _frozen_findings(run: JudgedRun, unseen: tuple[str, ...]) -> list[Finding]:
    """Return the changes to frozen tests and rules."""
    record, frozen, state = run.record, run.past.frozen, run.state
    findings = [] if frozen is None else find_altered(frozen, record.inventory, record.meaning)
    findings += record.altered_elsewhere
    findings += [] if frozen is None else find_changed_settings(frozen.settings, record.meaning.settings)
    findings += [
        Finding(slug="red-was-seen", tier="hard", id=module, detail="was missing in RED, is not in the project now")
        for module in _resolved_elsewhere(record)
    ]
    # A workflow without a red phase can't require one.
    if not state.freeze.red_exited and "red-was-seen" in run.phase.gate_1.guards:
        why = "".join(unseen) or "this cycle began without RED"
        if state.vanished:
            why = "RED was seen here, and the state folder that showed it is gone"
        findings.append(Finding(slug="red-was-seen", tier="hard" if state.vanished else "advisory", detail=why))
    return findings


def _in_the_way(run: JudgedRun) -> tuple[Finding, ...]:
    """Return the failing tests; in RED, the passing ones, and failing ones that are marked as already passing."""
    if run.phase.tests != "failing":
        return name_tests(TEST_FAILS, "advisory", run.outcomes.failing, "fails")
    marked = run.record.session.guarding.keys() & run.outcomes.failing
    return (
        *name_tests(ALREADY_PASSING, "advisory", run.outcomes.too_early, "passes already, and is new or changed"),
        *name_tests("guarding-fails", "advisory", marked, "is marked as passing already, and fails"),
    )


def _refusals(record: RunRecord, judged: Judgement) -> list[Finding]:
    """Return the failing targets without an accepted reason."""
    findings = []
    for test_id in sorted(judged.failing & judged.targets):
        failure = record.session.failures.get(test_id, _UNEXPLAINED)
        if not failure.is_accepted:
            error = failure.detail and f": {failure.detail}"
            detail = f"is refused as {failure.reason}{error}; {REMEDIES[failure.reason]}"
            found = Finding(slug="red-for-a-reason", tier="hard", id=test_id, file=failure.file, detail=detail)
            findings.append(replace(found, line=failure.line))
    return findings


def find_weakened(run: JudgedRun) -> tuple[Finding, ...]:
    """Return the older tests that RED removed or changed: found there, and reported until the cycle ends."""
    if not run.in_first_phase:
        return () if run.past.frozen is None else run.past.frozen.weakened
    gone = name_tests(TESTS_GONE, "advisory", _gone(run), "known before this cycle, and gone now", "gone")
    return (*gone, *run.record.weakened)


def _gone(run: JudgedRun) -> list[str]:
    record, baseline = run.record, run.past.baseline
    # If not all tests ran, moved tests can't be distinguished from removed ones.
    if run.kind != "complete" or not record.missing_since or baseline is None:
        return []
    # An unchanged file that can't be imported: its inherited tests can't be read from its source.
    outcomes, then = record.session.outcomes, baseline.inventory.files
    broken = {split_id(test_id)[0] for test_id in outcomes if outcomes[test_id] == "uncollectable"}
    waiting = {
        path
        for path, file in record.inventory.files.items()
        if path in broken and path in then and then[path].content == file.content
    }
    missing = {bare_id(each) for each in record.missing_since if split_id(each)[0] not in waiting}
    return sorted(missing - run.moves.keys() - set(map(bare_id, record.inventory.ids())))


def _two_outcomes(run: JudgedRun) -> list[str]:
    state, latest = run.state, run.past.latest
    # The tree after the last complete run is only certain if no other run came after it.
    is_latest = state.last_run is not None and state.last_run.kind == "complete"
    if latest is None or not is_latest or state.last_tree != run.run.tree:
        return []
    outcomes = run.record.session.outcomes
    if all_passed(outcomes) and not any(bucket in FAILING for bucket in latest.outcomes.values()):
        return []
    known = frozenset(latest.inventory.ids())
    return [
        test_id
        for test_id, bucket in outcomes.items()
        if test_id in known and bucket != "not-run" and (bucket in FAILING) != (latest.outcomes.get(test_id) in FAILING)
    ]


def _note_unseen(state: State, workflow: Workflow) -> tuple[str, ...]:
    first = workflow.first
    if first.tests == "failing" and first.name not in state.visited:
        return (f"{first.name} was never seen in this cycle: nothing shows that these tests can fail",)
    return ()


def _take_notes(run: JudgedRun) -> tuple[str, ...]:
    record, judged = run.record, run.outcomes
    notes = []
    if run.run.overlaps:
        notes.append("another run of this task was open at the same time: the streak is not extended")
    if record.session.narrowed_by and run.kind == "complete":
        notes.append(f"narrowed: {'; '.join(record.session.narrowed_by)}")
    if judged.rows_passing:
        notes.append(f"rows of red tests that pass already: {name_first(sorted(judged.rows_passing))}")
    if record.session.guarding:
        guards = [f"{test_id} ({why})" for test_id, why in record.session.guarding.items()]
        notes.append(f"guarding what works already, not counted: {name_first(sorted(guards))}")
    if run.moves:
        moved = [f"{old} -> {new}" for old, new in run.moves.items()]
        notes.append(f"{count(len(moved), 'test')} moved: {name_first(sorted(moved))}")
    exempt = [record.session.outcomes[test_id] for test_id in judged.exempt - judged.excused]
    skipped = sum(bucket in ("skipped", "skipped-if") for bucket in exempt)
    marked = len(exempt) - skipped
    shown = [
        count(number, noun)
        for number, noun in (
            (skipped, "known skip"),
            (record.session.skipped_modules, "skipped module"),
            (marked, "known xfail"),
            (len(judged.known_failing), "known failure"),
        )
        if number
    ]
    if shown:
        notes.append(f"exempt: {', '.join(shown)}")
    return tuple(notes)


# --- the last proof, if it applies to the current files and tests

GUARD = "targets-proven"
#: What a verdict without a proof leaves open.
UNSHOWN = "nothing shows that the targets need the change, or that their checks can fail"
#: The note on every verdict of a phase that requires a proof, if the project has disabled proofs.
OFF = f"proof is off: {UNSHOWN}"


def current_proof(state: State, tree: str) -> ProofRecord | None:
    """Return the proof that was made with the current files and frozen tests; None if there is none."""
    proof = state.proof
    if proof is None or proof.tree != tree or proof.freeze != state.freeze.current:
        return None
    return proof


def proof_measured(state: State, tree: str, iteration: int | None) -> Measured:
    """Return what it measured. Without a proof, nothing counts against the targets: it is made before a phase exits."""
    proof = current_proof(state, tree)
    if proof is None:
        return Measured(metrics={"proof_objections": 0})
    age = max(0, (iteration or state.iteration) - proof.iteration)
    return Measured(metrics={**proof.metrics, "proof_age": age}, findings=proof.findings, notes=proof.notes)


def describe_missing_proof(problem: str) -> str:
    return f"no proof: {problem}; {UNSHOWN}"


def wants_proof(state: State, phase: Phase, evaluation: Evaluation, tree: str, *, confirmed: bool = False) -> bool:
    """Return whether this verdict requires a proof first: all other requirements of the exit are met.

    :param confirmed: the run is the last of several confirming runs, and no signal is required.
    """
    if GUARD not in phase.gate_1.guards or current_proof(state, tree) is not None:
        return False
    return evaluation.can_exit or (confirmed and evaluation.gate_1.is_open)
