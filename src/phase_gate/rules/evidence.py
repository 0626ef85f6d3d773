"""Read the `evidence:` part of a project's file."""

from __future__ import annotations

import shlex

from phase_gate.rules.parts import RESERVED_NAMES, take_name
from phase_gate.rules.yaml_fields import Fields
from phase_gate.workflow.settings import DocumentRules, EvidenceCommand, Overlay, QualitySettings


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
        max_cyclomatic=section.integer("max_cyclomatic", default.max_cyclomatic, minimum=1),
        max_cognitive=section.integer("max_cognitive", default.max_cognitive, minimum=0),
        max_length=section.integer("max_length", default.max_length, minimum=1),
        max_nesting=section.integer("max_nesting", default.max_nesting, minimum=0),
        # Fewer are no copy: every other function would have one.
        duplicate_lines=section.integer("duplicate_lines", default.duplicate_lines, minimum=3),
        lint=section.boolean("lint", default.lint),
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
