"""A run that has ended, with its outcomes judged: what metrics, findings and the verdict are made from.

Pure. What the session showed and what it is compared with are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable

from phase_gate.gate.criteria import Traced, trace_criteria
from phase_gate.gate.events import apply
from phase_gate.gate.findings import Finding, Waiver, cap_findings, covered_by, name_tests
from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.gate.measured import NOTHING_REMEMBERED, Remembered
from phase_gate.gate.moves import Moves, follow_moves
from phase_gate.gate.outcomes import Bucket, Green, Judgement, Kind, References, judge_outcomes, odd_buckets
from phase_gate.gate.record import Audit, RunRecord
from phase_gate.gate.run_events import streak_after
from phase_gate.gate.state import Event, OpenRun, State
from phase_gate.values import Value, replace
from phase_gate.visible import count, name_first
from phase_gate.workflow.model import Phase, Workflow

_NO_NEW_SKIPS = "no-new-skips"


class JudgedRun(Value):
    at: str
    run: OpenRun
    phase: Phase
    record: RunRecord
    past: References
    #: The task before the run's end; back in the first phase, if the run leads there.
    state: State
    #: What leads there.
    events: tuple[Event, ...]
    audit: Audit
    #: Tests that stand elsewhere than they did at the freeze, or at the cycle's beginning: old bare ids with new ones.
    moves: Moves
    kind: Kind
    #: Why it is not a complete run.
    why: str
    outcomes: Judgement
    green: Green
    #: Green runs in a row, with this one.
    streak: int
    #: None for a run that does not count.
    iteration: int | None
    traced: Traced
    #: It was to go back to the first phase, and no test of the step fails there: the task stays where it is.
    stays: bool

    @property
    def in_first_phase(self) -> bool:
        return self.phase.scope == "targets"

    @property
    def is_green(self) -> bool:
        return self.green is Green.GREEN

    @property
    def target_files(self) -> tuple[str, ...]:
        """Return the files with the tests that this cycle is about, in the first phase."""
        return tuple(sorted({split_id(test_id)[0] for test_id in self.outcomes.targets})) if self.in_first_phase else ()


def judge_run(
    state: State,
    workflow: Workflow,
    record: RunRecord,
    past: References,
    *,
    at: str,
    remembered: Remembered = NOTHING_REMEMBERED,
) -> JudgedRun:
    """Say what kind of run it was, what its outcomes mean, and whether it counts.

    :param remembered: how things were when the run began, for a phase that it goes back to.
    """
    run = state.open_run(record.run)
    assert run is not None, "a run ends only after it was started"
    phase = workflow.phase(run.phase)
    assert phase is not None, "a run starts only in a phase of its workflow"
    in_first_phase = phase.scope == "targets"
    goes_back = run.rewinds and state.phase != phase.name
    if goes_back and past.frozen is not None:
        # This very run takes the freeze back: RED is about what changed since, from now on.
        past = replace(past, withdrawn=past.frozen.inventory)
    followed = follow_moves(past, record, in_first_phase=in_first_phase)
    audit = Audit(record.audit.unselected, ()) if in_first_phase else _tell_missing(record.audit, past, followed.moves)
    past = followed.past
    outcomes = judge_outcomes(
        record.session.outcomes,
        record.inventory,
        past,
        in_first_phase=in_first_phase,
        guarding=record.session.guarding,
        failures=record.session.failures,
    )
    outcomes = excuse_skips(outcomes, state.overrides.waivers, at=at)
    kind, why = _classify(record, run, audit, _moved_on(state, run))
    stays = goes_back and kind is Kind.COMPLETE and not outcomes.failing & outcomes.targets
    if stays:
        # The user typed the wrong phase, or corrected a test that passes at once: in RED there would be no way on.
        kind = Kind.INCOMPLETE
        why = f"no test of this step fails, so the task stays in {state.phase} with its frozen tests"
    counts = kind is Kind.COMPLETE
    events: tuple[Event, ...] = ()
    if goes_back and counts:
        data = {"phase": phase.name, "how": "rewind", "first": True, "run": run.id}
        events = (Event(kind="phase-entered", data={**data, "remembered": dict(remembered.phase)}, at=at),)
        state = apply(state, events[0])
    # An outcome that is not the test's own is no green, whatever it says; unless a person has let just that pass.
    waivers = state.overrides.waivers
    is_doubtful = any(not covered_by(waivers, each.guard, (each,), at=at) for each in record.session.doubts)
    green = Green.NOT_GREEN if record.session.internal_error or is_doubtful else outcomes.green
    return JudgedRun(
        at=at,
        run=run,
        phase=phase,
        record=record,
        past=past,
        state=state,
        events=events,
        audit=audit,
        moves=followed.moves,
        kind=kind,
        why=why,
        outcomes=outcomes,
        green=green,
        streak=streak_after(state.streak, run, kind=kind, green=green, tree=record.sources.tree).count,
        iteration=state.iteration + 1 if counts else None,
        traced=trace_criteria(
            record.criteria,
            record.links,
            outcomes,
            record.session.outcomes,
            in_first_phase=in_first_phase,
            waivers=state.overrides.waivers,
            at=at,
        ),
        stays=stays,
    )


def _tell_missing(audit: Audit, past: References, moves: Moves) -> Audit:
    """Tell the frozen tests that are gone from those that moved, and from those that only came and went."""
    missing = [test_id for test_id in audit.missing if bare_id(test_id) not in moves]
    if past.frozen is None:
        return Audit(audit.unselected, tuple(missing))
    frozen = frozenset(past.frozen.inventory.ids()) if missing else frozenset()
    kept = tuple(test_id for test_id in missing if test_id in frozen)
    # A frozen test that stood there in between has not gone: it has moved on.
    bodies = (
        {body for file in past.frozen.inventory.files.values() for body in file.bodies.values()} if missing else set()
    )
    others = (test_id for test_id in missing if test_id not in frozen)
    went = (test_id for test_id in others if past.known is None or past.known.body(test_id) not in bodies)
    return Audit(audit.unselected, kept, tuple(went))


def _moved_on(state: State, run: OpenRun) -> str:
    """Say so if the task left the run's phase while it ran: its result speaks of what is past."""
    if run.nested or run.rewinds or state.phase == run.phase:
        return ""
    return f"the task moved on to {state.phase} while it ran"


def _classify(record: RunRecord, run: OpenRun, audit: Audit, moved_on: str) -> tuple[Kind, str]:
    """Return the first kind that fits, and why it is not a complete run."""
    session = record.session
    buckets = odd_buckets(session.outcomes)
    skipped = buckets.count(Bucket.SKIPPED) + buckets.count(Bucket.SKIPPED_IF)
    not_run, uncollectable = buckets.count(Bucket.NOT_RUN), buckets.count(Bucket.UNCOLLECTABLE)
    collected = len(session.outcomes) - uncollectable
    interrupted = session.interrupted or moved_on
    if session.is_void:
        return Kind.VOID, interrupted or "no test was meant to run"
    if run.nested:
        return Kind.NESTED, "it ran inside another run of this task"
    if interrupted:
        return Kind.INCOMPLETE, interrupted
    if not_run:
        return Kind.INCOMPLETE, f"{count(not_run, 'collected test')} did not run"
    if record.sources.changed:
        return Kind.INCOMPLETE, f"sources changed while it ran: {name_first(record.sources.changed)}"
    if audit.unselected:
        by = f" ({'; '.join(session.narrowed_by)})" if session.narrowed_by else ""
        return Kind.PARTIAL, f"{count(len(audit.unselected), 'known test')} did not run{by}"
    if uncollectable or collected > skipped:
        return Kind.COMPLETE, ""
    return Kind.EMPTY, "every test was skipped" if collected else "no test was collected"


def excuse_skips(outcomes: Judgement, waivers: Iterable[Waiver], *, at: str) -> Judgement:
    """Return the judgement with the new skips exempt, if a waiver in force covers every one of them."""
    if not covered_by(waivers, _NO_NEW_SKIPS, cap_findings(find_new_skips(outcomes)), at=at):
        return outcomes
    skipped = outcomes.newly_skipped
    return replace(outcomes, newly_skipped=frozenset(), exempt=outcomes.exempt | skipped, excused=skipped)


def find_new_skips(outcomes: Judgement) -> tuple[Finding, ...]:
    # The excused ones, too: that they are waived has to be seen.
    skipped = outcomes.newly_skipped | outcomes.excused
    return name_tests(_NO_NEW_SKIPS, "hard", skipped, "skipped now, and not before", "weakened")
