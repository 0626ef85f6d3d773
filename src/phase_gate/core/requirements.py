"""What a phase of a pipeline requires beside its condition: artifacts, checks, consensus. Values, and their JSON.

Pure, and light. `rules.pipeline_text` reads them from a file, `core.pipeline_evidence` holds a project against them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from phase_gate.values import Value, as_dict, field, replace

if TYPE_CHECKING:
    from phase_gate.core.workflow import Workflow

#: When an artifact has to be new: since the attempt that its phases belong to began, or in every phase that asks.
Made = Literal["attempt", "phase"]

#: Kinds of change that a request may be about, in the order of the routing map.
CHANGE_TYPES = ("scope", "architecture", "dependency", "config", "requirement")

#: Where the budget of recoveries stands among a workflow's parameters, and what it is where nobody says so.
MAX_RECOVERIES, USUAL_RECOVERIES = "max_recoveries", 5

#: Stands for changes of the code itself where a phase raises requests.
DRIFT = "drift"

#: Schemas of artifacts that we read ourselves.
SNAPSHOT, AUDIT, ROOT_CAUSE = "snapshot", "audit", "root-cause"


class Artifact(Value):
    """A file, or several, that a phase has to leave."""

    name: str
    #: A glob, from the root.
    path: str
    #: A schema that we publish, or the path of a JSON Schema: the file is JSON then.
    schema: str = ""
    #: A regular expression that has to be found in it.
    pattern: str = ""
    min_words: int = 1
    made: Made = "attempt"


class Consensus(Value):
    """How much agreement there has to be, and on what; numbers, or names of parameters."""

    on: tuple[str, ...]
    threshold: float | str
    voters: int | str


class Requires(Value):
    artifacts: tuple[str, ...] = ()
    #: Commands of the project, by their names under `evidence.commands`.
    checks: tuple[str, ...] = ()
    consensus: Consensus | None = None
    #: Artifacts that have to be as they were when their consensus was reached.
    approved: tuple[str, ...] = ()


class Drift(Value):
    """What counts as a change that nobody planned."""

    #: Globs of configuration files.
    files: tuple[str, ...]
    #: Lines added and removed, or the name of a parameter.
    lines: int | str


class PipelineRules(Value):
    """What a workflow says about all of its phases, where it is a pipeline."""

    artifacts: Mapping[str, Artifact] = field(default_factory=dict)
    #: Files that may not change while a cycle lasts.
    constitution: tuple[str, ...] = ()
    #: Where a change request leads, by its type.
    routes: Mapping[str, str] = field(default_factory=dict)
    drift: Drift | None = None


def rules_to_json(rules: PipelineRules) -> dict[str, Any]:
    return {
        "artifacts": {name: as_dict(each) for name, each in rules.artifacts.items()},
        "constitution": list(rules.constitution),
        "routes": dict(rules.routes),
        "drift": None if rules.drift is None else {"files": list(rules.drift.files), "lines": rules.drift.lines},
    }


def rules_from_json(document: Mapping[str, Any]) -> PipelineRules:
    drift = document["drift"]
    return PipelineRules(
        artifacts={name: Artifact(**row) for name, row in document["artifacts"].items()},
        constitution=tuple(document["constitution"]),
        routes=document["routes"],
        drift=None if drift is None else Drift(files=tuple(drift["files"]), lines=drift["lines"]),
    )


def requires_to_json(requires: Requires) -> dict[str, Any]:
    consensus = requires.consensus
    return {
        "artifacts": list(requires.artifacts),
        "checks": list(requires.checks),
        "consensus": None if consensus is None else {**as_dict(consensus), "on": list(consensus.on)},
        "approved": list(requires.approved),
    }


def requires_from_json(document: Mapping[str, Any]) -> Requires:
    consensus = document["consensus"]
    return Requires(
        artifacts=tuple(document["artifacts"]),
        checks=tuple(document["checks"]),
        consensus=None if consensus is None else Consensus(**{**consensus, "on": tuple(consensus["on"])}),
        approved=tuple(document["approved"]),
    )


def settle(value: float | str, workflow: Workflow) -> float:
    """Return the number that a name stands for among the workflow's parameters, or the number itself."""
    found = workflow.parameters[value] if isinstance(value, str) else value
    assert isinstance(found, int | float), "the file was checked"
    return found


def move_artifacts(rules: PipelineRules, moved: Mapping[str, Mapping[str, Any]]) -> PipelineRules:
    """Return the rules with some artifacts described otherwise, as far as that is given."""
    artifacts = {name: replace(each, **moved.get(name, {})) for name, each in rules.artifacts.items()}
    return replace(rules, artifacts=artifacts)
