"""Read `phase-gate.yaml`, or our table in `pyproject.toml`: defaults for options, and changes to the workflow.

The annotations of the settings define how a section is read. This module has the checks that annotations can't
express. `apply_overlay`, which has the workflow, checks that the changes fit it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from phase_gate.config.nodes import MAX_BYTES, Node, Table, Text, find, plain
from phase_gate.config.reading import Reader
from phase_gate.config.vocabulary import RESERVED_NAMES, take_names
from phase_gate.config.yaml import read_bytes, read_document
from phase_gate.errors import ConfigurationError, UsageError
from phase_gate.storage.root import has_own_table
from phase_gate.values import Value, field, fields, replace
from phase_gate.workflow.model import Overlay
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
    ProofSettings,
    QualitySettings,
    RunDefaults,
    VerificationSettings,
)

#: Options that are allowed only on the command line, and why.
_CALL_ONLY: Mapping[str, str] = {
    "phase": "a file that names the phase would record every run of pytest",
    "exit_signal": "a signal in a file is not given on purpose",
    "shard": "each shard has its own number",
}
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
        # Ignoring the file would silently use the defaults instead of the user's settings.
        raise ConfigurationError(f"{other.name}: a file of this name is not read", f"rename it to {FILE_NAME}")
    return Configuration() if table is None else _read_configuration(table)


def read_own_table(root: Path) -> Node | None:
    """Return the table `[tool.phase-gate]` of pyproject.toml; None if there is none."""
    if not has_own_table(root):
        return None
    from phase_gate.config.toml import read_table

    return read_table(_read(root / PYPROJECT), name=PYPROJECT, limit=MAX_BYTES)


def _read(path: Path) -> bytes:
    return read_bytes(path, name=path.name, limit=MAX_BYTES, error=ConfigurationError)


def parse_configuration(text: str | bytes, name: str = FILE_NAME) -> Configuration:
    """Return the configuration in a YAML text.

    :param name: the file name, for messages.
    """
    return _read_configuration(read_document(text, name=name, limit=MAX_BYTES))


def _read_configuration(node: Node) -> Configuration:
    reader = Reader(ConfigurationError)
    table = node if isinstance(node, Table) else Table.of({}, node.at, "")
    overlay = _read_overlay(reader, table)
    read: dict[str, Any] = {name: _SECTIONS[name](reader, table[name]) for name in _SECTIONS if name in table}
    evidence: _Evidence = read.pop("evidence", _Evidence())
    taken = {**RESERVED_NAMES, **dict.fromkeys(overlay.metrics, "a metric")}
    metrics = {}
    for name in evidence.commands:
        metric = f"{name}_ok"
        if metric in taken:
            reader.stop(name, f"{metric} is {taken[metric]} already", "give the command another name")
        metrics[metric] = "bool"
    configuration: Configuration = reader.read(
        Configuration,
        node,
        beside=(*fields(Overlay), "evidence", "overrides"),
        overlay=replace(overlay, metrics={**overlay.metrics, **metrics}),
        commands=tuple(evidence.commands.values()),
        quality=evidence.quality,
        documents=evidence.documents,
        new_code=evidence.new_code,
        allow_non_interactive=read.pop("overrides", _Overrides()).allow_non_interactive,
        **read,
    )
    return replace(plain(configuration), overlay=configuration.overlay, workflow=_find_workflow(reader, table))


def _find_workflow(reader: Reader, table: Table) -> str:
    """Return the name of the workflow, which is allowed in two places."""
    run = table.get("run")
    inner = run.get("workflow") if isinstance(run, Table) else None
    if inner is not None and "workflow" in table:
        reader.stop(inner, "the workflow is named twice", "keep one: `workflow` here, or at the top")
    found = inner if inner is not None else table.get("workflow")
    return DEFAULT_WORKFLOW if found is None else reader.text(found)


# --- sections that need more checks than their annotations describe


class _Evidence(Value):
    commands: Mapping[str, EvidenceCommand] = field(default_factory=dict, named=("a command", "_"))
    quality: QualitySettings = field(default_factory=QualitySettings)
    new_code: bool = False
    documents: DocumentRules = field(default_factory=DocumentRules)


class _Overrides(Value):
    allow_non_interactive: bool = False


def _read_run(reader: Reader, node: Node) -> RunDefaults:
    for key in node if isinstance(node, Table) else ():
        reason = _CALL_ONLY.get(key.replace("-", "_"))
        if reason is not None:
            option = "--phase-shard" if key == "shard" else f"--{key.replace('_', '-')}"
            reader.stop(key, f"{key} can't be set in a file: {reason}", f"use {option} on the command line")
    return reader.read(RunDefaults, node, beside=("workflow",))


def _read_evidence(reader: Reader, node: Node) -> _Evidence:
    evidence = reader.read(_Evidence, node)
    for name, command in evidence.commands.items():
        row = find(node, "commands", name, "run")
        try:
            words = [command.run] if command.shell else shlex.split(command.run)
        except ValueError as error:
            reader.stop(row, f"can't be split into words: {error}", "close the quote, or set shell: true")
        if not words:
            reader.stop(row, "there is no command", "write the command as you would type it")
    if evidence.documents.include == ():
        row = find(node, "documents", "include")
        reader.stop(row, "no document would ever count", "name some, or leave the key out")
    return evidence


def _read_proof(reader: Reader, node: Node) -> ProofSettings:
    """Return the settings of `proof:`, which is a mode or a section."""
    if isinstance(node, Text):
        key = Text.of("mode", node.at, "proof")
        node = Table.of({key: node}, node.at, "proof")
    return reader.read(ProofSettings, node)


def _read_store(reader: Reader, node: Node) -> str:
    from phase_gate.stores.address import parse_address

    text = reader.text(node)
    try:
        parse_address(text)
    except UsageError as error:
        reader.stop(node, error.problem, error.remedy)
    return text


def _read_confidence(reader: Reader, node: Node) -> ConfidenceRules:
    rules = reader.read(ConfidenceRules, node)
    if rules.threshold > 100:
        reader.stop(find(node, "threshold"), f"{rules.threshold} can never be reached", "write 100 or less")
    if rules.low > rules.threshold:
        problem = f"it is above the threshold, {rules.threshold}"
        reader.stop(find(node, "low"), problem, f"write {rules.threshold} or less")
    return rules if rules.keywords else replace(rules, keywords=ConfidenceRules().keywords)


def _read_verification(reader: Reader, node: Node) -> VerificationSettings:
    settings = reader.read(VerificationSettings, node)
    check_timeouts(reader, settings.timeouts, node)
    return settings


def check_timeouts(reader: Reader, timeouts: Mapping[str, float], node: Node) -> None:
    """Refuse unknown steps, and timeouts above a step's maximum.

    :param node: the table that has the key `timeouts`.
    """
    for step, seconds in timeouts.items():
        if step not in MAX_TIMEOUTS:
            reader.stop(step, f"unknown key {step!r} in timeouts", f"use one of: {', '.join(MAX_TIMEOUTS)}")
        if seconds > (most := MAX_TIMEOUTS[step]):
            row = find(node, "timeouts", step)
            reader.stop(row, f"{row.path} can't be {seconds:g} s", f"write {most:g} or less")


def _read_drive(reader: Reader, node: Node) -> DriveSettings:
    settings = reader.read(DriveSettings, node)
    for name in settings.env or ():
        if any(fnmatchcase(name, each) for each in WITHHELD):
            reader.stop(name, f"{name} never reaches an agent", "take it out of drive.env")
    for name in settings.roles:
        if name not in _ROLES and name != "voters" and not name.isupper():
            known = ", ".join((*_ROLES, "voters"))
            reader.stop(name, f"{name!r} is not a role", f"use one of: {known}; or a phase, in capitals")
    roles = {name: words for name, words in settings.roles.items() if name != "voters"}
    voters = settings.roles.get("voters", ())
    return replace(settings, roles=roles, voters=voters, until=settings.until.upper())


_SECTIONS: Mapping[str, Any] = {
    "run": _read_run,
    "evidence": _read_evidence,
    "overrides": lambda reader, node: reader.read(_Overrides, node),
    "proof": _read_proof,
    "store": _read_store,
    "confidence": _read_confidence,
    "verification": _read_verification,
    "drive": _read_drive,
}


# --- changes to the workflow


def _read_overlay(reader: Reader, table: Table) -> Overlay:
    overlay = reader.read(Overlay, table.only(fields(Overlay)))
    take_names(overlay.metrics, dict(RESERVED_NAMES), "a metric", reader)
    phases: dict[str, Any] = {}
    for key, phase in overlay.phases.items():
        if key.upper() in phases:
            problem = f"phase {key.upper()} is defined twice"
            reader.stop(key, problem, "keep one; upper and lower case are the same")
        assert isinstance(key, Text)
        phases[Text.of(key.upper(), key.at, key.path)] = phase
        if phase.replace and phase.condition is None:
            row = find(table, "phases", key, "replace")
            reader.stop(row, "there is no condition to replace the workflow's", "add one, or take replace out")
    return replace(overlay, phases=phases)
