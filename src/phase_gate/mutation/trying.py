"""Try mutants: the tests in a room without any, then each mutant in a room of its own, several side by side."""

from __future__ import annotations

import os
import posixpath
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.mutation.choosing import choose_tests, limit_of
from phase_gate.mutation.model import Baseline, Mutant, Tried
from phase_gate.rooms.room import NoRoomError, Room
from phase_gate.rooms.testing import Report, RoomRun, run_in_room
from phase_gate.values import Value


class Ground(Value):
    """The project, and what its tests run with."""

    root: Path
    #: File -> its text, of those with new code.
    sources: Mapping[str, str]
    #: Files with tests.
    test_files: tuple[str, ...]
    #: Tests of this cycle, without their parameters.
    targets: tuple[str, ...] = ()
    #: Tests that did not pass in the last complete run either.
    excused: frozenset[str] = frozenset()
    #: What pytest is called with.
    words: tuple[str, ...] = ()

    def room(self, changed: Mapping[str, str]) -> Room:
        return Room(
            root=self.root,
            # Those that did not change too: the run tells whether they were imported from the room.
            contents={path: text.encode("utf-8") for path, text in {**self.sources, **changed}.items()},
            folders=frozenset(map(posixpath.dirname, self.sources)),
        )


class BaselineError(Exception):
    """The tests can't be run in a room as they are, or do not pass there; says why."""


def make_baseline(ground: Ground, *, seconds: float) -> Baseline:
    """Run the tests in a room, and watch which lines of the sources each of them reaches. Raises BaselineError."""
    arguments = (*ground.words, *ground.test_files)
    run = _enter(ground.room({}), arguments, timeout=seconds, lines=ground.sources)
    if run.is_late:
        raise BaselineError(f"the tests took longer than {seconds:g} s in a room; give them more: --seconds N")
    if run.problem:
        raise BaselineError(f"the tests can't be run in a room: {run.problem}")
    failed = [(test_id, report) for test_id, report in run.reports.items() if _has_failed(report)]
    for test_id, report in failed:
        if test_id not in ground.excused or bare_id(test_id) in ground.targets:
            raise BaselineError(f"{test_id} fails in a room without any mutant: {report.message or 'no reason given'}")
    seconds_of: dict[str, float] = {}
    for test_id, report in run.reports.items():
        if report.has_passed:
            seconds_of[bare_id(test_id)] = seconds_of.get(bare_id(test_id), 0.0) + report.seconds
    for test_id, _ in failed:
        seconds_of.pop(bare_id(test_id), None)  # it notices everything
    if not seconds_of:
        raise BaselineError("no test passes in a room")
    reach = run.reach
    lines = {} if reach is None else reach.lines
    spent = sum(report.seconds for report in run.reports.values())
    return Baseline(
        lines={
            path: {str(line): tuple(sorted(set(map(bare_id, tests)))) for line, tests in rows.items()}
            for path, rows in lines.items()
        },
        tests=seconds_of,
        overhead=max(0.0, run.seconds - spent),
        room=run.kind,
        blind="nothing was told" if reach is None else reach.problem,
    )


def _enter(
    room: Room,
    arguments: tuple[str, ...],
    *,
    timeout: float,
    lines: Iterable[str] = (),
    wanted: Iterable[str] = (),
    first_failure_ends: bool = False,
    give_up: Callable[[], bool] = lambda: False,
) -> RoomRun:
    try:
        return run_in_room(
            room,
            arguments,
            timeout=timeout,
            lines=lines,
            wanted=wanted,
            first_failure_ends=first_failure_ends,
            give_up=give_up,
        )
    except (NoRoomError, OSError) as error:
        raise BaselineError(str(error)) from error


def _has_failed(report: Report) -> bool:
    return not report.has_passed and not report.is_skipped


def try_mutants(
    ground: Ground,
    baseline: Baseline,
    mutants: Iterable[Mutant],
    *,
    workers: int,
    ends_at: float,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Tried]:
    """Yield what becomes of them, as soon as it is known; of those that time is left for.

    Where the caller stops, by an interrupt say, all that runs is ended.

    :param ends_at: on the clock: what is not done by then is left for another call.
    """
    waiting = iter(mutants)
    lock, stopped = threading.Lock(), threading.Event()
    done: queue.SimpleQueue[Tried | BaseException | None] = queue.SimpleQueue()

    def is_over() -> bool:
        return stopped.is_set() or clock() >= ends_at

    def work() -> None:
        try:
            while not is_over():
                with lock:
                    mutant = next(waiting, None)
                tried = None if mutant is None else try_mutant(ground, baseline, mutant, give_up=is_over)
                if tried is None:
                    break
                done.put(tried)
        except BaseException as error:
            done.put(error)
        done.put(None)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        open_threads = len(threads)
        while open_threads:
            found = done.get()
            if found is None:
                open_threads -= 1
            elif isinstance(found, BaseException):
                raise found
            else:
                yield found
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def try_mutant(
    ground: Ground, baseline: Baseline, mutant: Mutant, *, give_up: Callable[[], bool] = lambda: False
) -> Tried | None:
    """Run the tests that reach a mutant with it; None where there was no time to see how they end."""
    tests = choose_tests(mutant, baseline, ground.targets)
    source = ground.sources[mutant.file]
    files = tuple(dict.fromkeys(split_id(test)[0] for test in tests))
    run = _enter(
        ground.room({mutant.file: mutant.apply(source)}),
        (*ground.words, *files),
        timeout=limit_of(tests, baseline),
        wanted=tests,
        first_failure_ends=True,
        give_up=give_up,
    )
    tried = judge_run(mutant, tests, run, diff=mutant.diff(source))
    return None if tried.verdict == "timeout" and give_up() else tried


def judge_run(mutant: Mutant, tests: tuple[str, ...], run: RoomRun, *, diff: str) -> Tried:
    """Return what a run with a mutant says about it. Pure."""

    def tell(verdict: str, *, by: str = "", why: str = "") -> Tried:
        return Tried(
            mutant=mutant,
            verdict=verdict,  # type: ignore[arg-type]
            tests=tests,
            by=by,
            why=why,
            diff=diff,
            seconds=round(run.seconds, 2),
        )

    failed = next(((test_id, each) for test_id, each in run.reports.items() if _has_failed(each)), None)
    if failed is not None:
        return tell("killed", by=failed[0], why=failed[1].message)
    if run.is_late:
        return tell("timeout", why=run.problem)
    if not run.has_ended:
        # Without the mutant they came to their end: it made pytest crash, or broke what the tests import.
        return tell("killed", why=run.problem)
    if run.problem:
        return tell("unknown", why=run.problem)
    if not any(each.has_passed for each in run.reports.values()):
        # They were there, and passed, without it.
        return tell("killed", why="no test ran any more")
    return tell("survived")


def usable_processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1
