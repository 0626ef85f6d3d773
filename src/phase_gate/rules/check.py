"""Find everything that is wrong with a workflow file, not only the first of it.

The reader that loads workflows is the one that finds faults here: it is asked again and again, each time without the
fault that it found before. What it can't see, `rules.review` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Protocol

from phase_gate.errors import PhaseGateError, WorkflowError
from phase_gate.rules.fields import shorten
from phase_gate.rules.review import Remark, review_workflow
from phase_gate.rules.vocabulary import MAX_BYTES, name_types
from phase_gate.rules.workflow import build_workflow
from phase_gate.rules.yaml import YamlMapping, YamlNode, YamlScalar, read_documents
from phase_gate.rules.yaml_repair import Path, Repair, key_at, node_at, repairs
from phase_gate.values import Value
from phase_gate.workflow.conditions import parse_condition
from phase_gate.workflow.metrics import MetricType
from phase_gate.workflow.model import Guard, Workflow

#: More faults than anybody mends in one go; the rest comes with the next look.
MAX_READINGS = 100

_PLACE = re.compile(r"(?P<file>.*?):(?P<line>[0-9]+):(?P<column>[0-9]+): (?P<problem>.*)", re.S)
_UNKNOWN_GUARD = re.compile("unknown guard '([^']+)'")
#: Stands for the condition of a guard that only its plugin knows.
_UNKNOWN = parse_condition("run_complete == true")


class Problem(Value):
    line: int
    column: int
    slug: str
    problem: str
    remedy: str


class Offers(Protocol):
    """What plugins may give to a workflow."""

    def find_unprovided(self, workflow: Workflow) -> Collection[str]:
        """Return the names that it says are measured, and that nothing measures."""

    def offers_guard(self, name: str) -> bool:
        """Tell whether a plugin may offer a guard of that name."""


class Checked(Value):
    """What is wrong with a file, by line; and the workflow, as far as it could be read."""

    problems: tuple[Problem, ...]
    workflow: Workflow | None = None


def check_workflow(
    text: str | bytes,
    *,
    name: str,
    guards: Mapping[str, Guard],
    extra_metrics: Mapping[str, MetricType] = {},
    plugins: Offers | None = None,
    commands: Collection[str] | None = None,
) -> Checked:
    """Return every problem of the text.

    :param name: what stands in front of the line in messages.
    :param guards: the guards that its phases may name.
    :param extra_metrics: what plugins and commands measure besides the metrics that we know.
    :param plugins: what plugins may offer; None if that is not known.
    :param commands: what the project runs by itself; None if it is not known which project this is for.
    """
    try:
        documents = tuple(read_documents(text, name=name, limit=MAX_BYTES))
    except PhaseGateError as error:
        return Checked(problems=(_problem(error),))

    def build(nodes: Sequence[YamlNode]) -> Workflow:
        return build_workflow(nodes, name=name, guards=guards, extra_metrics=extra_metrics, in_any_order=True)

    found: list[Problem] = []
    gone: list[str] = []
    read, workflow = documents, None
    for _ in range(MAX_READINGS):
        try:
            workflow = build(read)
            break
        except PhaseGateError as error:
            problem = _problem(error)
            offered = _UNKNOWN_GUARD.search(problem.problem)
            if offered is not None and plugins is not None and plugins.offers_guard(offered[1]):
                guards = {**guards, offered[1]: Guard(name=offered[1], condition=_UNKNOWN, remedy="")}
                continue
            if not _follows(problem, gone):
                found.append(problem)
            repair = _repair(read, error, problem, build)
            if repair is None:
                break
            read = repair.documents
            gone.extend(repair.names)
    if workflow is not None:
        remarks = review_workflow(
            workflow,
            name_types(workflow),
            own_guards=[each for each in workflow.guards if each not in guards],
            unprovided=() if plugins is None else plugins.find_unprovided(workflow),
            commands=commands,
        )
        found += (_placed(remark, documents) for remark in remarks)
    # A fault that two readings show is one.
    unique = {(each.line, each.column, each.problem): each for each in found}
    return Checked(problems=tuple(unique[key] for key in sorted(unique)), workflow=workflow)


def _stand_in(text: str, *, is_plain: bool = False) -> YamlScalar:
    return YamlScalar(text=text, is_plain=is_plain, line=0, column=0)


def _stand_in_mapping(**entries: YamlNode) -> YamlMapping:
    return YamlMapping(entries=tuple((_stand_in(key), value) for key, value in entries.items()), line=0, column=0)


#: Values that are right wherever such a key has to be.
_STAND_INS: Mapping[str, YamlNode] = {
    "workflow": _stand_in("unnamed"),
    "name": _stand_in("unnamed"),
    "remedy": _stand_in("unknown"),
    "condition": _stand_in("run_complete == true"),
    "gate_1": _stand_in_mapping(name=_stand_in("unnamed"), condition=_stand_in("run_complete == true")),
    "path": _stand_in("unknown"),
    "threshold": _stand_in("1", is_plain=True),
    "voters": _stand_in("1", is_plain=True),
    "lines": _stand_in("1", is_plain=True),
}


def _repair(
    documents: Sequence[YamlNode],
    error: PhaseGateError,
    problem: Problem,
    build: Callable[[Sequence[YamlNode]], Workflow],
) -> Repair | None:
    """Return the smallest change after which the reader does not say the same again."""
    for repair in repairs(
        documents,
        line=problem.line,
        column=problem.column,
        problem=problem.problem,
        remedy=problem.remedy,
        stand_ins=_STAND_INS,
    ):
        if not repair.documents:
            continue
        try:
            build(repair.documents)
        except PhaseGateError as other:
            if other.problem == error.problem or f"the key {repair.key!r} is missing" in other.problem:
                continue
        return repair
    return None


def _follows(problem: Problem, gone: Sequence[str]) -> bool:
    """Tell whether a problem is there only because something else was taken out."""
    return any(shorten(name).lower() in problem.problem.lower() for name in gone)


def _problem(error: PhaseGateError) -> Problem:
    found = _PLACE.fullmatch(error.problem)
    line, column, text = (1, 1, error.problem) if found is None else (found["line"], found["column"], found["problem"])
    return Problem(line=int(line), column=int(column), slug=error.slug, problem=text, remedy=error.remedy)


def _placed(remark: Remark, documents: Sequence[YamlNode]) -> Problem:
    for path in _candidates(remark, documents):
        place = key_at(documents, path) if remark.of_key else node_at(documents, path)
        if place is not None:
            break
    else:
        place = documents[0]
    return Problem(
        line=place.line, column=place.column, slug=WorkflowError.slug, problem=remark.problem, remedy=remark.remedy
    )


def _candidates(remark: Remark, documents: Sequence[YamlNode]) -> Iterator[Path]:
    """Yield where the remark's place may be found: in a workflow, or in one of several gate documents."""
    path = _spelled(remark.path, documents)
    while path:
        yield (0, *path)
        if path[0] == "phases" and len(path) > 1:
            for index in range(len(documents)):
                phase = node_at(documents, (index, "phase"))
                if isinstance(phase, YamlScalar) and phase.text.upper() == path[1].upper():
                    yield (index, *path[2:]) if len(path) > 2 else (index, "phase")
        path = path[:-1]


def _spelled(path: tuple[str, ...], documents: Sequence[YamlNode]) -> tuple[str, ...]:
    """Return the path with its phase as the file spells it: in any case."""
    phases = node_at(documents, (0, "phases"))
    if path[0] != "phases" or not isinstance(phases, YamlMapping):
        return path
    spelled = next((key.text for key, _ in phases.entries if key.text.upper() == path[1].upper()), path[1])
    return (path[0], spelled, *path[2:])
