"""The model of a workflow: phases in order, their gates, and their successors.

Data only. `config` creates it from files; `gate.order` and `gate.judging` use it. A condition is its canonical text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from phase_gate.values import Literal, Value, field
from phase_gate.workflow.metrics import MetricType, MetricValue, show_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.workflow.conditions import Outcome

Tests = Literal["failing", "passing", "none"]
Scope = Literal["suite", "targets"]
Start = Literal["any", "first"]


class _Ruled(Value):
    condition: str = field(is_condition=True)

    @property
    def names(self) -> frozenset[str]:
        """The names in the condition."""
        from phase_gate.workflow.conditions import names_in  # here, not above: `check` looks into no condition

        return names_in(self.condition)

    def evaluate(self, values: Mapping[str, MetricValue]) -> Outcome:
        from phase_gate.workflow.conditions import evaluate

        return evaluate(self.condition, values)


class Guard(_Ruled):
    """A named rule about the evidence itself: a condition on metrics, with a remedy."""

    name: str = field(key="")
    remedy: str = field(prose=True)
    #: The message if it is not met; `{metric}` is replaced by the metric's value.
    detail: str = field(default="", prose=True)


class Gate1(_Ruled):
    name: str = field(prose=True)
    guards: tuple[str, ...] = ()
    rationale: str = field(default="", prose=True)
    #: Whether the project replaced the workflow's condition with its own, which every verdict shows.
    replaced: bool = field(default=False, key="")


class Limits(Value):
    """How often something may happen in a row before the circuit breaker opens; 0 turns a limit off."""

    no_progress: int = field(default=5, minimum=0)
    same_error: int = field(default=5, minimum=0)
    #: Claims of completion that the exit gate blocked.
    exit_blocked: int = field(default=5, minimum=0)
    #: Seconds after which an open circuit allows one trial run.
    cool_down: float = field(default=1800.0, minimum=0)


class Phase(Value):
    name: str = field(key="")
    gate_1: Gate1
    #: Empty for a phase that recovers: its root-cause record names the next phase.
    next: str = ""
    purpose: str = field(default="", prose=True)
    tests: Tests = "passing"
    scope: Scope = "suite"
    may_end_cycle: bool = False
    breaker: Limits = Limits()
    #: Requirements in addition to its condition; None if there are none, as in every workflow that is not a pipeline.
    requires: Requires | None = None
    #: The phase to enter on a done signal while Gate 1 is closed; empty to stay in this phase.
    on_failure: str = ""
    #: Whether a pending change request leads to its own phase instead of `next`.
    routes: bool = False
    #: Whether failures lead to this phase.
    recovers: bool = False
    #: Sources of automatic change requests in this phase: `drift`, or artifacts with findings.
    raises: tuple[str, ...] = ()


class Workflow(Value):
    name: str
    phases: tuple[Phase, ...]
    #: Where a cycle begins: `any` phase, and `--phase=FIRST` rewinds; or the `first`, and only a command rewinds.
    start: Start = "any"
    parameters: Mapping[str, MetricValue] = field(default_factory=dict)
    #: Facts that a user may declare, with their types. Measured names are not allowed.
    facts: Mapping[str, MetricType] = field(default_factory=dict)
    #: Metrics that plugins measure, with their types.
    metrics: Mapping[str, MetricType] = field(default_factory=dict)
    guards: Mapping[str, Guard] = field(default_factory=dict)
    #: Rules for all phases of a pipeline; None if this is not a pipeline.
    pipeline: PipelineRules | None = None

    @property
    def first(self) -> Phase:
        return self.phases[0]

    def phase(self, name: str) -> Phase | None:
        """Return the phase of that name, ignoring case; None if there is none."""
        wanted = name.upper()
        return next((phase for phase in self.phases if phase.name.upper() == wanted), None)


# --- requirements of a pipeline's phases: artifacts, checks, consensus


#: When an artifact has to be new: since the current attempt began, in each phase that requires it, or (`anytime`) since
#: an earlier attempt only, so that the first attempt accepts a file from before the pipeline.
Made = Literal["attempt", "phase", "anytime"]

#: Types of change requests, in the order of the routing table.
CHANGE_TYPES = ("scope", "architecture", "dependency", "config", "requirement")

#: The workflow parameter that limits recoveries, and its default.
MAX_RECOVERIES, USUAL_RECOVERIES = "max_recoveries", 5

#: In `raises`: changes to the code itself.
DRIFT = "drift"

#: The built-in schemas of artifacts.
ArtifactSchema = Literal["audit", "root-cause", "snapshot"]
AUDIT, ROOT_CAUSE, SNAPSHOT = "audit", "root-cause", "snapshot"


class Artifact(Value):
    """One or more files that a phase has to write."""

    name: str = field(key="")
    #: A glob, relative to the root.
    path: str = field(below_root="")
    #: For JSON files; None for other files.
    schema: ArtifactSchema | None = None
    #: A line that the content has to include, ignoring case and markup.
    line: str = field(default="", prose=True)
    min_words: int = field(default=1, minimum=1)
    made: Made = "attempt"


class Consensus(Value):
    """The artifacts that need agreement, and how much: numbers, or names of parameters."""

    on: tuple[str, ...]
    threshold: float | str = field(minimum=0)
    voters: int | str = field(minimum=0)


class Requires(Value):
    artifacts: tuple[str, ...] = ()
    #: Commands of the project, by their names under `evidence.commands`.
    checks: tuple[str, ...] = ()
    consensus: Consensus | None = None
    #: Artifacts that must not change after consensus on them was reached.
    approved: tuple[str, ...] = ()


def requires_of(phase: Phase) -> Requires:
    return phase.requires or Requires()


class Drift(Value):
    """What counts as an unplanned change."""

    #: Globs of configuration files.
    files: tuple[str, ...] = ()
    #: Lines added and removed, or the name of a parameter.
    lines: int | str = field(minimum=0)


class PipelineRules(Value):
    """The rules of a pipeline for all of its phases."""

    artifacts: Mapping[str, Artifact] = field(default_factory=dict, named=("an artifact", "-"))
    #: Files that must not change during a cycle.
    constitution: tuple[str, ...] = field(default=(), below_root="")
    #: The phase that a change request leads to, by its type.
    routes: Mapping[str, str] = field(default_factory=dict)
    drift: Drift | None = None


def settle(value: float | str, workflow: Workflow) -> float:
    """Return the number, or the value of the workflow parameter of that name."""
    found = workflow.parameters[value] if isinstance(value, str) else value
    assert isinstance(found, int | float), "the file was checked"
    return found


# --- rules that affect verdicts: unlike prose, they must not change during a cycle


def name_rules(rules: Mapping[str, Any], above: str = "") -> dict[str, str]:
    """Return the rules of a workflow, given as JSON, one by one, each with its dotted name in the workflow file.

    Default values are left out, so that new kinds of rules change nothing; and guards that no phase uses.

    :param above: comes before each name.
    """
    phases = {phase["name"]: _without_prose(phase) for phase in rules["phases"]}
    named = {name for phase in phases.values() for name in phase["gate_1"].get("guards", ())}
    # The metric of a required check is left out: its command is compared separately, and adding one changes no rule.
    checked = {f"{name}_ok" for phase in phases.values() for name in phase.get("requires", {}).get("checks", ())}
    document = {
        **rules,
        "phases": phases,
        "guards": {name: guard["condition"] for name, guard in rules.get("guards", {}).items() if name in named},
        "metrics": {name: kind for name, kind in rules.get("metrics", {}).items() if name not in checked},
    }
    return {f"{above}phases": ", ".join(phases), **dict(flatten(document, above))}


def _without_prose(phase: Mapping[str, Any]) -> dict[str, Any]:
    gate_1 = {name: held for name, held in phase["gate_1"].items() if name not in ("name", "rationale")}
    return {name: held for name, held in phase.items() if name not in ("name", "purpose")} | {"gate_1": gate_1}


def flatten(document: Mapping[str, Any], above: str) -> Iterator[tuple[str, str]]:
    """Yield the values of a document as texts, each with its dotted name.

    :param above: comes before each name.
    """
    for name, value in document.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{above}{name}.")
        elif isinstance(value, list):
            yield f"{above}{name}", ", ".join(map(str, value))
        else:
            yield f"{above}{name}", show_value(value)
