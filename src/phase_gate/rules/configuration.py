"""Read `phase-gate.yaml`: defaults of options, and what the project lays over its workflow.

Says what stands in the file. Whether it fits the workflow is decided by `apply_overlay`, which knows that workflow.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from phase_gate.errors import ConfigurationError, UsageError
from phase_gate.rules.fields import Fields
from phase_gate.rules.pipeline import read_artifact_changes
from phase_gate.rules.sections import (
    read_commands,
    read_confidence,
    read_documents,
    read_drive,
    read_exit_gate,
    read_quality,
    read_verification,
)
from phase_gate.rules.vocabulary import (
    MAX_BYTES,
    RESERVED_NAMES,
    check_path,
    read_condition,
    read_guards,
    read_limits,
    read_types,
    read_values,
)
from phase_gate.rules.yaml import YamlScalar, read_bytes, read_document
from phase_gate.values import replace
from phase_gate.workflow.model import Limits
from phase_gate.workflow.settings import (
    DEFAULT_DOCS,
    DEFAULT_KEEP_OBJECTS,
    DEFAULT_LOCK_TIMEOUT,
    DEFAULT_RUN_LIMIT,
    DEFAULT_WORKFLOW,
    FILE_NAME,
    AgentSettings,
    Configuration,
    DocumentRules,
    EvidenceCommand,
    ExitMeaning,
    Overlay,
    PhaseOverlay,
    ProofMode,
    ProofSettings,
    QualitySettings,
    RunDefaults,
    Until,
)

_EXIT_MEANINGS: tuple[ExitMeaning, ...] = get_args(ExitMeaning)
_UNTIL: tuple[Until, ...] = get_args(Until)
_PROOF_MODES: tuple[ProofMode, ...] = get_args(ProofMode)

#: Options that only a call may give, and why.
_CALL_ONLY: Mapping[str, str] = {
    "phase": "a file that names the phase would record every run of pytest",
    "exit_signal": "a signal that stands in a file is not given on purpose",
    "shard": "each shard has its own number",
}


def load_configuration(root: Path) -> Configuration:
    """Return the configuration of the project; defaults if it has none."""
    path = root / FILE_NAME
    if os.path.lexists(path):
        return parse_configuration(
            read_bytes(path, name=FILE_NAME, limit=MAX_BYTES, error=ConfigurationError), FILE_NAME
        )
    other = path.with_suffix(".yml")
    if os.path.lexists(other):
        # Silence would mean the defaults, against the will of the user who wrote it.
        raise ConfigurationError(f"{other.name}: a file of this name is not read", f"rename it to {FILE_NAME}")
    return Configuration()


def parse_configuration(text: str | bytes, name: str = FILE_NAME) -> Configuration:
    """Return what the text says.

    :param name: what stands in front of the line in messages.
    """
    fields = Fields(read_document(text, name=name, limit=MAX_BYTES), file=name, error=ConfigurationError)
    workflow = fields.text("workflow", None)
    run = RunDefaults()
    if (section := fields.mapping("run", None)) is not None:
        run, run_workflow = _read_run(section)
        if run_workflow is not None and workflow is not None:
            section.refuse("workflow", "the workflow is named twice", "keep one: `workflow` here, or at the top")
        workflow = workflow if run_workflow is None else run_workflow
    allow_non_interactive = False
    if (section := fields.mapping("overrides", None)) is not None:
        allow_non_interactive = section.boolean("allow_non_interactive", False)
        section.finish()
    overlay = _read_overlay(fields)
    commands: tuple[EvidenceCommand, ...] = ()
    documents = DocumentRules()
    quality = QualitySettings()
    new_code = False
    if (section := fields.mapping("evidence", None)) is not None:
        commands = read_commands(section, overlay)
        quality = read_quality(section)
        new_code = section.boolean("new_code", False)
        documents = read_documents(section)
        section.finish()
        overlay = replace(overlay, metrics={**overlay.metrics, **{each.metric: "bool" for each in commands}})
    configuration = Configuration(
        workflow=workflow or DEFAULT_WORKFLOW,
        run=run,
        overlay=overlay,
        lock_timeout=fields.number("lock_timeout", DEFAULT_LOCK_TIMEOUT, minimum=0),
        run_limit=fields.number("run_limit", DEFAULT_RUN_LIMIT, minimum=0),
        keep_objects=fields.number("keep_objects", DEFAULT_KEEP_OBJECTS, minimum=0),
        docs=fields.text_list("docs", DEFAULT_DOCS),
        freeze=fields.text_list("freeze", ()),
        commands=commands,
        quality=quality,
        new_code=new_code,
        documents=documents,
        allow_non_interactive=allow_non_interactive,
        exit_gate=read_exit_gate(fields.mapping("exit_gate", None)),
        confidence=read_confidence(fields.mapping("confidence", None)),
        proof=_read_proof(fields),
        agents=_read_agents(fields.mapping("agents", None)),
        verification=read_verification(fields.mapping("verification", None)),
        drive=read_drive(fields.mapping("drive", None)),
        store=_read_store(fields),
    )
    fields.finish()
    return configuration


def _read_proof(fields: Fields) -> ProofSettings:
    node, usual = fields.node_of("proof"), ProofSettings()
    if node is None:
        return usual
    if isinstance(node, YamlScalar):
        return ProofSettings(mode=fields.choice("proof", _PROOF_MODES, usual.mode))
    section = fields.mapping("proof")
    settings = ProofSettings(
        mode=section.choice("mode", _PROOF_MODES, usual.mode),
        seconds=section.number("seconds", usual.seconds, minimum=1),
        base=section.text("base", usual.base),
    )
    section.finish()
    return settings


def _read_store(fields: Fields) -> str:
    """Return the store as one text, which names one."""
    node = fields.node_of("store")
    if node is None:
        return ""
    text = fields.text("store") if isinstance(node, YamlScalar) else _join_store(fields.mapping("store"))
    from phase_gate.stores.address import parse_address

    try:
        parse_address(text)
    except UsageError as error:
        fields.refuse("store", error.problem, error.remedy)
    return text


def _join_store(section: Fields) -> str:
    kinds = [kind for kind in ("postgresql", "git") if kind in section]
    if len(kinds) > 1:
        section.refuse_key(kinds[0], "two stores are named", "keep one of git and postgresql")
    kind = kinds[0] if kinds else "git"
    place, project = section.text(kind), section.text("project")
    section.finish()
    if kind == "git":
        return f"git:{place}#{project}"
    if "://" not in place:
        section.refuse(kind, f"{place!r} is no address of a database", "write postgresql://HOST/DATABASE")
    return f"{place}#{project}"


def _read_agents(fields: Fields | None) -> AgentSettings:
    if fields is None:
        return AgentSettings()
    settings = AgentSettings(
        until=fields.choice("until", _UNTIL, "cycle"), stop_blocks=fields.integer("stop_blocks", 3, minimum=1)
    )
    fields.finish()
    return settings


def _read_run(fields: Fields) -> tuple[RunDefaults, str | None]:
    for key in fields:
        reason = _CALL_ONLY.get(key.replace("-", "_"))
        if reason is not None:
            option = "--phase-shard" if key == "shard" else f"--{key.replace('_', '-')}"
            fields.refuse_key(key, f"{key} can't stand in a file: {reason}", f"give {option} with the call")
    run = RunDefaults(
        task=fields.text("task", None),
        exit=fields.choice("exit", _EXIT_MEANINGS, "gate1"),
        confirm=fields.boolean("confirm", False),
        criteria=_read_criteria(fields),
        report=_read_reports(fields),
        dir=_read_dir(fields),
        ci=fields.choice("ci", ("auto", "off"), "auto"),
    )
    workflow = fields.text("workflow", None)
    fields.finish()
    return run, workflow


def _read_reports(fields: Fields) -> tuple[str, ...]:
    reports = fields.text_list("report", (), or_one=True)
    for number, path in enumerate(reports):
        check_path(path, fields.item_place("report", number), fields, otherwise="give --phase-report with the call")
    return reports


def _read_dir(fields: Fields) -> str | None:
    path = fields.text("dir", None)
    if path is not None:
        # A file that came with a repository must not choose what is written outside of it; a person may.
        check_path(path, fields.place("dir"), fields, otherwise="name it with --phase-dir, --dir or PHASE_GATE_DIR")
    return path


def _read_criteria(fields: Fields) -> int | str | None:
    node = fields.node_of("criteria")
    if node is None:
        return None
    if isinstance(node, YamlScalar) and isinstance(fields.value("criteria"), str):
        return fields.text("criteria")
    return fields.integer("criteria", minimum=1)


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
    overlay = PhaseOverlay(
        condition=None if fields.node_of("condition") is None else read_condition(fields),
        guards=fields.text_list("guards", ()),
        replace=fields.boolean("replace", False),
        breaker=None if fields.node_of("breaker") is None else read_limits(fields.mapping("breaker"), Limits()),
    )
    if overlay.replace and overlay.condition is None:
        fields.refuse("replace", "there is no condition to replace the workflow's", "add one, or take replace out")
    fields.finish()
    return overlay
