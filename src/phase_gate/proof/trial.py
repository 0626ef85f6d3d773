"""The input of an experiment, and the files of its sandboxes: which are restored, left out, or added again.

The project's files are saved for it when a phase ends, and when a cycle begins.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from phase_gate.codec import to_json
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.proof.sandbox import Sandbox
from phase_gate.source.pytest_settings import is_test_side
from phase_gate.storage.git_command import head_of
from phase_gate.storage.snapshots import FileSnapshot, hidden_sources, read_snapshot, take_snapshot
from phase_gate.values import Value, replace

#: The limit of a run is at least this multiple of the time that the targets took outside of a sandbox.
_TIMES = 20.0


class Trial(Value):
    """The targets of a proof, and the files and options to run them with."""

    root: Path
    #: The targets: test functions, without parameters.
    targets: tuple[str, ...]
    #: The project when RED exited.
    then: FileSnapshot
    #: Path -> content id of the current files.
    now: Mapping[str, str]
    #: Test files and their support files. Every sandbox has them as they were.
    frozen: frozenset[str]
    #: Arguments of pytest: in RED, or those that choose its settings.
    words: tuple[str, ...] = ()
    #: Sources that contain parts of tests (examples, inherited tests, assert helpers), whose failures count as checks.
    sources_with_tests: frozenset[str] = frozenset()
    #: Seconds for each run. The limit is higher if the targets took long outside.
    seconds: float
    #: Seconds that the targets took outside, with the change, if all of them passed. None if unknown.
    took: float | None = None
    #: Whether to run them without the change, too. In REFACTOR they pass without it.
    has_control: bool = True
    #: Frozen files that every sandbox has in their current version, because their changes are waived.
    as_now: frozenset[str] = frozenset()
    #: The project at the start of the cycle, before RED. None if unknown.
    began: FileSnapshot | None = None
    #: The trial is for a change to be reviewed, not for a step of a task. There was no RED.
    is_change: bool = False

    @property
    def limit(self) -> float:
        """The seconds that one run in a sandbox may take."""
        return max(self.seconds, _TIMES * (self.took or 0.0))


class Sandboxes:
    """The sandboxes of one trial. Raises SnapshotError if a file of the snapshot can no longer be read."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        #: New or changed files.
        self.changed = {path for path, content in trial.now.items() if trial.then.files.get(path) != content}
        deleted = trial.then.files.keys() - trial.now.keys()
        #: Compiled modules of changed sources, which would hide the sources, and bytecode next to deleted ones.
        self._built = _beside(self.changed - trial.frozen, EXTENSION_SUFFIXES)
        self._left_behind = _beside(deleted, BYTECODE_SUFFIXES)
        others = (self.changed & trial.then.files.keys()) | deleted
        #: Changed or deleted files that the snapshot does not have -> why.
        self.unkept = {path: why for path, why in trial.then.left_out.items() if path in others}
        #: Path -> earlier content, of changed or deleted files.
        self.before = read_snapshot(trial.then, trial.root, sorted(others - self.unkept.keys()))

    @cached_property
    def _folders(self) -> frozenset[str]:
        trial = self._trial
        return frozenset(posixpath.dirname(path) for path in (*trial.now, *trial.then.files) if path.endswith(".py"))

    @cached_property
    def _late(self) -> frozenset[str]:
        """The files that were added to the tests after RED. The frozen tests must not need them."""
        added = self._trial.now.keys() - self._trial.then.files.keys()
        return frozenset(filter(is_test_side, added)) - self._trial.as_now

    def control(self) -> Sandbox:
        """Return the project as it was."""
        trial = self._trial
        return Sandbox(
            root=trial.root,
            contents={path: data for path, data in self.before.items() if path not in trial.as_now},
            left_out=frozenset(trial.now.keys() - trial.then.files.keys() - trial.as_now) | self._built,
            folders=self._folders,
        )

    def treatment(self, laid_in: Collection[str] = ()) -> Sandbox:
        """Return the current sources with the tests as they were.

        :param laid_in: files that were added later, and are included nevertheless.
        """
        trial = self._trial
        as_then = trial.frozen - trial.as_now
        return Sandbox(
            root=trial.root,
            contents={path: data for path, data in self.before.items() if path in as_then},
            left_out=(self._late - set(laid_in)) | self._built | self._left_behind,
            folders=self._folders,
        )

    @cached_property
    def changed_twice(self) -> frozenset[str]:
        """The files that RED changed, and that changed again afterwards. RED may have broken them."""
        began, then = self._trial.began, self._trial.then
        if began is None or not self._trial.has_control:
            return frozenset()
        touched = {*self.changed, *self.before} - self._trial.frozen - began.left_out.keys()
        return frozenset(path for path in touched if began.files.get(path) != then.files.get(path))

    def beginning(self) -> Sandbox:
        """Return the project as it was in RED, but with `changed_twice` as they were at the start of the cycle."""
        began, control = self._trial.began or FileSnapshot(), self.control()
        there = self.changed_twice & began.files.keys()
        contents = {path: data for path, data in control.contents.items() if path not in self.changed_twice}
        return replace(
            control,
            contents={**contents, **read_snapshot(began, self._trial.root, sorted(there))},
            left_out=(control.left_out | self.changed_twice) - there,
        )

    def needed(self, missing: Iterable[str]) -> list[str]:
        """Return the left-out files that failing tests may need: missing modules, else data.

        :param missing: names of modules that could not be found.
        """
        late = sorted(self._late)
        names = {name.replace(".", "/") for name in missing if name}
        modules = [
            path
            for path in late
            if path.endswith(".py")
            and any(f"/{path}".endswith((f"/{name}.py", f"/{name}/__init__.py")) for name in names)
        ]
        return modules or [path for path in late if not path.endswith(".py")]


def _beside(sources: Iterable[str], suffixes: Iterable[str]) -> frozenset[str]:
    """Return the paths of these sources with other suffixes."""
    stems = [path.removesuffix(".py") for path in sources if path.endswith(".py")]
    return frozenset(f"{stem}{suffix}" for stem in stems for suffix in suffixes)


# --- what is saved for a later trial


class ProofProvider(Provider):
    """Saves the files. The proof is made when a phase would exit, and recorded in the ledger."""

    def remember(self, context: EvidenceContext) -> Any:
        if context.configuration.proof.mode == "off":
            return None
        files = context.files()
        return to_json(take_snapshot(context.root, {**files, **hidden_sources(files, context.beside())}))


class BeginningProvider(Provider):
    """Saves the files from the start of a cycle: those that the last green cycle left, else the last commit.

    The first run of RED would be too late, because its tests, and perhaps stubs, are written by then.
    """

    def remember(self, context: EvidenceContext) -> Any:
        left = context.recall("proof at exit") or context.recall("proof")
        commit = "" if left else head_of(context.root)
        return left or (to_json(FileSnapshot(commit=commit)) if commit else None)


PROVIDER, BEGINNING = ProofProvider(), BeginningProvider()
