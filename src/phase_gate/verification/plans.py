"""Find the tasks in a plan: Markdown for people, with `<task>` blocks between its paragraphs or in its code blocks."""

from __future__ import annotations

import re

from phase_gate.errors import DocumentError
from phase_gate.rules.fields import is_null
from phase_gate.rules.vocabulary import MAX_BYTES
from phase_gate.rules.yaml import YamlMapping, YamlNode, YamlScalar, read_document
from phase_gate.values import Value

#: What tasks of one file may share, said once above them.
SHARED = ("wave", "phase", "plan")

#: A tag at the beginning of a line: one in the middle of a sentence only speaks of tasks.
_TASK = re.compile(r"[ \t]*<task(?=[\s>])")
_AROUND = re.compile(r"[ \t]*</?tasks(?:\s[^<>]*)?>[ \t]*$")
_END = "</task>"
_RULE = "---"


class Plan(Value):
    #: The blocks, each where it stood; everything else is blank.
    xml: str
    #: What stands above all of them.
    shared: tuple[tuple[YamlScalar, YamlNode], ...] = ()


def read_plan(text: str, name: str) -> Plan:
    """Return the tasks of a Markdown text."""
    kept: list[str] = []
    is_inside = False
    for line in text.splitlines():
        is_inside = is_inside or _TASK.match(line) is not None
        kept.append(line if is_inside or _AROUND.match(line) else "")
        if is_inside and _END in line:
            kept[-1] = line[: line.rindex(_END) + len(_END)]
            is_inside = False
    return Plan(xml="\n".join(kept), shared=_read_head(text, name))


def _read_head(text: str, name: str) -> tuple[tuple[YamlScalar, YamlNode], ...]:
    """Return what the lines between two rules at the very beginning say of wave, phase and plan."""
    head, *rest = text.splitlines() or [""]
    if head.rstrip() != _RULE or _RULE not in (line.rstrip() for line in rest):
        return ()
    end = next(at for at, line in enumerate(rest) if line.rstrip() == _RULE)
    try:
        node = read_document("\n".join(("", *rest[:end])), name=name, limit=MAX_BYTES)
    except DocumentError:
        return ()  # no concern of ours: it is for those who wrote the plan
    entries = node.entries if isinstance(node, YamlMapping) else ()
    return tuple(
        (key, value)
        for key, value in entries
        if key.text in SHARED and isinstance(value, YamlScalar) and not is_null(value) and value.text.strip()
    )
