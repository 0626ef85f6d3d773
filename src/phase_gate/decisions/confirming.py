"""`--phase-confirm-room`: a run in the room with the frozen tests, and what the room does not have beside it.

Runs in a process of its own, which loads nothing of the project's: it starts both pieces, hears what they showed, and
makes one run of them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from phase_gate.errors import ShardError
from phase_gate.gate.criteria import Criteria
from phase_gate.gate.forked import forked_child
from phase_gate.gate.outcomes import FAILING, Bucket
from phase_gate.gate.record import SessionFacts
from phase_gate.project import Project
from phase_gate.proof.rooms import Rooms, name_laid_in
from phase_gate.proof.task import find_rooms
from phase_gate.recording.closing import Finished, write_end
from phase_gate.recording.confirm import Confirmation
from phase_gate.recording.early import LINE_VARIABLE
from phase_gate.recording.run import RecordedRun, Request
from phase_gate.recording.session import make_record
from phase_gate.rooms.conversation import Heard
from phase_gate.rooms.copied import room_folder
from phase_gate.rooms.room import Kind, NoRoomError, Room, Visit, visit_project, visit_room
from phase_gate.shards import PIECE
from phase_gate.shards.combining import criteria_of
from phase_gate.shards.files import shard_from_json
from phase_gate.shards.joining import join_pieces
from phase_gate.shards.record import Part, Shard
from phase_gate.storage.fork_marks import read_mark
from phase_gate.storage.root import relative_id
from phase_gate.storage.signal_file import read_signal_file
from phase_gate.storage.store import now
from phase_gate.task import Task
from phase_gate.values import Value, replace
from phase_gate.visible import count
from phase_gate.workflow.model import Tests

#: Outcomes with which a run is not green.
_BAD = FAILING | {Bucket.UNCOLLECTABLE}
#: Tests that a note names.
_NAMED = 3


class RoomlessError(Exception):
    """No room could be made, or what ran in it says nothing; says why."""


class Confirmed(Value):
    """The run that was made."""

    project: Project
    tests: Tests
    finished: Finished
    exit_status: int
    has_collection_errors: bool


def confirm_in_room(
    asked: Confirmation, *, kind: Kind | None = None, show: Callable[[str], None] = lambda text: None
) -> Confirmed:
    """Make the run. Raises RoomlessError where there is no room for it; then nothing was counted.

    :param kind: insists on one kind of room.
    """
    project = Project.find(Path(asked.start), environment=dict(os.environ), task=asked.task, folder=asked.folder)
    store = project.store("pytest --phase-confirm-room")
    opened = store.look()
    task = Task(project, store, opened.state, opened=opened)
    request = Request(
        phase=asked.phase,
        exit_signal=asked.exit_signal,
        confirming=(asked.index, asked.total),
        confirms=True,
        arguments=(*asked.arguments, "--phase-confirm-room"),
        signal=read_signal_file(store.signal_file),
        reports=asked.written,
    )
    run = RecordedRun(project, task.rules, store, request)
    run.check_order(opened)
    run.show = show
    assert run.phase is not None, "the order was checked"
    rooms = find_rooms(task, run.phase, project.take_tree(reports=run.reports).files, at=now())
    if isinstance(rooms, str):
        raise RoomlessError(rooms)
    began = time.time()
    try:
        run.begin()
        pieces = _Pieces(run, asked, rooms, kind)
        try:
            facts = pieces.run()
        except RoomlessError as reason:
            _end_void(run, str(reason), began)
            raise
        criteria = criteria_of(run, pieces.done[0]) if pieces.done else Criteria()
        record = make_record(run, facts, criteria, began=began, is_output=pieces.written.__contains__)
        finished = write_end(run, record)
    finally:
        run.close()
    return Confirmed(
        project=project,
        tests=run.phase.tests,
        finished=finished,
        exit_status=facts.exit_status,
        has_collection_errors=bool(facts.collection_errors) and not facts.interrupted,
    )


def _end_void(run: RecordedRun, why: str, began: float) -> None:
    """End a run that nothing came of: it counts neither for nor against the streak."""
    facts = SessionFacts(
        outcomes={},
        exit_status=0,
        tally={},
        duration_s=time.time() - began,
        is_void=True,
        interrupted=f"no room: {why}",
    )
    write_end(run, make_record(run, facts, Criteria(), began=began, is_output=lambda path: False))


class _Pieces:
    """Both pieces of a run."""

    def __init__(self, run: RecordedRun, asked: Confirmation, rooms: Rooms, kind: Kind | None) -> None:
        self._run, self._asked, self._rooms, self._kind = run, asked, rooms, kind
        self._root = os.path.realpath(run.project.root)
        #: Those that wrote something down.
        self.done: list[Shard] = []
        self._notes: tuple[str, ...] = ()

    @property
    def written(self) -> set[str]:
        """Files that tests use and that the pieces have written."""
        return {path for piece in self.done for path in piece.written}

    def run(self) -> SessionFacts:
        """Return what they showed together."""
        room = self._rooms.treatment()
        inside, missing = self._run_in(room)
        if inside.facts is not None and _is_bad(inside.facts):
            room, inside = self._try_wider(room, inside, missing)
        self.done = [inside]
        facts = inside.facts
        if facts is None:
            return _broken_off("pytest ended in the room before its time")
        # With all files as they were, the room has everything that the project has.
        has_more = bool(room.contents or room.left_out)
        if has_more and not facts.interrupted and Bucket.NOT_RUN not in facts.outcomes.values():
            beside = self._run_beside(inside)
            self.done += [] if beside is None else [beside]
            if beside is None or beside.facts is None:
                return _broken_off("pytest ended beside the room before its time")
        try:
            joined = join_pieces(self.done)
        except ShardError as error:
            return _broken_off(error.problem)
        notes = (*joined.notes, *self._notes, *_name_failing(facts))
        return replace(joined, surroundings=self._run.surroundings, notes=notes)

    def _try_wider(self, room: Room, inside: Shard, missing: Sequence[str]) -> tuple[Room, Shard]:
        """Run once more with files that tests turn out to need, and say which; what fails then fails without them."""
        needed = self._rooms.needed(missing)
        if not needed:
            return room, inside
        wider = self._rooms.treatment(needed)
        again, _ = self._run_in(wider)
        if again.facts is None or _is_bad(again.facts):
            return room, inside
        self._notes = (name_laid_in("the tests in the room", needed),)
        return wider, again

    # --- one piece

    def _run_in(self, room: Room) -> tuple[Shard, Sequence[str]]:
        """Return what ran in the room, and the modules that were not found. Raises RoomlessError if it says nothing."""
        with room_folder() as aside:
            visit = self._visit("room", aside / "forked", outer=self._root, arguments=self._arguments(room))
            try:
                visited = visit_room(room, visit, kind=self._kind)
            except NoRoomError as error:
                raise RoomlessError(str(error)) from None
            heard = visited.heard
            shard = self._read(heard, visited.folder, aside / "forked")
        if heard.is_interrupted and (shard is None or shard.facts is None):
            raise KeyboardInterrupt
        if shard is None or (shard.facts is not None and shard.facts.is_void):
            raise RoomlessError(f"pytest did not start in the room with what was typed (exit status {heard.status})")
        ended = next((answer for answer in heard.answers if answer["kind"] == "ended"), None)
        if ended is None:
            return replace(shard, facts=None), ()
        if visited.kind == "copied" and ended["strays"]:
            raise RoomlessError(f"{ended['strays'][0]} was imported from the project itself, not from the room")
        return shard, ended["missing"]

    def _run_beside(self, inside: Shard) -> Shard | None:
        outcomes = inside.shown.outcomes
        broken = [test_id for test_id, bucket in outcomes.items() if bucket is Bucket.UNCOLLECTABLE]
        with room_folder() as aside:
            visit = self._visit(
                "beside",
                aside / "forked",
                arguments=self._asked.arguments,
                left_out=sorted({*inside.collected, *outcomes}),
                uncollectable=broken,
            )
            heard = visit_project(self._run.project.root, visit)
            shard = self._read(heard, self._root, aside / "forked")
        if heard.is_interrupted and (shard is None or shard.facts is None):
            raise KeyboardInterrupt
        return shard

    def _visit(
        self,
        part: Part,
        mark: Path,
        *,
        arguments: Sequence[str],
        outer: str = "",
        left_out: Sequence[str] = (),
        uncollectable: Sequence[str] = (),
    ) -> Visit:
        asked, run = self._asked, self._run
        ours = [f"--phase={asked.phase}", f"--phase-shard={PIECE}", *(["--no-cov"] if asked.has_coverage else [])]
        order: dict[str, Any] = {
            "part": part,
            "index": 1 if part == "room" else 2,
            "total": 2,
            "mark": str(mark),
            "outer": outer,
            "left_out": list(left_out),
            "uncollectable": list(uncollectable),
            "criteria": run.criteria_given,
            "freezes": run.freezes,
        }
        return Visit(
            command=asked.command,
            arguments=(*arguments, *ours),
            order=order,
            variable=LINE_VARIABLE,
            environment=dict(os.environ),
            here=os.path.relpath(os.path.realpath(asked.start), self._root),
            is_shown=True,
        )

    def _arguments(self, room: Room) -> list[str]:
        """Return what was typed, without files that the room does not have."""
        asked = self._asked
        start, root = Path(asked.start), self._run.project.root
        late = {word for word in asked.files if relative_id(start / word.partition("::")[0], root) in room.left_out}
        if late and late == set(asked.files):
            raise RoomlessError("every file that was asked for came after RED")
        return [word for word in asked.arguments if word not in late]

    def _read(self, heard: Heard, folder: str, mark: Path) -> Shard | None:
        """Return the last record that a piece has sent, with the paths of the project."""
        documents = [answer["shard"] for answer in heard.answers if answer["kind"] == "shard"]
        if not documents:
            return None
        text = json.dumps(documents[-1]).replace(json.dumps(folder)[1:-1], json.dumps(self._root)[1:-1])
        shard = shard_from_json(json.loads(text), file="")
        late = read_mark(mark)
        if shard.facts is None or not late:
            return shard
        doubts = dict.fromkeys((*shard.facts.doubts, *map(forked_child, late)))
        return replace(shard, facts=replace(shard.facts, doubts=tuple(doubts)))


def _is_bad(facts: SessionFacts) -> bool:
    return not facts.interrupted and any(bucket in _BAD for bucket in facts.outcomes.values())


def _name_failing(facts: SessionFacts) -> Iterator[str]:
    """Say what fails in the room: outside it may pass, and the user would look for the reason in vain."""
    failing = sorted(test_id for test_id, bucket in facts.outcomes.items() if bucket in _BAD)
    if failing:
        more = f" and {len(failing) - _NAMED} more" if len(failing) > _NAMED else ""
        said = f"{count(len(failing), 'test')} fail{'s' * (len(failing) == 1)} in the room"
        yield f"{said}, where only the frozen tests and the sources are: {', '.join(failing[:_NAMED])}{more}"


def _broken_off(why: str) -> SessionFacts:
    return SessionFacts(outcomes={}, exit_status=1, tally={}, duration_s=0.0, interrupted=why)


def may_run_outside(asked: Confirmation) -> bool:
    """Tell whether the run may be made outside: not where the project wants a proof, and has no other one in mind."""
    project = Project.find(Path(asked.start), environment=dict(os.environ), task=asked.task, folder=asked.folder)
    proof = project.configuration.proof
    is_by_base = proof.base and not project.store("").look().state.freeze.red_exited
    return proof.mode != "required" or bool(is_by_base)
