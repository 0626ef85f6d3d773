"""Read what a phase of a pipeline requires, and where it leads. Whatever it requires becomes a guard of it here, when
the file is read: a condition can't forget it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from phase_gate.rules.fields import Fields, closest_first, find_meant, shorten
from phase_gate.rules.pipeline import read_number
from phase_gate.values import replace
from phase_gate.workflow.metrics import PIPELINE_METRICS, MetricValue
from phase_gate.workflow.model import (
    AUDIT,
    DRIFT,
    ROOT_CAUSE,
    Consensus,
    Guard,
    Phase,
    PipelineRules,
    Requires,
    Workflow,
)

_CHECK_NAME = re.compile("[a-z][a-z0-9_]*")


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
