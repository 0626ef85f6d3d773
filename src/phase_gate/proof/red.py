"""What the trial of a task is made from: the files, the tests and the options as they were when RED exited."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from phase_gate.codec import each_from_json, from_json
from phase_gate.gate.findings import Finding
from phase_gate.gate.freeze import Frozen
from phase_gate.gate.inventory import bare_id
from phase_gate.gate.state import State
from phase_gate.proof.model import Proof
from phase_gate.proof.trial import Trial
from phase_gate.storage.keeping import Kept, files_at_beginning, hidden_sources
from phase_gate.storage.tree.contents import changed_before
from phase_gate.task import Task
from phase_gate.workflow.model import Phase

#: Folders that hold tests, whatever the settings say.
_TEST_FOLDERS = frozenset({"test", "tests"})
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
        test_folders=find_test_folders(paths),
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
    for finding in each_from_json(Finding, state.measurement.findings):
        if finding.key in keys and (finding.belongs_to("tests-unchanged") or finding.belongs_to("tests-kept")):
            yield finding


def _follows_red(task: Task) -> set[str]:
    return {each.next for each in task.rules.phases if each.tests == "failing"}


def find_test_folders(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that tests have to themselves: those of their files that are called so."""
    found = set()
    for path in paths:
        parts = path.split("/")[:-1]
        for number, part in enumerate(parts):
            if part in _TEST_FOLDERS:
                found.add("/".join(parts[: number + 1]))
                break
    return tuple(sorted(found))


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
