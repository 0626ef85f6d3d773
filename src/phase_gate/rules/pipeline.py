"""Read what a pipeline says about all of its phases: artifacts, the constitution, where change requests lead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from phase_gate.rules.fields import Fields, closest_first, find_meant, shorten
from phase_gate.rules.vocabulary import check_path
from phase_gate.rules.yaml import YamlScalar
from phase_gate.values import replace
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import (
    AUDIT,
    CHANGE_TYPES,
    MAX_RECOVERIES,
    ROOT_CAUSE,
    SNAPSHOT,
    USUAL_RECOVERIES,
    Artifact,
    Drift,
    Made,
    PipelineRules,
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
