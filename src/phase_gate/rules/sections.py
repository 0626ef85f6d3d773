"""Read the `evidence:` part of a project's file."""

from __future__ import annotations

import shlex
from fnmatch import fnmatchcase
from typing import get_args

from phase_gate.rules.fields import Fields
from phase_gate.rules.vocabulary import RESERVED_NAMES, check_path, take_name
from phase_gate.workflow.phrases import PatternError, check_pattern
from phase_gate.workflow.settings import (
    MAX_TIMEOUTS,
    ConfidenceRules,
    DocumentRules,
    DriveBudget,
    DriveSettings,
    DriveSignal,
    EvidenceChecks,
    EvidenceCommand,
    ExitGate,
    Overlay,
    QualitySettings,
    VerificationSettings,
)


def read_commands(fields: Fields, overlay: Overlay) -> tuple[EvidenceCommand, ...]:
    """Return `commands:`; each name gives a metric `NAME_ok`, which nothing else may be called."""
    section = fields.mapping("commands", None)
    if section is None:
        return ()
    taken = {**RESERVED_NAMES, **dict.fromkeys(overlay.metrics, "a metric")}
    return tuple(_read_command(section, name, taken) for name in section)


def _read_command(section: Fields, name: str, taken: dict[str, str]) -> EvidenceCommand:
    take_name(section, name, {}, "a command")
    if f"{name}_ok" in taken:
        section.refuse_key(name, f"{name}_ok is {taken[f'{name}_ok']} already", "give the command another name")
    fields = section.mapping(name)
    command = EvidenceCommand(
        name=name,
        run=fields.text("run"),
        timeout=fields.number("timeout", 120.0, minimum=0),
        shell=fields.boolean("shell", False),
    )
    if not command.shell:
        try:
            words = shlex.split(command.run)
        except ValueError as error:
            fields.refuse("run", f"can't be split into words: {error}", "close the quote, or say shell: true")
        if not words:
            fields.refuse("run", "there is no command", "write the command as you would type it")
    fields.finish()
    return command


def read_quality(fields: Fields) -> QualitySettings:
    """Return `quality:`; what it leaves out is as if there were no file."""
    section = fields.mapping("quality", None)
    default = QualitySettings()
    if section is None:
        return default
    settings = QualitySettings(
        enabled=section.boolean("enabled", default.enabled),
        include=section.text_list("include", default.include),
        exclude=section.text_list("exclude", default.exclude),
    )
    section.finish()
    return settings


def read_documents(fields: Fields) -> DocumentRules:
    """Return `documents:`; what it leaves out is as it is without it."""
    section = fields.mapping("documents", None)
    default = DocumentRules()
    if section is None:
        return default
    rules = DocumentRules(
        include=section.text_list("include", None),
        exclude=section.text_list("exclude", default.exclude),
        minimum_words=section.integer("minimum_words", default.minimum_words, minimum=1),
        decisions=section.text_list("decisions", default.decisions),
        timeout=section.number("timeout", default.timeout, minimum=0),
    )
    if rules.include == ():
        section.refuse("include", "no document would ever count", "name some, or leave the key out")
    section.finish()
    return rules


# --- read the `exit_gate:` and `confidence:` parts of a project's file


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


# --- read the `verification:` part of a project's file


def read_verification(fields: Fields | None) -> VerificationSettings:
    if fields is None:
        return VerificationSettings()
    state_file = fields.text("state_file", None)
    if state_file is not None:
        check_path(state_file, fields.place("state_file"), fields)
    settings = VerificationSettings(
        timeouts=_read_timeouts(fields.mapping("timeouts", None)),
        untimed=fields.boolean("untimed", False),
        state_file=state_file,
    )
    fields.finish()
    return settings


def _read_timeouts(fields: Fields | None) -> dict[str, float]:
    if fields is None:
        return {}
    given = {step: fields.number(step, minimum=1) for step in MAX_TIMEOUTS if step in fields}
    for step, seconds in given.items():
        if seconds > MAX_TIMEOUTS[step]:
            fields.refuse(step, f"{seconds:g} s is more than a step may take", f"give at most {MAX_TIMEOUTS[step]:g}")
    fields.finish()
    return given


# --- read the `drive:` part of a project's file


#: What no agent is ever given.
WITHHELD = ("PHASE_GATE_KEY", "PHASE_GATE_STORE*")

_ROLES = ("planner", "implementer", "auditor", "debugger")
_SIGNALS: tuple[DriveSignal, ...] = get_args(DriveSignal)


def read_drive(fields: Fields | None) -> DriveSettings:
    usual = DriveSettings()
    if fields is None:
        return usual
    goal_file = fields.text("goal_file", usual.goal_file)
    if goal_file:
        check_path(goal_file, fields.place("goal_file"), fields)
    roles, voters = _read_roles(fields.mapping("roles", None))
    settings = DriveSettings(
        agent=fields.text_list("agent", usual.agent, or_one=True),
        time_limit=fields.duration("time_limit", usual.time_limit),
        test_time_limit=fields.duration("test_time_limit", usual.test_time_limit),
        budget=_read_budget(fields.mapping("budget", None)),
        signal=fields.choice("signal", _SIGNALS, usual.signal),
        on_person_needed=fields.text_list("on_person_needed", usual.on_person_needed, or_one=True),
        env=_read_env(fields),
        pytest=fields.text_list("pytest", usual.pytest),
        goal_file=goal_file,
        until=fields.text("until", usual.until).upper(),
        idle_limit=fields.integer("idle_limit", usual.idle_limit, minimum=1),
        retry_wait=fields.duration("retry_wait", usual.retry_wait, minimum=0),
        executor=fields.text_list("executor", usual.executor, or_one=True),
        reviewer=fields.text_list("reviewer", usual.reviewer, or_one=True),
        commit=fields.boolean("commit", usual.commit),
        roles=roles,
        voters=voters,
    )
    fields.finish()
    return settings


def _read_roles(fields: Fields | None) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the commands of roles and phases, and those that vote."""
    if fields is None:
        return {}, ()
    roles: dict[str, tuple[str, ...]] = {}
    for name in list(fields):
        if name == "voters":
            continue
        if name not in _ROLES and not name.isupper():
            known = ", ".join((*_ROLES, "voters"))
            fields.refuse_key(name, f"{name!r} is no role", f"use one of: {known}; or a phase, in capitals")
        roles[name] = fields.text_list(name, or_one=True)
    voters = fields.text_list("voters", ())
    fields.finish()
    return roles, voters


def _read_budget(fields: Fields | None) -> DriveBudget:
    usual = DriveBudget()
    if fields is None:
        return usual
    budget = DriveBudget(
        iterations=fields.integer("iterations", usual.iterations, minimum=1),
        seconds=fields.duration("time", usual.seconds),
    )
    fields.finish()
    return budget


def _read_env(fields: Fields) -> tuple[str, ...] | None:
    names = fields.text_list("env", None)
    for number, name in enumerate(names or ()):
        if any(fnmatchcase(name, each) for each in WITHHELD):
            place = fields.item_place("env", number)
            raise fields.error(f"{place}: {name} never reaches an agent", "take it out of drive.env")
    return names
