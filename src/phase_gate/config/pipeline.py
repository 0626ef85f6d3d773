"""Read what only pipelines say: artifacts, the constitution, where change requests lead, what a phase requires.

Whatever a phase requires becomes a guard of it here, when the file is read: a condition can't forget it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, get_args

from phase_gate.config.fields import Fields, closest_first, find_meant, shorten
from phase_gate.config.vocabulary import check_path
from phase_gate.config.yaml import YamlScalar
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
    Consensus,
    Drift,
    Guard,
    Made,
    Phase,
    PipelineRules,
    Requires,
    Workflow,
)
from phase_gate.workflow.phrases import PatternError, check_pattern

#: Keys of a workflow, and of a phase, that only pipelines have.
RULE_KEYS = ("artifacts", "constitution", "routes", "drift")
PHASE_KEYS = ("requires", "on_failure", "routes", "recovers", "raises")

#: What schemas of artifacts may be called without being files.
SHIPPED_SCHEMAS = (AUDIT, ROOT_CAUSE, SNAPSHOT)

_ARTIFACT_NAME = re.compile("[a-z][a-z0-9-]*")
_MADE: tuple[Made, ...] = get_args(Made)


def is_pipeline(fields: Fields) -> bool:
    """Tell whether a workflow file says anything that only pipelines say."""
    if any(key in fields for key in RULE_KEYS):
        return True
    phases = fields.mapping("phases", None)
    return phases is not None and any(key in phases.mapping(name) for name in phases for key in PHASE_KEYS)


def check_start(fields: Fields, start: str, *, rewind_by_option: bool) -> None:
    """Refuse ways into a pipeline that would leave phases out, or go round a recovery."""
    if start != "first":
        fields.report("start", "a pipeline begins with its first phase", "write `start: first`, or leave it out")
    if rewind_by_option:
        fields.report("rewind_by_option", "a pipeline does not go back by an option", "write false, or leave it out")


def read_rules(fields: Fields, parameters: Mapping[str, MetricValue]) -> PipelineRules:
    """Return what the file says about all phases; whether the phases that it names exist is not looked at."""
    artifacts: dict[str, Artifact] = {}
    if (section := fields.mapping("artifacts", None)) is not None:
        artifacts = {name: _read_artifact(section, name) for name in section}
    constitution = fields.text_list("constitution", ())
    for index, path in enumerate(constitution):
        check_path(path, fields.item_place("constitution", index), fields)
    routes: dict[str, str] = {}
    if (section := fields.mapping("routes", None)) is not None:
        for kind in section:
            if kind not in CHANGE_TYPES:
                remedy = f"use one of: {closest_first(kind, CHANGE_TYPES)}"
                section.report_key(kind, f"there are no change requests of type {shorten(kind)}", remedy)
            else:
                routes[kind] = section.text(kind).upper()
    return PipelineRules(
        artifacts=artifacts,
        constitution=tuple(dict.fromkeys(constitution)),
        routes=routes,
        drift=_read_drift(fields.mapping("drift", None), parameters),
    )


def add_budget(parameters: dict[str, MetricValue]) -> dict[str, MetricValue]:
    """Return the parameters with the number of recoveries, where none is given."""
    return parameters if MAX_RECOVERIES in parameters else {**parameters, MAX_RECOVERIES: USUAL_RECOVERIES}


def check_routes(fields: Fields, rules: PipelineRules, main: Sequence[str]) -> PipelineRules:
    """Return the rules; a route to what is no phase on the way is a fault, and gets a stand-in."""
    routes = dict(rules.routes)
    for kind, target in rules.routes.items():
        if target in main:
            continue
        if target not in fields.faults.broken:
            problem = f"a change request can't lead to {shorten(target)}"
            fields.mapping("routes").report(kind, problem, f"use one of: {closest_first(target, main)}")
        routes[kind] = find_meant(target, main) or main[0]
    return replace(rules, routes=routes)


def read_artifact_changes(section: Fields) -> dict[str, dict[str, Any]]:
    """Return what a project says otherwise about artifacts of its workflow, by their names."""
    changes: dict[str, dict[str, Any]] = {}
    for name in section:
        fields = section.mapping(name)
        given: dict[str, Any] = {}
        if "path" in fields:
            given["path"] = _read_path(fields)
        if "pattern" in fields or "line" in fields:
            # One takes the place of the other.
            given |= {"pattern": _read_pattern(fields), "line": _read_line(fields)}
        if "min_words" in fields:
            given["min_words"] = fields.integer("min_words", minimum=1)
        for key in ("path", "pattern", "line", "min_words"):
            fields.node_of(key)
        fields.finish()
        changes[name] = given
    return changes


def _read_artifact(section: Fields, name: str) -> Artifact:
    if not _ARTIFACT_NAME.fullmatch(name):
        section.report_key(name, f"an artifact can't be named {shorten(name)}", "use lower case, digits and `-`")
    fields = section.mapping(name)
    artifact = Artifact(
        name=name,
        path=_read_path(fields),
        schema=fields.text("schema", ""),
        pattern=_read_pattern(fields),
        line=_read_line(fields),
        min_words=fields.integer("min_words", 1, minimum=1),
        made=fields.choice("made", _MADE, "attempt"),
    )
    if artifact.schema and artifact.schema not in SHIPPED_SCHEMAS:
        if "/" not in artifact.schema and not artifact.schema.endswith(".json"):
            names = closest_first(artifact.schema, SHIPPED_SCHEMAS)
            fields.report("schema", f"there is no schema {shorten(artifact.schema)}", f"use {names}; or a file's path")
        check_path(artifact.schema, fields.place("schema"), fields)
    fields.finish()
    return artifact


def _read_path(fields: Fields) -> str:
    path = fields.text("path")
    check_path(path, fields.place("path"), fields)
    return path.removeprefix("./")


def _read_pattern(fields: Fields) -> str:
    pattern = fields.text("pattern", "")
    try:
        check_pattern(pattern)
    except PatternError as error:
        fields.report("pattern", f"{fields.dotted('pattern')}: {error}", "write a simple expression, in single quotes")
        return ""
    return pattern


def _read_line(fields: Fields) -> str:
    return " ".join(fields.text("line", "").split())


def _read_drift(fields: Fields | None, parameters: Mapping[str, MetricValue]) -> Drift | None:
    if fields is None:
        return None
    lines = read_number(fields, "lines", parameters)
    drift = Drift(files=fields.text_list("files", ()), lines=lines if isinstance(lines, str) else int(lines))
    fields.finish()
    return drift


def read_number(fields: Fields, key: str, parameters: Mapping[str, MetricValue]) -> float | str:
    """Return a number, or the name of a parameter that is one."""
    node = fields.node_of(key)
    if isinstance(node, YamlScalar) and isinstance(fields.value(key), str):
        name = fields.text(key)
        value = parameters.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            known = [each for each, held in parameters.items() if isinstance(held, int | float)]
            fields.report(
                key, f"{shorten(name)} is no number among the parameters", f"use one of: {closest_first(name, known)}"
            )
            return 1
        return name
    return fields.number(key, minimum=0)


_CHECK_NAME = re.compile("[a-z][a-z0-9_]*")


# --- what a phase requires, and where it leads


def read_phase_rules(
    fields: Fields, rules: PipelineRules, parameters: Mapping[str, MetricValue], recovering: Collection[str]
) -> dict[str, Any]:
    """Return the fields of a phase that only pipelines have.

    :param recovering: the phases that failures may lead to.
    """
    recovers = fields.boolean("recovers", False)
    given: dict[str, Any] = {
        "requires": _read_requires(fields.mapping("requires", None), rules, parameters),
        "on_failure": fields.text("on_failure", "").upper(),
        "routes": fields.choice("routes", ("requests",), "") == "requests",
        "recovers": recovers,
        "raises": fields.text_list("raises", ()),
    }
    if given["on_failure"] and given["on_failure"] not in recovering:
        target, names = given["on_failure"], closest_first(given["on_failure"], recovering)
        if target not in fields.faults.broken:
            remedy = f"use one of: {names}" if names else "give a phase `recovers: true`, and name that one"
            fields.report("on_failure", f"a failing gate can't lead to {shorten(target)}", remedy)
        given["on_failure"] = find_meant(target, recovering)
    given["raises"] = tuple(
        name for index, name in enumerate(given["raises"]) if _is_raised(fields, index, name, rules)
    )
    if (given["routes"] or given["raises"]) and not rules.routes:
        key = "routes" if given["routes"] else "raises"
        fields.report(key, "no rule says where change requests lead", "add `routes:` with their types at the top")
        given |= {"routes": False, "raises": ()}
    if recovers:
        _check_recovering(fields, given["requires"], rules)
    return given


def _read_requires(
    fields: Fields | None, rules: PipelineRules, parameters: Mapping[str, MetricValue]
) -> Requires | None:
    if fields is None:
        return None
    requires = Requires(
        artifacts=_read_names(fields, "artifacts", rules.artifacts),
        checks=fields.text_list("checks", ()),
        consensus=_read_consensus(fields.mapping("consensus", None), rules, parameters),
        approved=_read_names(fields, "approved", rules.artifacts),
    )
    for index, name in enumerate(requires.checks):
        if not _CHECK_NAME.fullmatch(name):
            place = fields.item_place("checks", index)
            fields.faults.report(place, f"a check can't be named {shorten(name)}", "use lower case, digits and `_`")
    fields.finish()
    return requires


def _read_names(fields: Fields, key: str, known: Collection[str]) -> tuple[str, ...]:
    names = fields.text_list(key, ())
    for index, name in enumerate(names):
        if name not in known:
            remedy = f"use one of: {closest_first(name, known)}" if known else "describe it under `artifacts:`"
            fields.faults.report(fields.item_place(key, index), f"there is no artifact {shorten(name)}", remedy)
    return tuple(dict.fromkeys(name for name in names if name in known))


def _read_consensus(
    fields: Fields | None, rules: PipelineRules, parameters: Mapping[str, MetricValue]
) -> Consensus | None:
    if fields is None:
        return None
    voters = read_number(fields, "voters", parameters)
    consensus = Consensus(
        on=_read_names(fields, "on", rules.artifacts),
        threshold=read_number(fields, "threshold", parameters),
        voters=voters if isinstance(voters, str) else int(voters),
    )
    if not consensus.on and not fields.text_list("on", ()):
        fields.report("on", "a consensus has to be on something", "name the artifacts that are voted on")
    for key, least, most in (("threshold", 0.0, 1.0), ("voters", 1.0, 1000.0)):
        given = getattr(consensus, key)
        value = parameters[given] if isinstance(given, str) else given
        # Without a single voter, or with a threshold of nothing, everything would be agreed on.
        if not isinstance(value, int | float) or not least < value + (key == "voters") or value > most or not value:
            fields.report(key, f"{fields.dotted(key)} can't be {value}", f"write more than 0, up to {most:g}")
    fields.finish()
    return consensus


def _is_raised(fields: Fields, index: int, name: str, rules: PipelineRules) -> bool:
    """Tell whether requests can come of that name; it is a fault if not."""
    place = fields.item_place("raises", index)
    if name == DRIFT:
        if rules.drift is None:
            fields.faults.report(place, "no rule says what drift is", "add `drift: {files: [...], lines: ...}`")
        return rules.drift is not None
    reports = [each.name for each in rules.artifacts.values() if each.schema == AUDIT]
    if name not in reports:
        remedy = f"use one of: {closest_first(name, [DRIFT, *reports])}"
        fields.faults.report(place, f"{shorten(name)} raises no requests", remedy)
    return name in reports


def _check_recovering(fields: Fields, requires: Requires | None, rules: PipelineRules) -> None:
    records = [
        name for name in (() if requires is None else requires.artifacts) if rules.artifacts[name].schema == ROOT_CAUSE
    ]
    if len(records) != 1:
        fields.report(
            "recovers",
            "a phase that recovers requires one artifact with the root cause",
            f"give it an artifact with `schema: {ROOT_CAUSE}`",
        )
    if "next" in fields:
        fields.report("next", "what follows a recovery is what its record says", "take `next` out")


# --- what follows from it


def with_implied_guards(phase: Phase, rules: PipelineRules, known: Mapping[str, Guard]) -> Phase:
    """Return the phase with a guard for whatever it requires."""
    implied = [name for name in _implied(phase, rules) if name in known]
    return replace(phase, gate_1=replace(phase.gate_1, guards=tuple(dict.fromkeys((*phase.gate_1.guards, *implied)))))


def _implied(phase: Phase, rules: PipelineRules) -> Iterable[str]:
    requires = phase.requires or Requires()
    if rules.constitution:
        yield "constitution-kept"
    yield "rules-kept"
    if requires.artifacts:
        yield "artifacts-made"
    if requires.checks:
        yield "checks-passed"
    if requires.consensus is not None:
        yield "consensus-reached"
    if requires.approved:
        yield "as-approved"
    if phase.recovers:
        yield "root-cause-known"
        yield "fix-checked"
        yield "fix-tested"
    if DRIFT in phase.raises:
        yield "drift-known"
    if rules.routes:
        yield "no-blocking-issue"


def without_pipeline_guards(workflow: Workflow) -> Workflow:
    """Return a workflow that is no pipeline without the guards that only one can measure, unless a phase names them."""
    if workflow.pipeline is not None:
        return workflow
    named = {name for phase in workflow.phases for name in phase.gate_1.guards}
    kept = {
        name: guard
        for name, guard in workflow.guards.items()
        if name in named or guard.condition.names.isdisjoint(PIPELINE_METRICS)
    }
    return replace(workflow, guards=kept)
