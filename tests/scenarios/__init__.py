"""The corpus: false greens, each with the nearest honest thing. Begin with `load_scenarios`.

One file a theme. A scenario has the files of a project (`project` names one of `projects.yaml`, `files` are added; null
takes one away), the steps of an agent, and who refuses the last claim. Keys:

- `row`: the kind of false green, or `shape`: where it was published;
- `refused_by`: guards, clauses (some by a short name of `CLAUSES`), errors and kinds of runs that refuse a cheat;
  empty for a known limit. An honest scenario has no such key, and opens;
- `twin`: the honest scenario that a cheat is next to;
- `names`: what has to be told, so that people know what happened: a test, a file, an option. Of an honest one, nothing
  else is said;
- `workers`: it is played with two workers as well; a list says who refuses it then, if not the same;
- `story`: a scenario that the benchmark of gates plays too, and `truth`: how its label is checked there.

A step is one of `STEPS`, or the name of a phase: that one is run, and claimed to be over; `commit` commits all. Steps
without any run come between RED and GREEN. `defaults` of a file hold for each scenario that does not say otherwise. In
texts and words, `{outside}` is a folder next to the project, `{python}` the interpreter. `texts.yaml` is read before
each file: its anchors stand for texts that several scenarios have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from phase_gate.values import Value, field, replace

FOLDER = Path(__file__).parent
PROJECTS, TEXTS = "projects", "texts"

#: What an agent says it works on. Gates that know no phases do not care.
PHASES = ("red", "green", "refactor", "document")
#: What the step `commit` types.
COMMIT = (
    ("git", "init", "-q"),
    ("git", "add", "-A"),
    ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all"),
)
#: The key of a step that says what it is, and the further keys that it may have.
STEPS: dict[str, frozenset[str]] = {
    "use": frozenset(),
    "write": frozenset(),
    "append": frozenset(),
    "replace": frozenset(),
    "delete": frozenset(),
    "outside": frozenset(),
    "command": frozenset({"environment"}),
    "tell": frozenset({"environment"}),
    "run": frozenset({"options", "environment", "python", "with", "once"}),
    "claim": frozenset({"environment", "python", "with"}),
}
_KEYS = frozenset(
    {"row", "shape", "twin", "story", "project", "files", "steps", "refused_by", "names", "workers", "truth"}
)
_TRUTH = frozenset({"rule", "hidden", "restore", "skipped"})
#: The guard that asks the proof.
EXPERIMENT = "targets-proven"
#: What pytest gets where a scenario is played with workers.
TWO_WORKERS = ("-n", "2")


#: Clauses of GREEN that refuse much, by a short name in the files.
CLAUSES = {
    "streak": "consecutive_green_runs >= required_green_runs",
    "failing": "tests_failing == 0",
    "passing": "tests_passing == tests_total",
}


class ScenarioError(ValueError):
    """A scenario that can't be read: the message names it and what is wrong."""


class Step(Value):
    """One thing that the agent does."""

    kind: str
    value: Any
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Options or another path of the interpreter.
    python: tuple[str, ...] = ()
    #: Words for the gates of one family only, by its name.
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: A green run that is not confirmed by another one.
    is_once: bool = False


class Truth(Value):
    """How the label is checked: by tests that no step can touch, or by a rule, with the reason."""

    #: Why no test tells it; then nothing is run.
    rule: str = ""
    #: Held-out tests.
    hidden: Mapping[str, str] = field(default_factory=dict)
    #: Files outside the folder of tests that are put back as they were when RED was claimed.
    restore: tuple[str, ...] = ()
    #: How many of the tests are skipped, as they were in RED.
    skipped: int = 0


class Scenario(Value):
    """A project, what is done to it step by step, and who refuses the last claim."""

    name: str
    theme: str
    row: int
    shape: str
    is_cheat: bool
    refused_by: frozenset[str]
    twin: str
    names: tuple[str, ...]
    #: Who refuses it with two workers; None where it is not played with them.
    refused_with_workers: frozenset[str] | None
    story: str
    files: Mapping[str, str]
    steps: tuple[Step, ...]
    truth: Truth

    @property
    def phase(self) -> str:
        """What the last claim is about."""
        return str(self.steps[-1].value)


@cache
def load_projects() -> dict[str, Any]:
    """Return the projects that scenarios begin with, by their names."""
    projects: dict[str, Any] = _read(FOLDER / f"{PROJECTS}.yaml")
    return projects


@cache
def load_scenarios() -> dict[str, Scenario]:
    """Return every scenario by its name, in the order of files and names."""
    projects = load_projects()
    found: dict[str, Scenario] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        if path.stem not in (PROJECTS, TEXTS):
            for scenario in read_scenarios(path.stem, _read(path), projects):
                _check(scenario.name, scenario.name not in found, "two scenarios have this name")
                found[scenario.name] = scenario
    return found


def with_workers(scenario: Scenario) -> Scenario:
    """Return the same scenario with two workers in every run after RED."""
    assert scenario.refused_with_workers is not None
    last_red = max((n for n, step in enumerate(scenario.steps) if step.value == "red"), default=-1)
    steps = tuple(
        replace(step, options=(*step.options, *TWO_WORKERS)) if step.kind == "run" and number > last_red else step
        for number, step in enumerate(scenario.steps)
    )
    return replace(
        scenario,
        name=f"{scenario.name}-with-workers",
        steps=steps,
        refused_by=scenario.refused_with_workers,
        names=() if scenario.is_cheat else scenario.names,  # another witness may tell of a cheat in other words
    )


def find_problems(scenarios: Iterable[Scenario], rows: Iterable[int]) -> list[str]:
    """Return what is wrong with a corpus: twins that are missing or no twins, and kinds without a cheat."""
    by_name = {scenario.name: scenario for scenario in scenarios}
    problems = [
        f"{each.name}: {each.twin} is no honest scenario"
        for each in by_name.values()
        if each.is_cheat and (each.twin not in by_name or by_name[each.twin].is_cheat)
    ]
    covered = {each.row for each in by_name.values() if each.is_cheat}
    return [*problems, *(f"row {row} has no cheat" for row in rows if row not in covered)]


def _read(path: Path) -> Any:
    """Read a file, in which the names of shared texts stand for them."""
    texts = (FOLDER / f"{TEXTS}.yaml").read_text(encoding="utf-8")
    document = yaml.load(texts + path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    del document[TEXTS]
    return document


def read_scenarios(theme: str, document: Mapping[str, Any], projects: Mapping[str, Any]) -> Iterator[Scenario]:
    """Read a file's document: its scenarios with its defaults."""
    for name, data in document["scenarios"].items():
        yield _read_scenario(name, theme, {**document.get("defaults", {}), **data}, projects)


def _read_scenario(name: str, theme: str, data: Mapping[str, Any], projects: Mapping[str, Any]) -> Scenario:
    _check(name, set(data) <= _KEYS, f"unknown key: {', '.join(sorted(set(data) - _KEYS))}")
    project = projects[data["project"]] if data.get("project") else {}
    files = {**project.get("files", {}), **data.get("files", {})}
    steps = tuple(step for each in data.get("steps", ()) for step in _read_steps(name, each, project))
    if not any(step.kind in ("run", "claim") for step in steps):
        steps = (*_read_steps(name, "red", project), *steps, *_read_steps(name, "green", project))
    _check(name, bool(steps) and steps[-1].kind == "claim", "the last step is a claim")
    is_cheat = "refused_by" in data
    _check(name, not is_cheat or bool(data.get("twin")), "a cheat names its twin")
    _check(name, not is_cheat or bool(data.get("row") or data.get("shape")), "add row or shape")
    truth = data.get("truth", {})
    _check(name, set(truth) <= _TRUTH, f"truth has {', '.join(sorted(_TRUTH))}")
    named = data.get("names", ())
    return Scenario(
        name=name,
        theme=theme,
        row=data.get("row", 0),
        shape=data.get("shape", ""),
        is_cheat=is_cheat,
        refused_by=_read_refusing(data.get("refused_by", ())),
        twin=data["twin"] if is_cheat else "",
        names=(named,) if isinstance(named, str) else tuple(named),
        refused_with_workers=_read_workers(data),
        story=data.get("story", ""),
        files={file: text for file, text in files.items() if text is not None},
        steps=steps,
        truth=Truth(**{**truth, "restore": tuple(truth.get("restore", ()))}),
    )


def _read_workers(data: Mapping[str, Any]) -> frozenset[str] | None:
    given = data.get("workers", False)
    if not given:
        return None
    return _read_refusing(data.get("refused_by", ()) if given is True else given)


def _read_refusing(names: Iterable[str]) -> frozenset[str]:
    return frozenset(CLAUSES.get(name, name) for name in names)


def _read_steps(name: str, data: Any, project: Mapping[str, Any]) -> Iterator[Step]:
    if data == "commit":
        yield from (Step(kind="command", value=[*words]) for words in COMMIT)
        return
    if isinstance(data, str):
        _check(name, data in PHASES, f"a step of one word is one of {', '.join(PHASES)}: {data}")
        yield Step(kind="run", value=data)
        yield Step(kind="claim", value=data)
        return
    kinds = [kind for kind in STEPS if kind in data]
    _check(name, len(kinds) == 1, f"a step is one of {', '.join(STEPS)}: {data}")
    kind = kinds[0]
    unknown = set(data) - {kind} - STEPS[kind]
    _check(name, not unknown, f"{kind} has no {', '.join(sorted(unknown))}")
    _check(name, kind != "claim" or data[kind] in PHASES, f"claim names one of {', '.join(PHASES)}")
    value = data[kind]
    if kind == "use":
        _check(name, value in project, f"the project has no {value}")
        kind, value = "write", project[value]
    if kind == "replace":
        value = {"file": project.get("tests"), **value}
    yield Step(
        kind=kind,
        value=value,
        options=tuple(data.get("options", ())),
        environment=data.get("environment", {}),
        python=tuple(data.get("python", ())),
        extra={family: tuple(words) for family, words in data.get("with", {}).items()},
        is_once=data.get("once", False),
    )


def _check(name: str, condition: bool, problem: str) -> None:
    if not condition:
        raise ScenarioError(f"{name}: {problem}")
