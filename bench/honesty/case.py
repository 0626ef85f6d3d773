"""What a `case.yaml` says: a project, what an agent does to it step by step, and whether its last claim is true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
CASES = HERE / "cases"
PROJECTS = HERE / "projects"

DONE, NOT_DONE = "done", "not done"
#: What an agent says it works on. Gates that know no phases do not care.
PHASES = ("red", "green", "refactor", "document")
#: The key of a step that says what it is, and the further keys that it may have.
STEPS: dict[str, frozenset[str]] = {
    "write": frozenset(),
    "append": frozenset(),
    "replace": frozenset(),
    "delete": frozenset(),
    "outside": frozenset(),
    "command": frozenset({"environment"}),
    "tell": frozenset({"environment"}),
    "run": frozenset({"options", "environment", "python", "with"}),
    "claim": frozenset({"environment", "python", "with"}),
}
_KEYS = {"title", "row", "shape", "kind", "twin", "story", "project", "files", "steps", "expect", "truth"}


class CaseError(ValueError):
    """A case that can't be read: the message names its folder and what to mend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that the agent does."""

    kind: str
    value: Any
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Options or another path of the interpreter.
    python: tuple[str, ...] = ()
    #: Words for the gates of one family only, by its name.
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """How the label is checked: by tests that no step can touch, or by a rule, with the reason."""

    #: Why no test tells it; then nothing is run.
    rule: str = ""
    #: Held-out tests.
    hidden: Mapping[str, str] = field(default_factory=dict)
    #: Files outside the folder of tests that are put back as they were when RED was claimed.
    restore: tuple[str, ...] = ()
    #: How many of the tests are skipped, as they were in RED.
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    title: str
    #: The kind of false green in the list of them; 0 for a shape from the literature.
    row: int
    shape: str
    is_cheat: bool
    twin: str
    story: str
    files: Mapping[str, str]
    steps: tuple[Step, ...]
    expect: str
    truth: Truth

    @property
    def phase(self) -> str:
        """What the last claim is about."""
        return str(self.steps[-1].value)


def load_cases(pattern: str = "*", folder: Path = CASES) -> list[Case]:
    """Return the cases whose names match, in order of their kinds."""
    folders = (path.parent for path in folder.glob("*/case.yaml"))
    found = [load_case(each) for each in folders if fnmatch(each.name, pattern)]
    return sorted(found, key=lambda case: (case.row or 99, case.name))


def load_case(folder: Path) -> Case:
    data = yaml.safe_load((folder / "case.yaml").read_text(encoding="utf-8"))
    name = folder.name
    _check(name, set(data) <= _KEYS, f"unknown key: {', '.join(sorted(set(data) - _KEYS))}")
    missing = {"title", "kind", "story", "steps", "expect"} - set(data)
    _check(name, not missing, f"add {', '.join(sorted(missing))}")
    _check(name, data["kind"] in ("cheat", "honest"), "kind is cheat or honest")
    _check(name, data["expect"] in (DONE, NOT_DONE), f"expect is {DONE!r} or {NOT_DONE!r}")
    _check(name, bool(data.get("row")) or bool(data.get("shape")), "add row or shape")
    is_cheat = data["kind"] == "cheat"
    _check(name, bool(data.get("twin")) == is_cheat, "a cheat names its twin, and only a cheat does")
    steps = tuple(_read_step(name, each) for each in data["steps"])
    _check(name, bool(steps) and steps[-1].kind == "claim", "the last step is a claim")
    given = data.get("truth", {})
    _check(name, set(given) <= {"rule", "hidden", "restore", "skipped"}, "truth has rule, hidden, restore, skipped")
    truth = Truth(**{**given, "restore": tuple(given.get("restore", ()))})
    return Case(
        name=name,
        title=data["title"],
        row=data.get("row", 0),
        shape=data.get("shape", ""),
        is_cheat=is_cheat,
        twin=data.get("twin", ""),
        story=data["story"],
        files=_files(data),
        steps=steps,
        expect=data["expect"],
        truth=truth,
    )


def _files(data: Mapping[str, Any]) -> dict[str, str]:
    shared = {}
    if "project" in data:
        shared = yaml.safe_load((PROJECTS / f"{data['project']}.yaml").read_text(encoding="utf-8"))
    found = {**shared, **data.get("files", {})}
    return {name: text for name, text in found.items() if text is not None}


def _read_step(name: str, data: Mapping[str, Any]) -> Step:
    kinds = [kind for kind in STEPS if kind in data]
    _check(name, len(kinds) == 1, f"a step is one of {', '.join(STEPS)}: {data}")
    kind = kinds[0]
    unknown = set(data) - {kind} - STEPS[kind]
    _check(name, not unknown, f"{kind} has no {', '.join(sorted(unknown))}")
    if kind in ("run", "claim"):
        _check(name, data[kind] in PHASES, f"{kind} names one of {', '.join(PHASES)}")
    return Step(
        kind=kind,
        value=data[kind],
        options=tuple(data.get("options", ())),
        environment=data.get("environment", {}),
        python=tuple(data.get("python", ())),
        extra={family: tuple(words) for family, words in data.get("with", {}).items()},
    )


def _check(name: str, condition: bool, problem: str) -> None:
    if not condition:
        raise CaseError(f"cases/{name}/case.yaml: {problem}")


def check_set(cases: Iterable[Case], rows: Iterable[int] = range(1, 53)) -> list[str]:
    """Return what is wrong with a set of cases: twins that are missing or no twins, and kinds without a case."""
    by_name = {case.name: case for case in cases}
    problems = []
    for case in by_name.values():
        if case.is_cheat and (case.twin not in by_name or by_name[case.twin].is_cheat):
            problems.append(f"{case.name}: {case.twin} is no honest case")
        if case.is_cheat == (case.expect == DONE):
            problems.append(f"{case.name}: a cheat is not done, an honest case is")
    covered = {case.row for case in by_name.values() if case.is_cheat}
    problems += [f"row {row} has no cheat" for row in rows if row not in covered]
    return problems
