"""The comparison of a task, or since a revision: what is compared, and the event that records it."""

from __future__ import annotations

import importlib.util
import posixpath
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from phase_gate.behaviour.choosing import Chosen, Constants, choose, find_constants, join_constants
from phase_gate.behaviour.experiment import Question, Setting, compare_functions
from phase_gate.behaviour.model import MEANINGS, Compared, Comparison
from phase_gate.behaviour.places import Place, import_folders, imported_names, module_names
from phase_gate.codec import from_json, spell_out, spell_out_each
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.experiments import BEHAVIOUR, experimented
from phase_gate.gate.findings import Finding, cap_findings
from phase_gate.gate.state import ExperimentRecord
from phase_gate.rooms.room import Room
from phase_gate.source.pytest_settings import is_test_side
from phase_gate.storage.keeping import Kept, LostError, hidden_sources, read_kept
from phase_gate.storage.references import blobs_of, find_commit
from phase_gate.storage.shared import again_if_moved
from phase_gate.task import Task
from phase_gate.values import Value, replace

Show = Callable[[str], None]

#: What always works.
_COMPARE = "compare with a git revision: phase-gate behaviour --base HEAD"

#: Functions that a note names.
_NAMED = 3
#: What is looked at to learn by which names modules are imported.
_MOST_TEXTS = 2000


class Wish(Value):
    """What a user asks for."""

    #: A git revision; empty: the last phase that ended with passing tests.
    base: str = ""
    #: Functions; none: all that changed.
    names: tuple[str, ...] = ()
    seed: int = 0
    #: Seconds in all; None: as the project has it.
    seconds: float | None = None


def compare_task(task: Task, wish: Wish, *, at: str, show: Show = lambda text: None) -> Comparison:
    """Compare, and record it where the task has begun. Raises NotAllowedError with nothing to compare with."""
    if importlib.util.find_spec("hypothesis") is None:
        raise UsageError(
            "inputs are made with the package hypothesis, which is not installed",
            remedy="pip install 'pytest-phase-gate[behaviour]'",
        )
    began = time.monotonic()
    then, since = _find_then(task, wish)
    project = _Project(task, then)
    questions, left_out = project.questions(wish)
    settings = task.project.configuration.behaviour
    total = settings.seconds if wish.seconds is None else wish.seconds
    found = list(left_out)
    asking = time.monotonic()
    for against in ("before", "oracle"):
        asked = [each for each in questions if each.against == against]
        left = total - (time.monotonic() - asking)
        if asked:
            setting = replace(project.setting(against == "oracle"), seed=wish.seed, total=left)
            found += compare_functions(asked, setting, show=show)
    comparison = Comparison(
        functions=tuple(found), since=since, seed=wish.seed, seconds=round(time.monotonic() - began, 2)
    )
    if task.state.phase is not None and not wish.names:
        _record(task, comparison, at=at)
    return comparison


@again_if_moved
def _record(task: Task, comparison: Comparison, *, at: str) -> None:
    state = task.state
    record = ExperimentRecord(
        tree=task.tree.digest,
        object=task.store.keep(BEHAVIOUR, spell_out(comparison)),
        iteration=state.iteration,
        metrics={
            "behaviour_functions": len(comparison.compared),
            "behaviour_diffs": len(comparison.differing),
        },
        findings=tuple(spell_out_each(cap_findings(map(_finding, comparison.differing)))),
        notes=tuple(_notes(comparison)),
    )
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        if change.state.phase == state.phase:
            change.record(experimented(BEHAVIOUR, record, at))


def _notes(comparison: Comparison) -> Iterator[str]:
    if comparison.differing:
        names = ", ".join(each.name for each in comparison.differing[:_NAMED])
        more = f" and {len(comparison.differing) - _NAMED} more" if len(comparison.differing) > _NAMED else ""
        yield f"other answers to fresh inputs: {names}{more} (see phase-gate behaviour)"


def _finding(compared: Compared) -> Finding:
    difference = compared.difference
    assert difference is not None, "only what differs is a finding"
    right = compared.oracle or "before"
    return Finding(
        slug="behaviour-differs",
        tier="advisory",
        id=f"{compared.file}::{compared.name}",
        file=compared.file,
        line=compared.line,
        detail=f"{difference.call} {MEANINGS[difference.kind]}: {right} {difference.before}, now {difference.now}",
    )


# --- what it is compared with


def _find_then(task: Task, wish: Wish) -> tuple[Kept, str]:
    """Return the files as they were, and which moment that is."""
    if wish.base:
        commit = find_commit(task.project.root, wish.base)
        return Kept(files=blobs_of(task.project.root, commit), commit=commit), f"{wish.base} ({commit[:10]})"
    kept = _kept_by_phase(task)
    if kept is not None:
        return kept
    if task.project.configuration.behaviour.oracle:
        return Kept(files=_present(task)), ""
    task.require_begun()
    raise NotAllowedError(
        "nothing was kept to compare with: that is done when GREEN, or another phase with passing tests, exits",
        remedy=_COMPARE,
    )


def _kept_by_phase(task: Task) -> tuple[Kept, str] | None:
    """Return what was kept when the last phase with passing tests ended, and its name."""
    state, rules = task.state, task.rules
    phase = rules.phase(state.phase or "")
    if phase is None or phase.tests != "passing":
        return None
    before = next((each for each in rules.phases if each.next == phase.name), None)
    places: list[tuple[Mapping[str, str], str]] = [(state.memory.exit, phase.name)] if state.exited else []
    if before is not None and before.tests == "passing":
        places.append((state.memory.phase, before.name))
    if not places:
        return None
    # A proof that the phase wants has kept the same files.
    found = [(kept.get("behaviour") or kept.get("proof"), since) for kept, since in places]
    name, since = next((row for row in found if row[0] is not None), (None, ""))
    if name is None:
        raise NotAllowedError(
            f"nothing was kept when {places[-1][1]} exited: proof is off",
            remedy=f"set `evidence: behaviour: true` in phase-gate.yaml for the next cycle, or {_COMPARE}",
        )
    kept = from_json(Kept, task.store.objects.load(name))
    if kept.problem:
        raise NotAllowedError(
            f"{since}'s files were not kept: {kept.problem}",
            remedy=f"commit them, and {_COMPARE}",
        )
    return kept, f"the exit of {since}"


def _present(task: Task) -> dict[str, str]:
    files = task.tree.files
    return {**files, **hidden_sources(files, task.tree.beside)}


class _Project:
    """The project as it was and as it is."""

    def __init__(self, task: Task, then: Kept) -> None:
        self._task, self._then = task, then
        self._root = task.project.root
        self._now = _present(task)
        self._changed = {path for path, content in self._now.items() if then.files.get(path) != content}
        gone = then.files.keys() - self._now.keys()
        try:
            self._before = read_kept(then, self._root, sorted((self._changed & then.files.keys()) | gone))
        except LostError as error:
            raise NotAllowedError(str(error), remedy=_COMPARE) from None
        self._imported = cache(self._read_imported)

    def setting(self, is_oracle: bool) -> Setting:
        folders = frozenset(posixpath.dirname(path) for path in (*self._now, *self._then.files) if path.endswith(".py"))
        now = Room(root=self._root, folders=folders)
        then = Room(
            root=self._root,
            contents=self._before,
            left_out=frozenset(self._now.keys() - self._then.files.keys()),
            folders=folders,
        )
        return Setting(
            before=now if is_oracle else then, now=now, paths=import_folders({*self._now, *self._then.files})
        )

    def _read_imported(self) -> frozenset[str]:
        paths = [path for path in self._now if path.endswith(".py")][:_MOST_TEXTS]
        return imported_names(_read(self._root / path) for path in paths)

    def questions(self, wish: Wish) -> tuple[list[Question], list[Compared]]:
        """Return what to compare, and what can't be."""
        now = {path: _read(self._root / path) for path in self._now if _is_source(path)}
        then = {
            path: self._before[path].decode("utf-8", "replace") if path in self._before else now[path]
            for path in self._then.files
            if _is_source(path) and (path in self._before or path in now)
        }
        chosen = choose(then, now, wish.names)
        oracles = self._oracles(now, wish.names)
        if wish.names and not chosen and not oracles:
            raise NotAllowedError(
                f"no function {' or '.join(wish.names)} was there before and is there now",
                remedy="name one as package.module:function, or none to compare all that changed",
            )
        left_out = [
            Compared(file=each.now, name=each.name, line=each.line, left_out=each.left_out)
            for each in chosen
            if each.left_out
        ]
        return [self._question(each, then, now) for each in chosen if not each.left_out] + oracles, left_out

    def _question(self, chosen: Chosen, then: Mapping[str, str], now: Mapping[str, str]) -> Question:
        return Question(
            file=chosen.now,
            name=chosen.name,
            line=chosen.line,
            before=self._place(chosen.then, chosen.name, self._then.files),
            now=self._place(chosen.now, chosen.name, self._now),
            is_hinted_before=chosen.is_hinted_then,
            constants=_constants((then[chosen.then], now[chosen.now]), chosen.name),
        )

    def _place(self, path: str, function: str, files: Mapping[str, str]) -> Place:
        return Place(file=path, modules=module_names(path, files.keys(), self._imported), function=function)

    def _oracles(self, now: Mapping[str, str], names: Iterable[str]) -> list[Question]:
        found = []
        wanted = tuple(names)
        for function, oracle in self._task.project.configuration.behaviour.oracle.items():
            module, _, name = function.partition(":")
            if wanted and function not in wanted and name not in wanted:
                continue
            path = next((each for each in now if module in self._place(each, name, self._now).modules), "")
            listed = choose(now, now, [f"{path}::{name}"]) if path else []
            right, _, right_name = oracle.partition(":")
            found.append(
                Question(
                    file=path or module,
                    name=name,
                    line=listed[0].line if listed else 1,
                    before=Place(file="", modules=(right,), function=right_name),
                    now=Place(file=path, modules=(module,), function=name),
                    is_hinted_before=False,
                    constants=_constants((now[path],), name) if path else (),
                    against="oracle",
                    oracle=oracle,
                )
            )
        return found


def _constants(texts: Iterable[str], function: str) -> tuple[Constants, Constants]:
    found = [find_constants(text, function) for text in texts]
    return join_constants(own for own, _ in found), join_constants(others for _, others in found)


def _is_source(path: str) -> bool:
    return path.endswith(".py") and not is_test_side(path)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
