"""What is tried, and what lies in the sandboxes: which files are as they were, are left out, or are laid in again."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES
from pathlib import Path

from phase_gate.proof.sandbox import Limits, Sandbox
from phase_gate.source.pytest_settings import is_test_side
from phase_gate.storage.snapshots import FileSnapshot, read_snapshot
from phase_gate.values import Value, replace

#: Seconds of processors that a run in a sandbox may take, unless the project says otherwise.
DEFAULT_SECONDS = 30.0
#: How much longer than outside: so many times as long by the processor, and by the clock.
_TIMES, _TIMES_BY_CLOCK = 10.0, 20.0
#: The clock may run so many times as long as the processor at least: the machine may be busy.
_CLOCK = 4.0


class Trial(Value):
    """What is to be proven, and with what."""

    root: Path
    #: The targets: test functions, without parameters.
    targets: tuple[str, ...]
    #: The project when RED exited.
    then: FileSnapshot
    #: Path -> content id, of the files as they are now.
    now: Mapping[str, str]
    #: The files of the tests and of what gives them their meaning: they are as they were, in every sandbox.
    frozen: frozenset[str]
    #: What pytest was called with in RED, as far as it changes what tests mean.
    options: tuple[str, ...] = ()
    #: What else was typed in RED: plugins, and options of plugins and of the project.
    words: tuple[str, ...] = ()
    #: Sources with parts of tests in them (examples, inherited tests, assert helpers): what fails there is their check.
    sources_with_tests: frozenset[str] = frozenset()
    #: Seconds of processors that each run may take, where the targets took less than a tenth of that outside.
    seconds: float = DEFAULT_SECONDS
    #: Seconds that the targets took outside, with the change, where all of them passed; None: that is not known.
    took: float | None = None
    #: Whether they are to be tried without the change, too: in REFACTOR they pass without it as well.
    has_control: bool = True
    #: Those of the frozen files that are in every sandbox as they are now: a person has let their changes pass.
    as_now: frozenset[str] = frozenset()
    #: The project when the cycle began, before RED; None: that is not known.
    began: FileSnapshot | None = None
    #: It is a change that people will look at, and no step of a task: there was no RED.
    is_change: bool = False

    @property
    def limits(self) -> Limits:
        """What one run in a sandbox may take."""
        took = self.took or 0.0
        return Limits(
            processor=max(self.seconds, _TIMES * took), clock=max(_CLOCK * self.seconds, _TIMES_BY_CLOCK * took)
        )


class Sandboxes:
    """The sandboxes of one trial. Raises SnapshotError if a file that was kept can't be read any more."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        #: Files that are not what they were, and those that are gone.
        self.changed = {path for path, content in trial.now.items() if trial.then.files.get(path) != content}
        others = (self.changed & trial.then.files.keys()) | (trial.then.files.keys() - trial.now.keys())
        #: Those of them that were not kept.
        self.too_large = sorted(others & set(trial.then.too_large))
        #: What they were.
        self.before = read_snapshot(trial.then, trial.root, sorted(others - set(self.too_large)))

    @cached_property
    def _folders(self) -> frozenset[str]:
        trial = self._trial
        return frozenset(posixpath.dirname(path) for path in (*trial.now, *trial.then.files) if path.endswith(".py"))

    @cached_property
    def built(self) -> frozenset[str]:
        """The modules that were built from a source that has changed, and that git ignores: they would hide it."""
        trial = self._trial
        stems = [path.removesuffix(".py") for path in self.changed - trial.frozen if path.endswith(".py")]
        found = (f"{stem}{suffix}" for stem in stems for suffix in EXTENSION_SUFFIXES)
        return frozenset(path for path in found if path not in trial.now and (trial.root / path).exists())

    @cached_property
    def _left_behind(self) -> frozenset[str]:
        """The bytecode beside a source that is gone: a reviewer can't read what it does."""
        trial = self._trial
        gone = [path.removesuffix(".py") for path in trial.then.files.keys() - trial.now.keys() if path.endswith(".py")]
        return frozenset(f"{stem}{suffix}" for stem in gone for suffix in BYTECODE_SUFFIXES)

    def is_late(self, path: str) -> bool:
        """Tell whether a file came to the tests after RED: the frozen ones have to do without it."""
        return path not in self._trial.then.files and is_test_side(path)

    @cached_property
    def _late(self) -> frozenset[str]:
        return frozenset(path for path in self._trial.now if self.is_late(path)) - self._trial.as_now

    def control(self) -> Sandbox:
        """Return the project as it was."""
        trial = self._trial
        return Sandbox(
            root=trial.root,
            contents={path: data for path, data in self.before.items() if path not in trial.as_now},
            left_out=frozenset(trial.now.keys() - trial.then.files.keys() - trial.as_now) | self.built,
            folders=self._folders,
        )

    def treatment(self, laid_in: Collection[str] = ()) -> Sandbox:
        """Return the present sources with the tests as they were.

        :param laid_in: files that came later, and are there all the same.
        """
        trial = self._trial
        as_then = trial.frozen - trial.as_now
        return Sandbox(
            root=trial.root,
            contents={path: data for path, data in self.before.items() if path in as_then},
            left_out=(self._late | self.built) - set(laid_in) | self._left_behind,
            folders=self._folders,
        )

    @cached_property
    def changed_twice(self) -> frozenset[str]:
        """The files that RED had changed since the cycle began, and that changed again: it may have broken them.

        None where all are modules that came with RED, with stubs perhaps: what they hold was missing before.
        """
        began, then = self._trial.began, self._trial.then
        if began is None or not self._trial.has_control:
            return frozenset()
        touched = {path for path in {*self.changed, *self.before} - self._trial.frozen if not self.is_late(path)}
        differing = frozenset(path for path in touched if began.files.get(path) != then.files.get(path))
        is_new = all(path.endswith(".py") and path not in began.files for path in differing)
        return frozenset() if is_new else differing

    def beginning(self) -> Sandbox:
        """Return the project as it was in RED, with these files as they were when the cycle began."""
        began, control = self._trial.began or FileSnapshot(), self.control()
        there = self.changed_twice & began.files.keys()
        contents = {path: data for path, data in control.contents.items() if path not in self.changed_twice}
        return replace(
            control,
            contents={**contents, **read_snapshot(began, self._trial.root, sorted(there))},
            left_out=(control.left_out | self.changed_twice) - there,
        )

    def needed(self, missing: Iterable[str]) -> list[str]:
        """Return the left-out files that failing tests may ask for: missing modules, what was built, else data.

        :param missing: modules that could not be found.
        """
        late = sorted(self._late)
        names = {name.replace(".", "/") for name in missing if name}
        modules = [
            path
            for path in late
            if path.endswith(".py")
            and any(f"/{path}".endswith((f"/{name}.py", f"/{name}/__init__.py")) for name in names)
        ]
        built = sorted(self.built) if names else []
        return modules or built or [path for path in late if not path.endswith(".py")]
