"""Read the keys that only pipelines have: artifacts, constitution, routes of change requests, requirements of phases.

Each requirement of a phase becomes one of its guards when the file is read, so that a condition can't omit it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from phase_gate.config.nodes import Node, Table, closest_first, find, find_meant, shorten
from phase_gate.config.reading import Reader
from phase_gate.values import replace
from phase_gate.workflow.metrics import PIPELINE_METRICS, MetricValue
from phase_gate.workflow.model import (
    AUDIT,
    CHANGE_TYPES,
    DRIFT,
    MAX_RECOVERIES,
    ROOT_CAUSE,
    SNAPSHOT,
    USUAL_RECOVERIES,
    Artifact,
    Guard,
    Phase,
    PipelineRules,
    Requires,
    Workflow,
    requires_of,
)

#: Keys of a workflow, and of a phase, that only pipelines have.
RULES = ("artifacts", "constitution", "routes", "drift")
_PHASE_RULES = frozenset({"requires", "on_failure", "routes", "recovers", "raises"})

#: The built-in schemas of artifacts.
_SCHEMAS = (AUDIT, ROOT_CAUSE, SNAPSHOT)


def is_pipeline(node: Node) -> bool:
    """Return whether a workflow file has any key that only pipelines have."""
    if not isinstance(node, Table):
        return False
    phases = find(node, "phases")
    rows = phases.values() if isinstance(phases, Table) else ()
    return not node.keys().isdisjoint(RULES) or any(
        isinstance(row, Table) and not row.keys().isdisjoint(_PHASE_RULES) for row in rows
    )


class PipelineReader:
    """Reads the pipeline's rules for all phases, then those of each phase."""

    def __init__(self, node: Node, parameters: Mapping[str, MetricValue], faults: Reader) -> None:
        self._node, self._faults = node, faults
        budget = parameters.get(MAX_RECOVERIES, USUAL_RECOVERIES)
        self.parameters: Mapping[str, MetricValue] = {**parameters, MAX_RECOVERIES: budget}
        assert isinstance(node, Table), "otherwise it is not a pipeline"
        rules = faults.read(PipelineRules, node.only(RULES))
        if rules.drift is not None:
            self._check_number(rules.drift.lines, find(node, "drift", "lines"))
        self.rules = replace(
            rules,
            artifacts={name: self._check_artifact(each) for name, each in rules.artifacts.items()},
            constitution=tuple(dict.fromkeys(rules.constitution)),
            routes={kind: target.upper() for kind, target in rules.routes.items() if self._is_change(kind)},
        )

    def _is_change(self, kind: str) -> bool:
        if kind not in CHANGE_TYPES:
            remedy = f"use one of: {closest_first(kind, CHANGE_TYPES)}"
            self._faults.report(kind, f"there are no change requests of type {shorten(kind)}", remedy)
        return kind in CHANGE_TYPES

    def _check_artifact(self, artifact: Artifact) -> Artifact:
        schema, where = artifact.schema, find(self._node, "artifacts", artifact.name, "schema")
        if schema and schema not in _SCHEMAS:
            remedy = f"use {closest_first(schema, _SCHEMAS)}"
            self._faults.report(where, f"there is no schema {shorten(schema)}", remedy)
        return replace(artifact, path=artifact.path.removeprefix("./"))

    def _check_number(self, given: float | str, where: Node) -> float:
        """Return a number, or the value of the parameter of that name."""
        value = self.parameters.get(given) if isinstance(given, str) else given
        if isinstance(value, bool) or not isinstance(value, int | float):
            known = [each for each, held in self.parameters.items() if isinstance(held, int | float)]
            problem = f"{shorten(str(given))} is neither a number nor a parameter with one"
            self._faults.report(where, problem, f"use one of: {closest_first(str(given), known)}")
            return 1
        return value

    def check_start(self, workflow: Workflow) -> None:
        """Refuse settings that would let a pipeline skip phases, or bypass a recovery."""
        if workflow.start != "first":
            problem = "a pipeline begins with its first phase"
            self._faults.report(find(self._node, "start"), problem, "write `start: first`, or leave it out")
        if workflow.rewind_by_option:
            problem = "a pipeline can't return to an earlier phase by an option"
            self._faults.report(find(self._node, "rewind_by_option"), problem, "write false, or leave it out")

    def check_routes(self, main: Sequence[str]) -> PipelineRules:
        """Return the rules. A route to anything but a main phase is reported, and replaced by a placeholder."""
        routes = dict(self.rules.routes)
        for kind, target in self.rules.routes.items():
            if target in main:
                continue
            if target not in self._faults.broken:
                problem = f"a change request can't lead to {shorten(target)}"
                where = find(self._node, "routes", kind)
                self._faults.report(where, problem, f"use one of: {closest_first(target, main)}")
            routes[kind] = find_meant(target, main) or main[0]
        return replace(self.rules, routes=routes)

    # --- requirements and successors of a phase

    def read_phase(self, row: Node, recovering: Collection[str]) -> dict[str, Any]:
        """Return the fields of a phase that its annotations can't read.

        :param recovering: the phases that a failing gate may lead to.
        """
        faults = self._faults
        given: dict[str, Any] = {}
        if isinstance(row, Table) and "routes" in row:
            given["routes"] = faults.choose(row["routes"], ("requests",)) == "requests"
        if isinstance(row, Table) and "on_failure" in row:
            target = faults.text(row["on_failure"]).upper()
            if target not in recovering and target not in faults.broken:
                names = closest_first(target, recovering)
                remedy = f"use one of: {names}" if names else "give a phase `recovers: true`, and name that one"
                faults.report(row["on_failure"], f"a failing gate can't lead to {shorten(target)}", remedy)
            given["on_failure"] = target if target in recovering else find_meant(target, recovering)
        return given

    def check_phase(self, row: Node, phase: Phase) -> Phase:
        """Return the phase without unknown names, which are reported."""
        faults, requires = self._faults, phase.requires
        if requires is not None:
            requires = self._check_requires(row, requires)
        raised = tuple(name for name in phase.raises if self._is_raised(name))
        routes = phase.routes
        if (routes or raised) and not self.rules.routes:
            problem = "the workflow has no routes for change requests"
            where = find(row, "routes" if routes else "raises")
            faults.report(where, problem, "add `routes:` with their types at the top")
            routes, raised = False, ()
        phase = replace(phase, requires=requires, raises=raised, routes=routes)
        if phase.recovers:
            self._check_recovering(row, phase)
        return phase

    def _check_requires(self, row: Node, requires: Requires) -> Requires:
        for name in requires.checks:
            self._faults.check_name(name, "a check")
        consensus = requires.consensus
        if consensus is not None:
            if not consensus.on:
                problem = "a consensus needs artifacts"
                where = find(row, "requires", "consensus", "on")
                self._faults.report(where, problem, "name the artifacts that are voted on")
            for key, most in (("threshold", 1), ("voters", 1000)):
                where = find(row, "requires", "consensus", key)
                value = self._check_number(getattr(consensus, key), where)
                # With no voters, or a threshold of 0, there would always be a consensus.
                if not 0 < value <= most:
                    problem = f"{where.path} can't be {value}"
                    self._faults.report(where, problem, f"write more than 0, up to {most}")
            consensus = replace(consensus, on=self._known(consensus.on))
        return replace(
            requires,
            artifacts=self._known(requires.artifacts),
            approved=self._known(requires.approved),
            consensus=consensus,
        )

    def _known(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the known artifacts without duplicates. Unknown ones are reported."""
        known = self.rules.artifacts
        names = tuple(dict.fromkeys(names))
        for name in names:
            if name not in known:
                remedy = f"use one of: {closest_first(name, known)}" if known else "describe it under `artifacts:`"
                self._faults.report(name, f"there is no artifact {shorten(name)}", remedy)
        return tuple(name for name in names if name in known)

    def _is_raised(self, name: str) -> bool:
        """Return whether this name can raise change requests. If not, it is reported."""
        if name == DRIFT:
            if self.rules.drift is None:
                self._faults.report(
                    name, "the workflow does not define drift", "add `drift: {files: [...], lines: ...}`"
                )
            return self.rules.drift is not None
        reports = [each.name for each in self.rules.artifacts.values() if each.schema == AUDIT]
        if name not in reports:
            remedy = f"use one of: {closest_first(name, [DRIFT, *reports])}"
            self._faults.report(name, f"{shorten(name)} raises no requests", remedy)
        return name in reports

    def _check_recovering(self, row: Node, phase: Phase) -> None:
        artifacts = self.rules.artifacts
        records = [name for name in requires_of(phase).artifacts if artifacts[name].schema == ROOT_CAUSE]
        if len(records) != 1:
            problem = "a phase that recovers requires one artifact with the root cause"
            self._faults.report(find(row, "recovers"), problem, f"give it an artifact with `schema: {ROOT_CAUSE}`")
        if isinstance(row, Table) and "next" in row:
            problem = "the record of a recovery names the phase that follows"
            self._faults.report(row["next"], problem, "remove `next`")


# --- guards of pipelines


def with_implied_guards(phase: Phase, rules: PipelineRules, known: Mapping[str, Guard]) -> Phase:
    """Return the phase with a guard for each of its requirements."""
    requires = requires_of(phase)
    implied = {
        "constitution-kept": rules.constitution,
        "rules-kept": True,
        "artifacts-made": requires.artifacts,
        "checks-passed": requires.checks,
        "consensus-reached": requires.consensus is not None,
        "as-approved": requires.approved,
        **dict.fromkeys(("root-cause-known", "fix-checked", "fix-tested"), phase.recovers),
        "drift-known": DRIFT in phase.raises,
        "no-blocking-issue": rules.routes,
    }
    named = [name for name, is_asked in implied.items() if is_asked and name in known]
    return replace(phase, gate_1=replace(phase.gate_1, guards=tuple(dict.fromkeys((*phase.gate_1.guards, *named)))))


def without_pipeline_guards(workflow: Workflow) -> Workflow:
    """Return a workflow without the guards that only a pipeline can measure, unless it is one or a phase names them."""
    if workflow.pipeline is not None:
        return workflow
    named = {name for phase in workflow.phases for name in phase.gate_1.guards}
    kept = {
        name: guard
        for name, guard in workflow.guards.items()
        if name in named or guard.condition.names.isdisjoint(PIPELINE_METRICS)
    }
    return replace(workflow, guards=kept)
