"""Find everything that is wrong with a workflow file, not only the first of it.

The reader that loads workflows is the one that finds faults here: it collects them, and goes on with stand-ins. What
it can't see, `rules.review` does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from phase_gate.errors import DocumentError, WorkflowError
from phase_gate.rules.faults import MAX_FAULTS, Fault, Faults, FaultyError
from phase_gate.rules.review import Remark, review_workflow
from phase_gate.rules.vocabulary import MAX_BYTES, STAND_IN
from phase_gate.rules.workflow import build_workflow
from phase_gate.rules.yaml import YamlMapping, YamlNode, YamlScalar, YamlSequence, read_documents
from phase_gate.values import Value, replace
from phase_gate.workflow.metrics import MetricType
from phase_gate.workflow.model import Guard, Workflow

#: From a document's number down: keys of mappings, places in lists.
Path = tuple[str | int, ...]


class Offers(Protocol):
    """What plugins may give to a workflow."""

    def find_unprovided(self, workflow: Workflow) -> Collection[str]:
        """Return the names that it says are measured, and that nothing measures."""

    def offers_guard(self, name: str) -> bool:
        """Tell whether a plugin may offer a guard of that name."""


class Checked(Value):
    """What is wrong with a file, by line; and the workflow, as far as it could be read."""

    problems: tuple[Fault, ...]
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
        syntax = Faults(DocumentError, collects=True)
        documents = read_documents(text, name=name, limit=MAX_BYTES, faults=syntax)
    except FaultyError as error:
        return Checked(problems=(error.fault,))
    faults = Faults(WorkflowError, collects=True)
    workflow = None
    remarks: list[Fault] = []
    try:
        workflow = build_workflow(
            documents,
            name=name,
            guards=guards,
            extra_metrics=extra_metrics,
            faults=faults,
            offers=None if plugins is None else plugins.offers_guard,
        )
    except FaultyError as error:
        # What can't be read at all follows from what was found before.
        if not faults.found:
            faults.keep(error.fault)
    if workflow is not None:
        workflow = _with_offered(workflow)
        found = review_workflow(
            workflow,
            unprovided=() if plugins is None else plugins.find_unprovided(workflow),
            commands=commands,
        )
        remarks = [_placed(remark, documents) for remark in found]
    problems = {(each.line, each.column, each.problem): each for each in (*faults.found, *remarks)}
    return Checked(problems=tuple(problems[key] for key in sorted(problems)[:MAX_FAULTS]), workflow=workflow)


def _with_offered(workflow: Workflow) -> Workflow:
    """Return the workflow with a stand-in for each guard that only its plugin knows."""
    named = {name for phase in workflow.phases for name in phase.gate_1.guards} - workflow.guards.keys()
    offered = {name: Guard(name=name, condition=STAND_IN, remedy="") for name in sorted(named)}
    return replace(workflow, guards={**workflow.guards, **offered})


# --- where in the file a remark belongs


def _placed(remark: Remark, documents: Sequence[YamlNode]) -> Fault:
    for path in _candidates(remark, documents):
        place = _key_at(documents, path) if remark.of_key else _node_at(documents, path)
        if place is not None:
            break
    else:
        place = documents[0]
    return Fault(
        line=place.line, column=place.column, slug=WorkflowError.slug, problem=remark.problem, remedy=remark.remedy
    )


def _candidates(remark: Remark, documents: Sequence[YamlNode]) -> Iterator[Path]:
    """Yield where the remark's place may be found: in a workflow, or in one of several gate documents."""
    path = _spelled(remark.path, documents)
    while path:
        yield (0, *path)
        if path[0] == "phases" and len(path) > 1:
            for index in range(len(documents)):
                phase = _node_at(documents, (index, "phase"))
                if isinstance(phase, YamlScalar) and phase.text.upper() == path[1].upper():
                    yield (index, *path[2:]) if len(path) > 2 else (index, "phase")
        path = path[:-1]


def _spelled(path: tuple[str, ...], documents: Sequence[YamlNode]) -> tuple[str, ...]:
    """Return the path with its phase as the file spells it: in any case."""
    phases = _node_at(documents, (0, "phases"))
    if path[0] != "phases" or not isinstance(phases, YamlMapping):
        return path
    spelled = next((key.text for key, _ in phases.entries if key.text.upper() == path[1].upper()), path[1])
    return (path[0], spelled, *path[2:])


def _node_at(documents: Sequence[YamlNode], path: Path) -> YamlNode | None:
    """Return the value at a path; None if there is none."""
    first, *rest = path
    assert isinstance(first, int), "a path begins with a document's number"
    node: YamlNode | None = documents[first]
    for step in rest:
        if isinstance(node, YamlMapping):
            node = next((value for key, value in node.entries if key.text == step), None)
        elif isinstance(node, YamlSequence) and isinstance(step, int):
            node = node.items[step]
        if node is None:
            return None
    return node


def _key_at(documents: Sequence[YamlNode], path: Path) -> YamlScalar | None:
    """Return the key that a path ends with; None if it ends with none."""
    parent = _node_at(documents, path[:-1]) if len(path) > 1 else None
    if not isinstance(parent, YamlMapping):
        return None
    return next((key for key, _ in parent.entries if key.text == path[-1]), None)
