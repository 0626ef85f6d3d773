"""Read `phase-gate.yaml`, or our table in `pyproject.toml`: defaults for options, and changes to the workflow.

The annotations of the settings define how they are read. A project can't remove guards or Gate 2 of its workflow, and
a condition that it replaces is marked as replaced.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from phase_gate.config.documents import read_bytes, read_document, read_toml_table
from phase_gate.config.reading import Node, Reader, Table, Text, find, plain, shorten
from phase_gate.config.rule_checks import RESERVED_NAMES, PipelineCheck, Vocabulary, name_types, take_names
from phase_gate.errors import ConfigurationError
from phase_gate.storage.root import has_own_table
from phase_gate.values import as_dict, fields, replace, without_defaults
from phase_gate.workflow.condition_parser import conjoin
from phase_gate.workflow.conditions import TYPE_NAMES
from phase_gate.workflow.model import Gate1, PipelineRules, Workflow, requires_of
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
    return read_toml_table(_read(root / PYPROJECT), name=PYPROJECT) if has_own_table(root) else None


def _read(path: Path) -> bytes:
    return read_bytes(path, name=path.name, error=ConfigurationError)


def parse_configuration(text: str | bytes, name: str = FILE_NAME) -> Configuration:
    """Return the configuration in a YAML text.

    :param name: the file name, for messages.
    """
    return _read_configuration(read_document(text, name=name))


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
    overlay = reader.read(Overlay, table, beside=table)
    take_names(overlay.metrics, dict(RESERVED_NAMES), "a metric", reader)
    phases: dict[str, PhaseOverlay] = {}
    for key, phase in overlay.phases.items():
        if key.upper() in phases:
            problem = f"phase {key.upper()} is defined twice"
            reader.stop(key, problem, "keep one; upper and lower case are the same")
        assert isinstance(key, Text)
        phases[Text.like(key, key.upper())] = phase
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
        if command.shell:
            continue
        try:
            shlex.split(command.run)
        except ValueError as error:
            row = find(table, "evidence", "commands", name, "run")
            reader.stop(row, f"can't be split into words: {error}", "close the quote, or set shell: true")


# --- a project's changes to its workflow


def apply_overlay(workflow: Workflow, overlay: Overlay | None) -> Workflow:
    """Return the workflow with a project's rules applied. They can add guards but not remove them or Gate 2."""
    if overlay is None:
        return workflow
    faults = Reader(ConfigurationError)
    _check_names(workflow, overlay, faults)
    laid = replace(
        workflow,
        parameters={**workflow.parameters, **overlay.parameters},
        metrics={**workflow.metrics, **overlay.metrics},
    )
    vocabulary = Vocabulary(types=name_types(laid), constants=laid.parameters, guards=workflow.guards, faults=faults)
    vocabulary.check_new_guards(overlay.guards)
    guards = {**workflow.guards, **{guard.name: guard for guard in overlay.guards.values()}}
    vocabulary = replace(vocabulary, guards=guards)
    phases = {phase.name: phase for phase in workflow.phases}
    for key, change in overlay.phases.items():
        faults.check_known(key.upper(), phases, f"workflow {workflow.name} has no phase {shorten(key)}", where=key)
        phase = phases[key.upper()]
        gate = _change_gate(phase.gate_1, change, vocabulary)
        phases[phase.name] = replace(phase, gate_1=gate, breaker=change.breaker or phase.breaker)
    pipeline = _change_pipeline(laid, overlay, faults)
    return plain(replace(laid, guards=guards, phases=tuple(phases.values()), pipeline=pipeline))


def _change_pipeline(workflow: Workflow, overlay: Overlay, faults: Reader) -> PipelineRules | None:
    rules = workflow.pipeline
    known = {} if rules is None else rules.artifacts
    for name in overlay.artifacts:
        faults.check_known(name, known, f"workflow {workflow.name} has no artifact {shorten(name)}")
    if overlay.constitution is not None and rules is None:
        where = next(iter(overlay.constitution), "constitution")
        faults.stop(where, f"workflow {workflow.name} is not a pipeline, and has no constitution", "remove it")
    if rules is None:
        return None
    places = {name: name for name in overlay.parameters if isinstance(name, Text)}
    for consensus in filter(None, (requires_of(phase).consensus for phase in workflow.phases)):
        row = Table({key: places[held] for key, held in as_dict(consensus).items() if held in places})
        PipelineCheck(workflow, rules, row, faults).check_consensus(consensus, row)
    moved = {name: replace(known[name], **without_defaults(each)) for name, each in overlay.artifacts.items()}
    constitution = rules.constitution if overlay.constitution is None else overlay.constitution
    return replace(rules, artifacts={**known, **moved}, constitution=constitution)


def _change_gate(gate: Gate1, change: PhaseOverlay, vocabulary: Vocabulary) -> Gate1:
    condition = gate.condition
    if change.condition is not None:
        vocabulary.check_condition(change.condition, change.condition)
        condition = change.condition if change.replace else conjoin(condition, change.condition)
    vocabulary.check_gate(condition, change.guards)
    guards = tuple(dict.fromkeys((*gate.guards, *change.guards)))
    return replace(gate, condition=condition, guards=guards, replaced=gate.replaced or change.replace)


def _check_names(workflow: Workflow, overlay: Overlay, faults: Reader) -> None:
    known = name_types(workflow)
    for name, kind in overlay.metrics.items():
        if name in known and workflow.metrics.get(name) != kind:
            faults.stop(name, f"{name} exists already", "give the metric a name of its own")
    for name, value in overlay.parameters.items():
        faults.check_known(name, workflow.parameters, f"workflow {workflow.name} has no parameter {shorten(name)}")
        old, new = TYPE_NAMES[type(workflow.parameters[name])], TYPE_NAMES[type(value)]
        if old != new and (old, new) != ("number", "int"):
            problem = f"parameter {name} has to be of type {old}, not {new}"
            faults.stop(name, problem, f"write a value like {workflow.parameters[name]}")
