"""Read `phase-gate.yaml`, or our table in `pyproject.toml`: options' defaults, and what is laid over the workflow.

A section is read as the annotations of its settings say; here stands what they can't say. Whether it fits the workflow
is decided by `apply_overlay`, which knows that workflow.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

from phase_gate.config.fields import Fields
from phase_gate.config.pipeline import read_artifact_changes
from phase_gate.config.vocabulary import (
    MAX_BYTES,
    RESERVED_NAMES,
    check_path,
    read_condition,
    read_guards,
    read_settings,
    read_types,
    read_value,
    read_values,
    take_name,
)
from phase_gate.config.yaml import YamlNode, YamlScalar, read_bytes, read_document
from phase_gate.errors import ConfigurationError, UsageError
from phase_gate.storage.root import has_own_table
from phase_gate.values import replace
from phase_gate.workflow.model import Limits
from phase_gate.workflow.settings import (
    DEFAULT_WORKFLOW,
    FILE_NAME,
    MAX_TIMEOUTS,
    PYPROJECT,
    WITHHELD,
    ConfidenceRules,
    Configuration,
    DocumentRules,
    DriveSettings,
    EvidenceCommand,
    Overlay,
    PhaseOverlay,
    ProofMode,
    ProofSettings,
    QualitySettings,
    RunDefaults,
    VerificationSettings,
)

#: Options that only a call may give, and why.
_CALL_ONLY: Mapping[str, str] = {
    "phase": "a file that names the phase would record every run of pytest",
    "exit_signal": "a signal that stands in a file is not given on purpose",
    "shard": "each shard has its own number",
}
_PROOF_MODES: tuple[ProofMode, ...] = get_args(ProofMode)
_ROLES = ("planner", "implementer", "auditor", "debugger")


def load_configuration(root: Path) -> Configuration:
    """Return the configuration of the project; defaults if it has none."""
    path, table = root / FILE_NAME, read_own_table(root)
    if os.path.lexists(path):
        if table is not None:
            problem = f"{PYPROJECT} has a table [tool.phase-gate], and there is a {FILE_NAME}"
            raise ConfigurationError(problem, "keep the settings in one of the two")
        return parse_configuration(_read(path))
    other = path.with_suffix(".yml")
    if os.path.lexists(other):
        # Silence would mean the defaults, against the will of the user who wrote it.
        raise ConfigurationError(f"{other.name}: a file of this name is not read", f"rename it to {FILE_NAME}")
    return Configuration() if table is None else _read_configuration(table, PYPROJECT)


def read_own_table(root: Path) -> YamlNode | None:
    """Return our table in pyproject.toml; None if there is none."""
    if not has_own_table(root):
        return None
    from phase_gate.config.toml import read_table

    return read_table(_read(root / PYPROJECT), name=PYPROJECT, limit=MAX_BYTES)


def _read(path: Path) -> bytes:
    return read_bytes(path, name=path.name, limit=MAX_BYTES, error=ConfigurationError)


def parse_configuration(text: str | bytes, name: str = FILE_NAME) -> Configuration:
    """Return what a text says.

    :param name: what stands in front of the line in messages.
    """
    return _read_configuration(read_document(text, name=name, limit=MAX_BYTES), name)


def _read_configuration(node: YamlNode, name: str) -> Configuration:
    fields = Fields(node, file=name, error=ConfigurationError)
    workflow, run = _read_run(fields)
    overlay = _read_overlay(fields)
    commands, evidence = _read_evidence(fields.mapping("evidence", None), overlay)
    return read_settings(
        fields,
        Configuration(),
        workflow=workflow,
        run=run,
        overlay=replace(overlay, metrics={**overlay.metrics, **{each.metric: "bool" for each in commands}}),
        commands=commands,
        **evidence,
        allow_non_interactive=_read_overrides(fields.mapping("overrides", None)),
        confidence=_read_confidence(fields.mapping("confidence", None)),
        proof=_read_proof(fields),
        verification=_read_verification(fields.mapping("verification", None)),
        drive=_read_drive(fields.mapping("drive", None)),
        store=_read_store(fields),
    )


# --- what stands elsewhere in the file than in the settings, or in two ways


def _read_run(fields: Fields) -> tuple[str, RunDefaults]:
    """Return the workflow, which may be named in two places, and what options of a run are."""
    workflow, section = fields.text("workflow", None), fields.mapping("run", None)
    if section is None:
        return workflow or DEFAULT_WORKFLOW, RunDefaults()
    for key in section:
        reason = _CALL_ONLY.get(key.replace("-", "_"))
        if reason is not None:
            option = "--phase-shard" if key == "shard" else f"--{key.replace('_', '-')}"
            section.refuse_key(key, f"{key} can't stand in a file: {reason}", f"give {option} with the call")
    in_section = section.text("workflow", None)
    run = read_settings(section, RunDefaults(), criteria=_read_criteria(section))
    if in_section is not None and workflow is not None:
        section.refuse("workflow", "the workflow is named twice", "keep one: `workflow` here, or at the top")
    return in_section or workflow or DEFAULT_WORKFLOW, run


def _read_criteria(fields: Fields) -> int | str | None:
    node = fields.node_of("criteria")
    if node is None:
        return None
    if isinstance(node, YamlScalar) and isinstance(fields.value("criteria"), str):
        return fields.text("criteria")
    return fields.integer("criteria", minimum=1)


def _read_overrides(fields: Fields | None) -> bool:
    if fields is None:
        return False
    allow = fields.boolean("allow_non_interactive", False)
    fields.finish()
    return allow


def _read_proof(fields: Fields) -> ProofSettings:
    """Return `proof:`, a mode or a section."""
    if isinstance(fields.node_of("proof"), YamlScalar):
        return ProofSettings(mode=fields.choice("proof", _PROOF_MODES))
    return read_settings(fields.mapping("proof", None), ProofSettings())


def _read_store(fields: Fields) -> str:
    text = fields.text("store", "")
    if text:
        from phase_gate.stores.address import parse_address

        try:
            parse_address(text)
        except UsageError as error:
            fields.refuse("store", error.problem, error.remedy)
    return text


# --- what has to fit together


def _read_evidence(section: Fields | None, overlay: Overlay) -> tuple[tuple[EvidenceCommand, ...], dict[str, Any]]:
    """Return the commands under `evidence:`, and the other settings there."""
    if section is None:
        return (), {"quality": QualitySettings(), "new_code": False, "documents": DocumentRules()}
    commands: tuple[EvidenceCommand, ...] = ()
    if (listed := section.mapping("commands", None)) is not None:
        taken = {**RESERVED_NAMES, **dict.fromkeys(overlay.metrics, "a metric")}
        commands = tuple(_read_command(listed, name, taken) for name in listed)
    documents = section.mapping("documents", None)
    rules = read_settings(documents, DocumentRules())
    if documents is not None and rules.include == ():
        documents.refuse("include", "no document would ever count", "name some, or leave the key out")
    evidence = {
        "documents": rules,
        "quality": read_settings(section.mapping("quality", None), QualitySettings()),
        "new_code": section.boolean("new_code", False),
    }
    section.finish()
    return commands, evidence


def _read_command(section: Fields, name: str, taken: Mapping[str, str]) -> EvidenceCommand:
    """Return a command; its name gives a metric `NAME_ok`, which nothing else may be called."""
    take_name(section, name, {}, "a command")
    if f"{name}_ok" in taken:
        section.refuse_key(name, f"{name}_ok is {taken[f'{name}_ok']} already", "give the command another name")
    fields = section.mapping(name)
    command = read_value(fields, EvidenceCommand, name=name)
    if not command.shell:
        try:
            words = shlex.split(command.run)
        except ValueError as error:
            fields.refuse("run", f"can't be split into words: {error}", "close the quote, or say shell: true")
        if not words:
            fields.refuse("run", "there is no command", "write the command as you would type it")
    return command


def _read_confidence(fields: Fields | None) -> ConfidenceRules:
    rules = read_settings(fields, ConfidenceRules())
    if fields is None:
        return rules
    if rules.threshold > 100:
        fields.refuse("threshold", f"{rules.threshold} can never be reached", "write 100 or less")
    if rules.low > rules.threshold:
        fields.refuse("low", f"it is above the threshold, {rules.threshold}", f"write {rules.threshold} or less")
    return rules if rules.keywords else replace(rules, keywords=ConfidenceRules().keywords)


def _read_verification(fields: Fields | None) -> VerificationSettings:
    if fields is None:
        return VerificationSettings()
    timeouts: dict[str, float] = {}
    if (section := fields.mapping("timeouts", None)) is not None:
        for step, most in MAX_TIMEOUTS.items():
            seconds = section.number(step, None, minimum=1)
            if seconds is None:
                continue
            if seconds > most:
                section.refuse(step, f"{seconds:g} s is more than a step may take", f"give at most {most:g}")
            timeouts[step] = seconds
        section.finish()
    return read_settings(fields, VerificationSettings(), timeouts=timeouts)


def _read_drive(fields: Fields | None) -> DriveSettings:
    if fields is None:
        return DriveSettings()
    roles, voters = _read_roles(fields.mapping("roles", None))
    settings = read_settings(fields, DriveSettings(), roles=roles, voters=voters)
    for number, name in enumerate(settings.env or ()):
        if any(fnmatchcase(name, each) for each in WITHHELD):
            place = fields.item_place("env", number)
            fields.faults.stop(place, f"{name} never reaches an agent", "take it out of drive.env")
    return replace(settings, until=settings.until.upper())


def _read_roles(fields: Fields | None) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the commands of roles and phases, and those that vote."""
    if fields is None:
        return {}, ()
    voters = fields.text_list("voters", ())
    roles: dict[str, tuple[str, ...]] = {}
    for name in fields:
        if name == "voters":
            continue
        if name not in _ROLES and not name.isupper():
            known = ", ".join((*_ROLES, "voters"))
            fields.refuse_key(name, f"{name!r} is no role", f"use one of: {known}; or a phase, in capitals")
        roles[name] = fields.text_list(name, or_one=True)
    return roles, voters


# --- what is laid over the workflow


def _read_overlay(fields: Fields) -> Overlay:
    parameters = fields.mapping("parameters", None)
    metrics = fields.mapping("metrics", None)
    guards = fields.mapping("guards", None)
    phases = fields.mapping("phases", None)
    artifacts = fields.mapping("artifacts", None)
    places: dict[str, str] = {}
    for section in (parameters, metrics, guards, artifacts):
        if section is not None:
            places.update((section.dotted(key), section.key_place(key)) for key in section)
    return Overlay(
        parameters=read_values(parameters),
        metrics=read_types(metrics, dict(RESERVED_NAMES), "a metric"),
        guards=read_guards(guards) if guards is not None else {},
        phases=_read_phases(phases, places) if phases is not None else {},
        artifacts=read_artifact_changes(artifacts) if artifacts is not None else {},
        constitution=_read_constitution(fields, places),
        places=places,
    )


def _read_constitution(fields: Fields, places: dict[str, str]) -> tuple[str, ...] | None:
    files = fields.text_list("constitution", None)
    for index, path in enumerate(files or ()):
        check_path(path, fields.item_place("constitution", index), fields)
    if files is not None:
        places["constitution"] = fields.key_place("constitution")
    return files


def _read_phases(fields: Fields, places: dict[str, str]) -> dict[str, PhaseOverlay]:
    overlays: dict[str, PhaseOverlay] = {}
    for key in fields:
        name = key.upper()
        if name in overlays:
            fields.refuse_key(key, f"phase {name} comes twice", "keep one; upper and lower case are the same")
        section = fields.mapping(key)
        overlays[name] = _read_phase(section)
        places[f"phases.{name}"] = fields.key_place(key)
        places.update((f"phases.{name}.{inner}", section.place(inner)) for inner in section)
    return overlays


def _read_phase(fields: Fields) -> PhaseOverlay:
    breaker = fields.mapping("breaker", None)
    overlay = read_settings(
        fields,
        PhaseOverlay(),
        condition=None if fields.node_of("condition") is None else read_condition(fields),
        breaker=None if breaker is None else read_settings(breaker, Limits()),
    )
    if overlay.replace and overlay.condition is None:
        fields.refuse("replace", "there is no condition to replace the workflow's", "add one, or take replace out")
    return overlay
