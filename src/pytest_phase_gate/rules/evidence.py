"""Read the `evidence:` part of a project's file."""

from __future__ import annotations

import shlex

from pytest_phase_gate.core.settings import EvidenceCommand, Overlay
from pytest_phase_gate.rules.parts import RESERVED_NAMES, take_name
from pytest_phase_gate.rules.yaml_fields import Fields


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
