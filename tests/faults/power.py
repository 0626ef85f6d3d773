"""Power failures in the middle of a small story, and recovery from every image that the disk may show."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from phase_gate.gate.codec import state_to_json
from phase_gate.gate.state import Event
from phase_gate.storage.files import FileSystem
from phase_gate.storage.memory import Memory
from phase_gate.storage.repair import repair
from phase_gate.storage.store import TaskStore
from phase_gate.values import Value
from tests.faults.disk import Forgetful, Image, Killed
from tests.faults.invariants import assert_streak_has_evidence
from tests.faults.pictures import DAMAGED, take_picture
from tests.storage.stores import BEGIN, declare

Step = Callable[[TaskStore], object]


class Recovered(Value):
    moments: int
    images: int


def store_in(root: Path, files: FileSystem | None = None) -> TaskStore:
    files = files or FileSystem()
    folder = root / "project" / ".phase-gate"
    memory = Memory(root / "home" / "seen.json", folder, files)
    return TaskStore(folder, task="default", memory=memory, files=files)


def begin_task(store: TaskStore) -> None:
    with store.transaction() as change:
        change.record(*BEGIN)


def start_run(store: TaskStore) -> None:
    with store.transaction() as change:
        rules = store.objects.keep({"rules": "of the run"})
        change.record(Event(kind="run-started", data={"run": "r1", "phase": "RED", "tree": "t", "rules": rules}))


def end_run(store: TaskStore) -> None:
    with store.transaction() as change:
        inventory = store.objects.keep({"files": {"test_a.py": "x" * 3000}})
        data = {"run": "r1", "kind": "complete", "green": "green", "tree": "t", "iteration": 1, "metrics": {}}
        data |= {"inventory": inventory, "outcomes": store.objects.keep({}), "known": inventory}
        change.record(Event(kind="run-ended", data=data), Event(kind="rewound", data={"why": "y" * 2000}))


def damage(store: TaskStore) -> None:
    """Change the last line by hand: not a step that is recovered from, but what a repair begins with."""
    raw = store.ledger_file.read_bytes()
    store.ledger_file.write_bytes(raw.replace(b'"name":"one"', b'"name":"own"'))


STEPS: tuple[tuple[str, Step], ...] = (
    ("begin", begin_task),
    ("start", start_run),
    ("end", end_run),
    ("declare", lambda store: declare(store, "one")),
    ("repair", repair),
    ("declare again", lambda store: declare(store, "two")),
)


class Story:
    """The steps on a forgetful disk; each image is recovered from in a real folder."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._scratch = place / "image"
        self.moments = self.images = 0

    def _prepare(self, upto: int, name: str) -> Forgetful:
        """Do the steps before this one, on a disk that has all of it."""
        root = self._place / name
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        (root / "project").mkdir()
        (root / "home").mkdir()
        for step, do in STEPS[:upto]:
            if step == "repair":
                damage(store_in(root))
            do(store_in(root))
        if STEPS[upto][0] == "repair":
            damage(store_in(root))
        disk = Forgetful(root)
        disk.adopt()
        return disk

    def fail_during(self, upto: int, *, step: int = 1) -> None:
        """Let the power fail after each call of one step, and after it."""
        disk = self._prepare(upto, "disk")
        old, images = take_picture(store_in(disk.root)), list[Image]()

        def note() -> None:
            self.moments += 1
            if self.moments % step == 0:
                images.extend(disk.images())

        disk.after_call = note
        STEPS[upto][1](store_in(disk.root, disk))
        disk.after_call = lambda: None
        new = take_picture(store_in(disk.root))
        assert old != new
        for image in images:
            self._recover(image, {old, new})
        for image in disk.images():
            self._recover(image, {new})

    def fail_after_kill(self, upto: int, *, step: int = 1) -> None:
        """Kill the process at each call, let another one do the step again; then the power fails."""
        at = 0
        while True:
            at += step
            disk = self._prepare(upto, "killed")
            old = take_picture(store_in(disk.root))
            disk.die_at = at
            try:
                STEPS[upto][1](store_in(disk.root, disk))
            except Killed:
                pass
            else:
                return
            disk.die_at, disk.open_files = 0, {}
            self.moments += 1
            if take_picture(store_in(disk.root)) == old:
                STEPS[upto][1](store_in(disk.root, disk))
            else:
                declare(store_in(disk.root, disk), "after the kill")
            new = take_picture(store_in(disk.root))
            for image in disk.images():
                self._recover(image, {new})

    def _recover(self, image: Image, allowed: set[str]) -> None:
        self.images += 1
        root = self._scratch
        shutil.rmtree(root, ignore_errors=True)
        (root / "project").mkdir(parents=True)
        for name, data in image.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        store = store_in(root)
        seen = take_picture(store)
        assert seen in allowed, f"{seen}\nis not among {allowed}\nin {sorted(image)}"
        if seen == DAMAGED:
            repair(store)
        elif not store.look().exists:
            begin_task(store)
        before = state_to_json(store.look().state)
        declare(store, "afterwards")
        assert state_to_json(store.look().state) != before
        list(store.lines())
        assert_streak_has_evidence(store)


def fail_everywhere(place: Path, *, step: int = 1) -> dict[str, Recovered]:
    """Return the moments and images of each step."""
    counts = {}
    for index, (name, _) in enumerate(STEPS):
        story = Story(place)
        story.fail_during(index, step=step)
        story.fail_after_kill(index, step=step)
        counts[name] = Recovered(moments=story.moments, images=story.images)
    return counts
