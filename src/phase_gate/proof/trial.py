"""What is tried, and what lies in the sandboxes: which files are as they were, are left out, or are laid in again.

The trial of a task is made from the files, the tests and the options as they were when RED exited.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES
from pathlib import Path

from phase_gate.codec import from_json
from phase_gate.gate.findings import Finding
from phase_gate.gate.freeze import Frozen
from phase_gate.gate.inventory import bare_id
from phase_gate.gate.state import State
from phase_gate.proof.model import Proof
from phase_gate.proof.sandbox import Sandbox
from phase_gate.proof.talk import Limits
from phase_gate.source.pytest_settings import is_test_side
from phase_gate.storage.keeping import Kept, files_at_beginning, hidden_sources, read_kept
from phase_gate.storage.tree.contents import changed_before
from phase_gate.task import Task
from phase_gate.values import Value, field, replace
from phase_gate.workflow.model import Phase

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
    then: Kept
    #: Path -> content id, of the files as they are now.
    now: Mapping[str, str]
    #: The files of the tests and of what gives them their meaning: they are as they were, in every sandbox.
    frozen: frozenset[str]
    #: Targets that are as they were before the cycle: red by what is around them.
    old: frozenset[str] = frozenset()
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
    began: Kept | None = None
    #: All tests are those that lie there now: there was no RED.
    has_present_tests: bool = False
    #: Changed sources outside of the root, in the same repository: real path -> how it is shown.
    outside: Mapping[str, str] = field(default_factory=dict)

    @property
    def limits(self) -> Limits:
        """What one run in a sandbox may take."""
        took = self.took or 0.0
        return Limits(
            processor=max(self.seconds, _TIMES * took), clock=max(_CLOCK * self.seconds, _TIMES_BY_CLOCK * took)
        )


class Sandboxes:
    """The sandboxes of one trial. Raises LostError if a file that was kept can't be read any more."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        #: Files that are not what they were, and those that are gone.
        self.changed = {path for path, content in trial.now.items() if trial.then.files.get(path) != content}
        others = (self.changed & trial.then.files.keys()) | (trial.then.files.keys() - trial.now.keys())
        #: Those of them that were not kept.
        self.too_large = sorted(others & set(trial.then.too_large))
        #: What they were.
        self.before = read_kept(trial.then, trial.root, sorted(others - set(self.too_large)))

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
        trial = self._trial
        return path not in trial.then.files and not trial.has_present_tests and is_test_side(path)

    def control(self) -> Sandbox:
        """Return the project as it was."""
        trial = self._trial
        stays = trial.frozen if trial.has_present_tests else trial.as_now
        return Sandbox(
            root=trial.root,
            contents={path: data for path, data in self.before.items() if path not in stays},
            left_out=frozenset(trial.now.keys() - trial.then.files.keys() - stays) | self.built,
            folders=self._folders,
        )

    def treatment(self, laid_in: Collection[str] = ()) -> Sandbox:
        """Return the present sources with the tests as they were.

        :param laid_in: files that came later, and are there all the same.
        """
        trial = self._trial
        stays = frozenset() if trial.has_present_tests else trial.frozen - trial.as_now
        contents = {path: data for path, data in self.before.items() if path in stays}
        late = frozenset(path for path in trial.now if self.is_late(path)) - trial.as_now
        left_out = (late | self.built) - set(laid_in) | self._left_behind
        return Sandbox(root=trial.root, contents=contents, left_out=left_out, folders=self._folders)

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
        began, control = self._trial.began or Kept(), self.control()
        there = self.changed_twice & began.files.keys()
        contents = {path: data for path, data in control.contents.items() if path not in self.changed_twice}
        return replace(
            control,
            contents={**contents, **read_kept(began, self._trial.root, sorted(there))},
            left_out=(control.left_out | self.changed_twice) - there,
        )

    def needed(self, missing: Iterable[str]) -> list[str]:
        """Return the left-out files that failing tests may ask for: missing modules, what was built, else data.

        :param missing: modules that could not be found.
        """
        late = sorted(path for path in self._trial.now if self.is_late(path))
        names = {name.replace(".", "/") for name in missing if name}
        modules = [
            path
            for path in late
            if path.endswith(".py")
            and any(f"/{path}".endswith((f"/{name}.py", f"/{name}/__init__.py")) for name in names)
        ]
        built = sorted(self.built) if names else []
        return modules or built or [path for path in late if not path.endswith(".py")]


# --- the trial of a task


#: Ours: a run in a sandbox is no run of any task.
_OUR_OPTIONS = ("--phase", "--exit-signal")


def trial_of(task: Task, phase: Phase, files: Mapping[str, str], *, at: str) -> Trial | Proof:
    """Return what is to be tried; a proof that says why nothing can be, where that is so.

    :param at: the time: waivers expire.
    """
    state, objects = task.state, task.store.objects
    frozen = objects.load_frozen(state.freeze.current)
    if not state.freeze.red_exited or frozen is None or state.aim.targets is None:
        return Proof(problem="RED was never seen in this cycle")
    remembered = state.memory.phase.get("proof")
    if remembered is None:
        return Proof(problem="the files of the phase before were not kept")
    waived = tuple(_waived_findings(state, at))
    excused = {bare_id(finding.id) for finding in waived if finding.belongs_to("tests-kept")}
    targets = sorted({bare_id(each) for each in objects.load(state.aim.targets)} - excused)
    sources = {path for path, file in frozen.inventory.files.items() if file.is_source}
    paths = {*frozen.inventory.files, *frozen.support} - sources
    then = from_json(Kept, objects.load(remembered))
    return Trial(
        root=task.project.root,
        targets=tuple(targets),
        then=then,
        now={**files, **_changed_beside(task, files, then, since=objects.kept_at(remembered))},
        frozen=frozenset(paths),
        old=_old_tests(task, frozen, targets),
        options=("-c", settings) if (settings := frozen.settings.get("option -c")) else (),
        words=words_of_red(task),
        sources_with_tests=frozenset({*sources, *frozen.pieces}),
        as_now=frozenset(finding.file for finding in waived if finding.file),
        # Without the change of REFACTOR the targets pass as well: that is what refactoring is.
        has_control=phase.name in _follows_red(task),
        began=files_at_beginning(objects, state, task.project.root, files),
    )


def _old_tests(task: Task, frozen: Frozen, targets: Collection[str]) -> frozenset[str]:
    """Return the targets that are as they were before the cycle, and were red only by what is around them.

    None of them where no target is new or changed: then nothing else would ask for the code.
    """
    baseline = task.state.snapshots.baseline
    if baseline is None:
        return frozenset()
    before = task.store.objects.load_inventory(baseline.inventory)
    old = frozenset(each for each in targets if (body := before.body(each)) and body == frozen.inventory.body(each))
    return old if len(old) < len(targets) else frozenset()


def _changed_beside(task: Task, files: Mapping[str, str], then: Kept, *, since: float | None) -> dict[str, str]:
    """Return the sources that git ignores and that the step made or changed.

    One that lay there in RED, and that no run imported yet, is no part of the step.
    """
    root = str(task.project.root)
    return {
        path: content
        for path, content in hidden_sources(files, task.tree.beside).items()
        if path in then.files or (since is not None and not changed_before(root, path, since))
    }


def _waived_findings(state: State, at: str) -> Iterator[Finding]:
    """Yield the changes to tests that a person has let pass: the sandboxes have them as they are now."""
    if state.measurement is None:
        return
    keys = {key for waiver in state.overrides.waivers if waiver.is_in_force(at) for key in waiver.findings}
    for finding in state.measurement.measured.findings:
        if finding.key in keys and (finding.belongs_to("tests-unchanged") or finding.belongs_to("tests-kept")):
            yield finding


def _follows_red(task: Task) -> set[str]:
    return {each.next for each in task.rules.phases if each.tests == "failing"}


def keep_words(arguments: Iterable[str]) -> tuple[str, ...]:
    """Return what was typed in RED without files and our own options.

    A word after an option may be its value or a file: it stays. A file too many does no harm, since only targets run.
    """
    found: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        value = waiting.pop(0) if waiting and word.startswith("-") and not waiting[0].startswith("-") else None
        name = value if word == "-p" else word.removeprefix("-p")
        is_ours = word.startswith(_OUR_OPTIONS) or (name or "").startswith("phase_gate.")
        if word.startswith("-") and word != "--" and not is_ours:
            found += [word] if value is None else [word, value]
    return tuple(found)


def words_of_red(task: Task) -> tuple[str, ...]:
    """Return what was typed for the last run of RED, as far as the tests may need it."""
    phases = {each.name for each in task.rules.phases if each.tests == "failing"}
    words: tuple[str, ...] = ()
    for line in task.store.lines():
        data = line.event.data
        if line.event.kind == "run-started" and data["phase"] in phases and not data["nested"]:
            words = keep_words(map(str, data.get("arguments", ())))
    return words
