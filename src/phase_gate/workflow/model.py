"""The model of a workflow: phases in order, their gates, and what may follow what.

Data only. `config` makes it from text; `gate.order` and `gate.judging` read it.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.values import Literal, Value, field, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.workflow.conditions import Condition
    from phase_gate.workflow.metrics import MetricValue


MetricType = Literal["int", "number", "bool", "text"]
Tests = Literal["failing", "passing", "none"]
Scope = Literal["suite", "targets"]
Start = Literal["any", "first"]


class Guard(Value):
    """A named rule about the evidence itself: a condition over metrics, with a remedy."""

    name: str = field(key="")
    condition: Condition
    remedy: str = field(prose=True)
    #: The problem if it is not met, as a sentence; `{metric}` is replaced by a value.
    detail: str = field(default="", prose=True)


class Gate1(Value):
    name: str = field(prose=True)
    condition: Condition
    guards: tuple[str, ...] = ()
    rationale: str = field(default="", prose=True)
    #: True where a project's file took the workflow's condition out and put its own in: shown in every verdict.
    replaced: bool = field(default=False, key="")


class Limits(Value):
    """How often the circuit breaker lets something happen in a row; 0 switches it off."""

    no_progress: int = field(default=5, minimum=0)
    same_error: int = field(default=5, minimum=0)
    #: Claims of completion that the exit gate blocked.
    exit_blocked: int = field(default=5, minimum=0)
    #: Seconds after which an open circuit lets one run try.
    cool_down: float = field(default=1800.0, minimum=0)


class Phase(Value):
    name: str = field(key="")
    gate_1: Gate1
    next: str
    purpose: str = field(default="", prose=True)
    tests: Tests = "passing"
    scope: Scope = "suite"
    may_end_cycle: bool = False
    breaker: Limits = field(default_factory=Limits)
    #: Requirements in addition to the condition; None outside of pipelines.
    requires: Requires | None = None
    #: Where a gate leads that fails: a done signal while Gate 1 is closed. Empty: nowhere, it only stays closed.
    on_failure: str = ""
    #: Whether a pending change request leads elsewhere than `next`.
    routes: bool = False
    #: Whether this is the phase that failures lead to; what follows it is the rewind that its record asks for.
    recovers: bool = False
    #: What makes change requests by itself here: `drift`, or an artifact with findings.
    raises: tuple[str, ...] = ()


class Workflow(Value):
    name: str
    phases: tuple[Phase, ...]
    start: Start = "any"
    #: Whether `--phase=FIRST` in the middle of a cycle rewinds.
    rewind_by_option: bool = True
    parameters: Mapping[str, MetricValue] = field(default_factory=dict)
    #: What may be declared, with its type; measured names never.
    facts: Mapping[str, MetricType] = field(default_factory=dict)
    #: Metrics that plugins measure, with their types.
    metrics: Mapping[str, MetricType] = field(default_factory=dict)
    guards: Mapping[str, Guard] = field(default_factory=dict)
    #: What holds for all phases of a pipeline; None: this is none.
    pipeline: PipelineRules | None = None
    #: SHA-256 of what was read, so that a change of the rules is seen.
    digest: str = ""

    @property
    def first(self) -> Phase:
        return self.phases[0]

    def phase(self, name: str) -> Phase | None:
        """Return the phase of that name, in any case; None if there is none."""
        wanted = name.upper()
        return next((phase for phase in self.phases if phase.name.upper() == wanted), None)


# --- requirements of a pipeline phase in addition to its condition: artifacts, checks, consensus.


#: When an artifact has to be new: since the attempt that its phases belong to began, in every phase that asks, or since
#: an earlier attempt only, so that one from before the pipeline counts in the first.
Made = Literal["attempt", "phase", "anytime"]

#: Kinds of change that a request may be about, in the order of the routing map.
CHANGE_TYPES = ("scope", "architecture", "dependency", "config", "requirement")

#: The parameter with the budget of recoveries, and its default.
MAX_RECOVERIES, USUAL_RECOVERIES = "max_recoveries", 5

#: Names changes of the code itself, in a phase that raises requests.
DRIFT = "drift"

#: Schemas of artifacts that we read ourselves.
SNAPSHOT, AUDIT, ROOT_CAUSE = "snapshot", "audit", "root-cause"


class Artifact(Value):
    """A file, or several, that a phase has to leave."""

    name: str = field(key="")
    #: A glob, from the root.
    path: str = field(below_root="")
    #: A schema that we publish: the file is JSON then.
    schema: str = ""
    #: A regular expression that has to be found in it.
    pattern: str = field(default="", phrases=True)
    #: A required line; case and markup do not matter.
    line: str = field(default="", prose=True)
    min_words: int = field(default=1, minimum=1)
    made: Made = "attempt"


class Consensus(Value):
    """How much agreement there has to be, and on what; numbers, or names of parameters."""

    on: tuple[str, ...]
    threshold: float | str = field(minimum=0)
    voters: int | str = field(minimum=0)


class Requires(Value):
    artifacts: tuple[str, ...] = ()
    #: Commands of the project, by their names under `evidence.commands`.
    checks: tuple[str, ...] = ()
    consensus: Consensus | None = None
    #: Artifacts that have to be as they were when their consensus was reached.
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
    """The settings of a pipeline for all its phases."""

    artifacts: Mapping[str, Artifact] = field(default_factory=dict, named=("an artifact", "-"))
    #: Files that may not change while a cycle lasts.
    constitution: tuple[str, ...] = field(default=(), below_root="")
    #: Where a change request leads, by its type.
    routes: Mapping[str, str] = field(default_factory=dict)
    drift: Drift | None = None


def settle(value: float | str, workflow: Workflow) -> float:
    """Return a number: itself, or the value of a workflow's parameter."""
    found = workflow.parameters[value] if isinstance(value, str) else value
    assert isinstance(found, int | float), "the file was checked"
    return found


class ArtifactChange(Value):
    """A project's changes to an artifact."""

    path: str | None = field(default=None, below_root="")
    #: One takes the place of the other.
    pattern: str = field(default="", phrases=True)
    line: str = field(default="", prose=True)
    min_words: int | None = field(default=None, minimum=1)

    def apply(self, artifact: Artifact) -> Artifact:
        looks = {"pattern": self.pattern, "line": self.line} if self.pattern or self.line else {}
        words = artifact.min_words if self.min_words is None else self.min_words
        return replace(artifact, path=self.path or artifact.path, min_words=words, **looks)


# --- what a project lays over its workflow


class PhaseOverlay(Value):
    """What a project does to one phase: one more condition (or another one), more guards."""

    condition: Condition | None = None
    guards: tuple[str, ...] = ()
    replace: bool = False
    breaker: Limits | None = None


class Overlay(Value):
    """A project's changes to a workflow. Keys and texts from its file have a position."""

    parameters: Mapping[str, MetricValue] = field(default_factory=dict)
    metrics: Mapping[str, MetricType] = field(default_factory=dict, named=("a metric", "_"))
    guards: Mapping[str, Guard] = field(default_factory=dict, named=("a guard", "-"))
    phases: Mapping[str, PhaseOverlay] = field(default_factory=dict)
    #: Changes to artifacts of a pipeline, by name.
    artifacts: Mapping[str, ArtifactChange] = field(default_factory=dict)
    #: Other files that may not change while a pipeline runs; None: the workflow's.
    constitution: tuple[str, ...] | None = field(default=None, below_root="")
