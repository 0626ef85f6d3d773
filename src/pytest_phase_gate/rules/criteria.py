"""Read the acceptance criteria of a task: a number, or a YAML or Markdown file with ids."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pytest_phase_gate.core.criteria import Criteria, Criterion
from pytest_phase_gate.core.criteria_text import ID, find_criteria
from pytest_phase_gate.core.order import shorten
from pytest_phase_gate.errors import CriteriaError, DocumentError
from pytest_phase_gate.rules.parts import MAX_BYTES
from pytest_phase_gate.rules.yaml_text import (
    YamlMapping,
    YamlNode,
    YamlScalar,
    YamlSequence,
    read_bytes,
    read_document,
)

_MARKDOWN = (".md", ".markdown", ".mdown")
_YAML = (".yaml", ".yml", ".json")
_EXAMPLE = "write one a line, as in `- [ ] AC-1 What it does`"
_ANY_ID = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")


def read_criteria(given: int | str, *, base: Path, root: Path) -> Criteria:
    """Return what was given on the command line or in the project's file.

    :param base: the folder that a path is relative to.
    """
    try:
        number = int(given)
    except ValueError:
        return load_criteria(str(given), base=base, root=root)
    if number < 1:
        raise CriteriaError(f"{given} is not a number of criteria", "give a whole number from 1 on, or a file")
    return Criteria(count=number)


def load_criteria(given: str, *, base: Path, root: Path) -> Criteria:
    """Return the criteria of a file; an error names it relative to the root."""
    path = base / given
    name = Path(os.path.relpath(path, root)).as_posix()
    suffix = path.suffix.lower()
    if suffix not in (*_MARKDOWN, *_YAML):
        raise CriteriaError(
            f"{shorten(given)} is neither a number nor a file of criteria",
            f"give a whole number from 1 on, or a file: {', '.join((*_YAML[:2], _MARKDOWN[0]))}",
        )
    data = read_bytes(path, name=name, limit=MAX_BYTES, error=CriteriaError)
    listed = _from_markdown(data, name) if suffix in _MARKDOWN else _from_yaml(data, name)
    if not listed:
        raise CriteriaError(f"{name}: no criterion in it", _EXAMPLE)
    first: dict[str, Criterion] = {}
    for each in listed:
        before = first.setdefault(each.id, each)
        if before is not each:
            raise CriteriaError(
                f"{name}:{each.line}: {each.id} stands there twice, first in line {before.line}",
                "give each criterion an id of its own",
            )
    return Criteria(count=len(listed), listed=listed, file=name)


def _from_markdown(data: bytes, name: str) -> tuple[Criterion, ...]:
    try:
        return find_criteria(data.decode("utf-8-sig"), file=name)
    except UnicodeDecodeError as error:
        raise CriteriaError(f"{name}: not UTF-8 (byte {error.start})", "save it as UTF-8") from None


def _from_yaml(data: bytes, name: str) -> tuple[Criterion, ...]:
    """Return the criteria of a mapping `id: text`, or of a list of `id: text`; both may stand under `criteria:`."""
    try:
        node = read_document(data, name=name, limit=MAX_BYTES)
    except DocumentError as error:
        raise CriteriaError(error.problem, error.remedy) from None
    if isinstance(node, YamlMapping):
        under = [value for key, value in node.entries if key.text == "criteria"]
        if under and not isinstance(under[0], YamlScalar):
            node = under[0]
    if isinstance(node, YamlMapping):
        return tuple(_criterion(key, key.text, _text(value), name) for key, value in node.entries)
    if isinstance(node, YamlSequence):
        return tuple(_from_item(item, name) for item in node.items)
    raise CriteriaError(f"{name}: a list of criteria is missing", "write `AC-1: What it does`, one a line")


def _from_item(item: YamlNode, name: str) -> Criterion:
    if isinstance(item, YamlScalar):
        found = re.fullmatch(rf"({ID}|{_ANY_ID.pattern}(?=:))(?::\s*|\s+|$)(.*)", item.text, re.S)
        if found is not None:
            return _criterion(item, found[1], found[2], name)
        raise _refusal(item, name, f"{shorten(item.text)} has no id")
    if isinstance(item, YamlMapping):
        entries = {key.text: value for key, value in item.entries}
        if isinstance(named := entries.get("id"), YamlScalar):
            text = next((entries[key] for key in ("text", "title", "description") if key in entries), None)
            return _criterion(named, named.text, _text(text), name)
        if len(item.entries) == 1:
            ((key, value),) = item.entries
            return _criterion(key, key.text, _text(value), name)
    raise _refusal(item, name, "this item has no id")


def _criterion(node: YamlNode, given: str, text: str, name: str) -> Criterion:
    if not _ANY_ID.fullmatch(given):
        raise _refusal(node, name, f"a criterion can't be called {shorten(given)}")
    return Criterion(id=given, text=" ".join(text.split()), file=name, line=node.line)


def _text(node: YamlNode | None) -> str:
    if isinstance(node, YamlMapping):
        for key, value in node.entries:
            if key.text in ("text", "title", "description"):
                return _text(value)
    return node.text if isinstance(node, YamlScalar) else ""


def _refusal(node: YamlNode, name: str, problem: str) -> CriteriaError:
    return CriteriaError(f"{name}:{node.line}: {problem}", "write `AC-1: What it does`, or `id:` and `text:`")
