"""A run that has ended, with its outcomes judged: what metrics, findings and the verdict are made from.

Pure. What the session showed and what it is compared with are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

from phase_gate.gate.criteria import Traced, trace_criteria
from phase_gate.gate.events import apply, streak_after
from phase_gate.gate.freeze import Frozen, SupportFile
from phase_gate.gate.inventory import Inventory, TestFile, bare_id, bare_name, split_id
from phase_gate.gate.measured import (
    NOTHING_REMEMBERED,
    Finding,
    Remembered,
    Waiver,
    cap_findings,
    covered_by,
    name_tests,
)
from phase_gate.gate.outcomes import Bucket, Green, Judgement, Kind, Past, References, judge_outcomes, odd_buckets
from phase_gate.gate.record import Audit, RunRecord
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


# --- tests that stand elsewhere by now: moved with their file, moved to another file, or renamed

#: Old bare ids with the new ones.
Moves = Mapping[str, str]


class Followed(Value, kw_only=False):
    """What a run is compared with, under the names that tests have now."""

    past: References
    #: Since the freeze; in the first phase since the cycle began.
    moves: Moves


def follow_moves(past: References, record: RunRecord, *, in_first_phase: bool) -> Followed:
    moves: Moves = {}
    if past.frozen is not None and not in_first_phase:
        moves = _moves_since(past.frozen, record)
        past = _rename(past, moves, record)
    if past.withdrawn is not None:
        # What was red and passes by now is done with, wherever it stands: RED asks for bodies only.
        left = _bare(each for each in past.withdrawn.ids() if each not in record.session.outcomes)
        back = find_moves(past.withdrawn, record.inventory, left)
        past = replace(past, withdrawn=move_tests(past.withdrawn, back))
    if past.baseline is not None:
        outcomes, known = record.session.outcomes, past.known_ids
        missing = (each for each in past.baseline.ids if each not in outcomes and each not in known)
        gone = _bare(record.missing_since if in_first_phase else missing)
        old = _moves_of_baseline(past.baseline, past, record, gone) if gone else {}
        past = replace(past, baseline=_rename_past(past.baseline, old))
        moves = {**old, **moves} if in_first_phase else moves
    return Followed(past, moves)


def _moves_since(frozen: Frozen, record: RunRecord) -> Moves:
    moves = find_moves(frozen.inventory, record.inventory, _bare(record.audit.missing))
    # Other tests may use the code of a file that has no tests of its own any more, so its changes are looked at.
    stay = {*record.sources.files} - {*record.inventory.files} - {*record.meaning.support} if moves else set()
    return {old: new for old, new in moves.items() if split_id(old)[0] not in stay}


def _moves_of_baseline(baseline: Past, past: References, record: RunRecord, gone: Collection[str]) -> Moves:
    """Return the old tests that stand elsewhere. What RED has taken for a test of this step is none of them."""
    targets = _bare(past.targets or ())
    moves = find_moves(baseline.inventory, record.inventory, gone)
    return {old: new for old, new in moves.items() if new not in targets}


def find_moves(before: Inventory, now: Inventory, gone: Collection[str]) -> Moves:
    """Return where tests went that are not at their places any more.

    :param gone: bare ids of tests that the sources do not have where they were.
    """
    if not gone:
        return {}
    here, there = _bare(now.ids()), _bare(before.ids())
    old, new = set(gone) & there - here, here - there
    moves: dict[str, str] = {}
    for likeness in (_body_and_name, _body):
        pairs = _pair(old - moves.keys(), before, new - set(moves.values()), now, likeness)
        moves |= {one: other for one, other in pairs if _has_the_same_rows(one, before, other, now)}
    return moves


def _has_the_same_rows(old: str, before: Inventory, new: str, now: Inventory) -> bool:
    (path, name), (new_path, new_name) = split_id(old), split_id(new)
    rows = _rows(before.files[path], name)
    return rows in ({""}, _rows(now.files[new_path], new_name))


def _rows(file: TestFile, name: str) -> set[str]:
    """Return the parameters of a test as its ids have them; none while its module could not be imported."""
    return {each[len(name) :] for each in file.ids if bare_name(each) == name}


def _body_and_name(test_id: str, inventory: Inventory) -> Hashable:
    """Return what a test is known by in another file: where no source shows its body, all of the file."""
    path, name = split_id(test_id)
    body = inventory.body(test_id)
    if body:
        return body, name
    file = inventory.files.get(path)
    return "", name if path.endswith(".py") else "", "" if file is None else file.content


def _body(test_id: str, inventory: Inventory) -> Hashable:
    return inventory.body(test_id) or None


def _pair(
    old: Iterable[str],
    before: Inventory,
    new: Iterable[str],
    now: Inventory,
    likeness: Callable[[str, Inventory], Hashable],
) -> Iterable[tuple[str, str]]:
    """Yield the tests that are alike, where there is one of either."""
    alike: dict[Hashable, tuple[list[str], list[str]]] = {}
    for side, (ids, inventory) in enumerate(((old, before), (new, now))):
        for test_id in ids:
            key = likeness(test_id, inventory)
            if key is not None:
                alike.setdefault(key, ([], []))[side].append(test_id)
    for ones, others in alike.values():
        if len(ones) == len(others) == 1:
            yield ones[0], others[0]


def _bare(ids: Iterable[str]) -> set[str]:
    return set(map(bare_id, ids))


# --- the same history under new names


def renamed(test_id: str, moves: Moves) -> str:
    bare = bare_id(test_id)
    return moves[bare] + test_id[len(bare) :] if bare in moves else test_id


def move_tests(inventory: Inventory, moves: Moves) -> Inventory:
    """Return the inventory with tests at their new places."""
    if not moves:
        return inventory
    files = dict(inventory.files)
    for old, new in moves.items():
        (path, name), (new_path, new_name) = split_id(old), split_id(new)
        source = files[path]
        taken = [each for each in source.ids if bare_name(each) == name]
        bodies = {each: body for each, body in source.bodies.items() if each != name}
        left = tuple(each for each in source.ids if bare_name(each) != name)
        files[path] = replace(source, ids=left, bodies=bodies)
        home = files.get(new_path) or replace(source, ids=(), bodies={})
        body = {new_name: source.bodies[name]} if name in source.bodies else {}
        files[new_path] = replace(
            home,
            ids=tuple(sorted((*home.ids, *(new_name + each[len(name) :] for each in taken)))),
            bodies={**home.bodies, **body},
            requests=tuple(sorted({*home.requests, *source.requests})),
        )
    return Inventory({path: file for path, file in files.items() if file.ids})


def _rename(past: References, moves: Moves, record: RunRecord) -> References:
    if not moves or past.frozen is None:
        return past
    known = None if past.known is None else move_tests(past.known, _within(past.known, moves))
    return replace(
        past,
        baseline=None if past.baseline is None else _rename_past(past.baseline, moves),
        first=None if past.first is None else _rename_past(past.first, moves),
        latest=None if past.latest is None else _rename_past(past.latest, moves),
        known=known,
        known_ids=past.known_ids if known is None else frozenset(known.ids()),
        targets=None if past.targets is None else frozenset(renamed(each, moves) for each in past.targets),
        recovered=frozenset(renamed(each, moves) for each in past.recovered),
        frozen=_rename_frozen(past.frozen, moves, record),
        red={renamed(each, moves): body for each, body in past.red.items()},
    )


def _rename_past(past: Past, moves: Moves) -> Past:
    moves = _within(past.inventory, moves)
    if not moves:
        return past
    inventory = move_tests(past.inventory, moves)
    outcomes = {renamed(each, moves): bucket for each, bucket in past.outcomes.items()}
    return replace(past, inventory=inventory, outcomes=outcomes, ids=frozenset(inventory.ids()))


def _rename_frozen(frozen: Frozen, moves: Moves, record: RunRecord) -> Frozen:
    inventory = move_tests(frozen.inventory, moves)
    # A file that lost its tests, and is there for others: the code in it stays frozen.
    support = {
        path: SupportFile(content=file.content, statements=file.statements, requests=file.requests)
        for path, file in frozen.inventory.files.items()
        if path not in inventory.files and path in record.meaning.support
    }
    return replace(frozen, inventory=inventory, support={**frozen.support, **support})


def _within(inventory: Inventory, moves: Moves) -> Moves:
    """Return the moves of tests that this inventory has at their old places."""
    there = _bare(inventory.ids()) if moves else set()
    return {old: new for old, new in moves.items() if old in there}
