"""Sweep one operation: something happens at its first call of the file system, then at its second, and so on.

After each fault the task is what an operation without a fault makes of it, before or after one of its transactions;
what was acknowledged is there; a failure names its cause; and the next command works without any repair by hand.
"""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

from phase_gate.errors import TamperedError
from phase_gate.gate.state import State, state_to_json
from phase_gate.storage.lock import is_free
from phase_gate.storage.signal_file import read_signal_file
from phase_gate.storage.store import TaskStore
from phase_gate.values import Value
from tests.faults.file_system import KILLS, applies
from tests.faults.project import ANSWER, GATE, PAPERS, PYTEST, STEPS, Ended, Operation, Plan, Project

SUMMARY = re.compile(r"=+ .*\b\d+ (?:passed|failed)\b.* in [\d.]+s")

# --- pictures: what a task looks like, without what differs from one run to the next ---------------------------------

#: A task that is refused: nothing of it can be seen.
DAMAGED = "damaged"
_RUN, _TIME = re.compile(r"\b[0-9a-f]{16}\b"), re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_VOLATILE = frozenset({"at", "duration_s", "targets_s"})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in sorted(value.items()) if key not in _VOLATILE}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return _TIME.sub("TIME", _RUN.sub("RUN", value)) if isinstance(value, str) else value


def _picture(store: TaskStore, state: State, *, with_signal: bool = True) -> str:
    # The identity of a signal that was spent contains its file's time.
    document = {name: value for name, value in state_to_json(state).items() if name != "spent_signal"}
    found = read_signal_file(store.signal_file, spent=state.spent_signal) if with_signal else None
    waiting = None if found is None else (found.problem or found.answer)
    return json.dumps([_plain(document), waiting], sort_keys=True)


def take_picture(store: TaskStore) -> str:
    """Return what the real reader makes of the task."""
    try:
        opened = store.read()
        store.check_objects(opened.state)
    except TamperedError:
        return DAMAGED
    return _picture(store, opened.state)


def pictures_on_the_way(store: TaskStore, *, after: int, waiting: str | None) -> set[str]:
    """Return the task after each transaction later than that line, with the signal that waited before them."""
    found = set()
    for line, opened in store.states():
        if not line.more and line.seq > after:
            document, _ = json.loads(_picture(store, opened.state, with_signal=False))
            found.add(json.dumps([document, waiting], sort_keys=True))
    return found


def _without_gate_2(seen: str) -> str:
    """Return a picture without Gate 2, and without what follows from it."""
    document, _ = json.loads(seen)
    for name in ("exited", "breaker"):
        document.pop(name, None)
    document.get("memory", {}).pop("exit", None)
    if verdict := document.get("evaluation"):
        document["evaluation"] = {name: verdict[name] for name in ("phase", "iteration", "run", "gate_1")}
    return json.dumps(document, sort_keys=True)


def _could_not_read_signal(seen: str, cause: str) -> bool:
    """Tell whether the verdict reports that the signal could not be read, and stays closed."""
    document = json.loads(seen)[0]
    verdict = document.get("evaluation") or {}
    gate_2 = verdict.get("gate_2", {})
    is_said = gate_2.get("answer") == "malformed" and cause in gate_2.get("problem", "")
    return is_said and verdict["status"] != "open" and not document.get("exited")


# --- the sweep -------------------------------------------------------------------------------------------------------


class Swept(Value):
    visited: int
    problems: tuple[str, ...]


class Sweeper:
    """One operation in one place, as often as it takes."""

    def __init__(self, operation: Operation, place: Path) -> None:
        self.operation = operation
        self.project = Project(place, operation.task)
        self._continued: set[tuple[object, ...]] = set()
        operation.story(self.project)
        self.project.keep()
        self.project.restore()
        store = self.project.store
        old = take_picture(store)
        serial = 0 if old == DAMAGED else store.read().serial
        ended = self._operate(Plan())
        assert ended.code == operation.code, ended.text
        self.calls = ended.calls
        assert self.calls, "the operation bypasses the file system"
        self._new = take_picture(store)
        on_the_way = set[str]()
        if not operation.repairs:
            on_the_way = pictures_on_the_way(store, after=serial, waiting=json.loads(old)[1])
        self._allowed = {old, *on_the_way, self._new}

    def _operate(self, plan: Plan) -> Ended:
        return self.project.run(*self.operation.words, plan=plan, at_terminal=self.operation.at_terminal)

    def sweep(self, kind: str, *, for_good: bool = False, step: int = 1, first: int = 1) -> Swept:
        """Visit every `step`th call."""
        visited, problems = 0, []
        for at in range(first, len(self.calls) + 1, step):
            if not for_good and not applies(kind, self.calls[at - 1]):
                continue
            self.project.restore()
            ended = self._operate(Plan(at=at, kind=kind, for_good=for_good))
            visited += bool(ended.hits)
            try:
                self._check(ended, kind)
            except Exception as problem:
                problems.append(f"{kind}{' for good' * for_good} at {at} ({self.calls[at - 1]}): {problem!r}")
        return Swept(visited=visited, problems=tuple(problems))

    def _check(self, ended: Ended, kind: str) -> None:
        operation, store = self.operation, self.project.store
        cause = "" if kind == "short" or kind in KILLS else os.strerror(getattr(errno, kind))
        if kind in KILLS:
            assert ended.code == -9 or not ended.hits, ended.text
        else:
            assert_output_complete(operation, ended)
            assert ended.code == operation.code or (cause and cause in ended.flat), f"{cause!r} is not in {ended.text}"
        assert is_free(store.lock_file), "the lock is still held"
        if operation.task != "default":
            self._finish_task()
            return
        seen = take_picture(store)
        if cause and seen != DAMAGED and _could_not_read_signal(seen, cause):
            assert _without_gate_2(seen) in {_without_gate_2(each) for each in self._allowed if each != DAMAGED}
        else:
            assert seen in self._allowed, f"neither old nor new: {seen}"
            if kind not in KILLS and ended.code == operation.code:
                assert seen == self._new, f"acknowledged, and not there: {seen}"
        # To continue takes longer than the fault: once for each state of the files that a fault leaves.
        key = (seen, _files_of(store.folder), ended.code)
        if key not in self._continued:
            self._continued.add(key)
            assert_life_goes_on(self.project, is_damaged=seen == DAMAGED)

    def _finish_task(self) -> None:
        """The step is done or not, never half; the same command again, and those after it, finish the task."""
        project, task = self.project, self.operation.task
        project.write({"answer.py": ANSWER})
        for words in STEPS[STEPS.index(self.operation.words[1:]) :]:
            project.write({"verdict.yaml": PAPERS["verdict.yaml"]})
            ended = project.run(GATE, *words)
            assert ended.code in (0, 13), ended.text
        status = json.loads(project.run(GATE, "verify", "status", "--json", "--task", task).out)
        assert status["gate_status"] == "APPROVED"
        assert status["commit_sha"]
        assert_chain_holds(project, "--task", task)
        log = project.root / ".git" / "logs" / "HEAD"
        assert len(log.read_text(encoding="utf-8").splitlines()) == 2, "committed once"


def _files_of(folder: Path) -> tuple[str, ...]:
    """Return which files there are, numbers and random parts left out."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return tuple(sorted(re.sub(r"\.\d+\.tmp$", ".tmp", _RUN.sub("RUN", name)) for name in names))


def assert_output_complete(operation: Operation, ended: Ended) -> None:
    """Whatever happened to us, the user's tests ran and pytest's own output is complete."""
    assert "INTERNALERROR" not in ended.text, ended.text
    assert "Traceback" not in ended.err, ended.text
    if operation.is_run:
        assert [text for text in operation.shows if text not in ended.out] == [], ended.text
        assert SUMMARY.search(ended.out), ended.text


def assert_chain_holds(project: Project, *words: str) -> None:
    """Every line follows the one before, by the reader and by the command."""
    list(project.store.lines())
    audited = project.run(GATE, "audit", *words)
    assert audited.code == 0, audited.text


def assert_streak_has_evidence(store: TaskStore) -> None:
    """The streak is not higher than the complete green runs in a row that the ledger shows."""
    runs = 0
    for line in store.lines():
        kind, data = line.event.kind, line.event.data
        if kind in ("run-lost", "phase-entered", "repaired", "rollback-accepted"):
            runs = 0
        elif kind == "run-ended":
            if data["kind"] == "complete" and data["green"] == "green":
                runs += 1
            elif data["green"] == "not-green" or data["kind"] == "empty":
                runs = 0
    assert store.read().state.streak <= runs


def assert_life_goes_on(project: Project, *, is_damaged: bool = False) -> None:
    """The next run works, and a run that was lost is reported as lost."""
    store, is_lost = project.store, False
    if is_damaged:
        project.must(0, GATE, "audit", "--repair")  # the repair that did not happen
    else:
        assert_chain_holds(project)
        assert_streak_has_evidence(store)
        state = store.read().state
        is_lost = bool(state.open_runs)
        assert store.lost_runs(state) == tuple(run.id for run in state.open_runs), "a dead run holds its lock"
    if is_lost:
        checked = project.run(GATE, "check")
        assert (checked.code, "began and never ended" in checked.flat) == (10, True), checked.text
    before = store.read().serial
    following = project.run(*PYTEST, "--phase=auto")
    assert following.code in (0, 10), following.text
    assert SUMMARY.search(following.out), following.text
    after = store.read()
    assert after.serial > before
    assert not after.state.open_runs
    assert ("was lost: it never ended" in following.flat) == is_lost, following.text
    assert_chain_holds(project)
    assert_streak_has_evidence(store)
