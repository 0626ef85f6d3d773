"""Read `phase-gate.yaml`, or our table in `pyproject.toml`: defaults for options, and changes to the workflow.

The annotations of the settings define how they are read. `apply_overlay`, which has the workflow, checks that the
changes fit it.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from phase_gate.config.documents import read_bytes, read_document, read_toml_table
from phase_gate.config.reading import MAX_BYTES, Node, Reader, Table, Text, find, plain
from phase_gate.config.rule_checks import RESERVED_NAMES, take_names
from phase_gate.errors import ConfigurationError
from phase_gate.storage.root import has_own_table
from phase_gate.values import fields, replace
from phase_gate.workflow.sections import SECTIONS, ConfidenceRules, Overlay, PhaseOverlay
from phase_gate.workflow.settings import FILE_NAME, PYPROJECT, Configuration


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
    return read_toml_table(_read(root / PYPROJECT), name=PYPROJECT, limit=MAX_BYTES) if has_own_table(root) else None


def _read(path: Path) -> bytes:
    return read_bytes(path, name=path.name, limit=MAX_BYTES, error=ConfigurationError)


def parse_configuration(text: str | bytes, name: str = FILE_NAME) -> Configuration:
    """Return the configuration in a YAML text.

    :param name: the file name, for messages.
    """
    return _read_configuration(read_document(text, name=name, limit=MAX_BYTES))


def _read_configuration(node: Node) -> Configuration:
    reader = Reader(ConfigurationError)
    table = reader.table(node)
    overlay = _read_overlay(reader, table)
    sections = {kind: reader.read(kind, table[key]) for key, kind in SECTIONS.items() if key in table}
    beside = (*fields(Overlay), *SECTIONS)
    configuration = reader.read(Configuration, table, beside=beside, overlay=overlay, sections=sections)
    _check_commands(reader, table, configuration, overlay)
    confidence = ConfidenceRules.of(configuration)
    if confidence.low > confidence.threshold:
        problem, remedy = f"it is above the threshold, {confidence.threshold}", f"write {confidence.threshold} or less"
        reader.stop(find(table, "confidence", "low"), problem, remedy)
    measured = {command.metric: "bool" for command in configuration.evidence.commands.values()}
    overlay = replace(overlay, metrics={**overlay.metrics, **measured})
    return replace(plain(configuration), overlay=None if overlay == Overlay() else overlay)


def _read_overlay(reader: Reader, table: Table) -> Overlay:
    """Return the changes to the workflow. Their texts keep their places."""
    overlay = reader.read(Overlay, table.only(fields(Overlay)))
    take_names(overlay.metrics, dict(RESERVED_NAMES), "a metric", reader)
    phases: dict[str, PhaseOverlay] = {}
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


# --- checks that annotations can't express


def _check_commands(reader: Reader, table: Table, configuration: Configuration, overlay: Overlay) -> None:
    taken = {**RESERVED_NAMES, **dict.fromkeys(overlay.metrics, "a metric")}
    for name, command in configuration.evidence.commands.items():
        if command.metric in taken:
            problem = f"{command.metric} is {taken[command.metric]} already"
            reader.stop(name, problem, "give the command another name")
        row = find(table, "evidence", "commands", name, "run")
        try:
            words = [command.run] if command.shell else shlex.split(command.run)
        except ValueError as error:
            reader.stop(row, f"can't be split into words: {error}", "close the quote, or set shell: true")
        if not words:
            reader.stop(row, "there is no command", "write the command as you would type it")
