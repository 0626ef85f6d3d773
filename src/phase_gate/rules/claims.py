"""Read the `exit_gate:` and `confidence:` parts of a project's file."""

from __future__ import annotations

from phase_gate.rules.yaml_fields import Fields
from phase_gate.workflow.phrases import PatternError, check_pattern
from phase_gate.workflow.settings import ConfidenceRules, EvidenceChecks, ExitGate


def read_exit_gate(fields: Fields | None) -> ExitGate:
    if fields is None:
        return ExitGate()
    usual = ExitGate()
    gate = ExitGate(
        enabled=fields.boolean("enabled", usual.enabled),
        indicator_threshold=fields.integer("indicator_threshold", usual.indicator_threshold, minimum=1),
        require_explicit_signal=fields.boolean("require_explicit_signal", usual.require_explicit_signal),
        evidence_checks=_read_checks(fields.mapping("evidence_checks", None)),
        patterns=_read_patterns(fields, "patterns", None),
        plan_file=fields.text("plan_file", None),
        thresholds=_read_thresholds(fields.mapping("thresholds", None)),
        honour_override=fields.boolean("honour_override", usual.honour_override),
        as_signal=fields.boolean("as_signal", usual.as_signal),
    )
    fields.finish()
    return gate


def _read_checks(fields: Fields | None) -> EvidenceChecks:
    if fields is None:
        return EvidenceChecks()
    usual = EvidenceChecks()
    checks = EvidenceChecks(
        tests=fields.boolean("tests", usual.tests),
        build=fields.boolean("build", usual.build),
        acceptance_criteria=fields.boolean("acceptance_criteria", usual.acceptance_criteria),
        clean_git=fields.boolean("clean_git", usual.clean_git),
    )
    fields.finish()
    return checks


def _read_thresholds(fields: Fields | None) -> dict[str, int]:
    return {} if fields is None else {kind: fields.integer(kind, minimum=1) for kind in fields}


def _read_patterns(fields: Fields, key: str, usual: tuple[str, ...] | None) -> tuple[str, ...] | None:
    patterns = fields.text_list(key, usual)
    for number, pattern in enumerate(patterns or ()) if patterns is not usual else ():
        try:
            check_pattern(pattern)
        except PatternError as error:
            place = fields.item_place(key, number)
            problem = f"{place}: {fields.dotted(key)}: {error}"
            raise fields.error(problem, "write a simple phrase, with `.*` at most") from None
    return patterns


def read_confidence(fields: Fields | None) -> ConfidenceRules:
    if fields is None:
        return ConfidenceRules()
    usual = ConfidenceRules()
    rules = ConfidenceRules(
        enabled=fields.boolean("enabled", usual.enabled),
        threshold=fields.integer("threshold", usual.threshold, minimum=1),
        low=fields.integer("low", usual.low, minimum=0),
        repeated=fields.integer("repeated", usual.repeated, minimum=1),
        keywords=_read_patterns(fields, "keywords", usual.keywords) or usual.keywords,
        task_file=fields.text("task_file", None),
        done_folder=fields.text("done_folder", usual.done_folder),
    )
    if rules.threshold > 100:
        fields.refuse("threshold", f"{rules.threshold} can never be reached", "write 100 or less")
    if rules.low > rules.threshold:
        fields.refuse("low", f"it is above the threshold, {rules.threshold}", f"write {rules.threshold} or less")
    fields.finish()
    return rules
