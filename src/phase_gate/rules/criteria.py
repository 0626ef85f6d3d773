"""Read the acceptance criteria of a task: a number, or a YAML or Markdown file with ids."""

from __future__ import annotations

import re
from pathlib import Path

from phase_gate.core.criteria_text import ID, find_criteria
from phase_gate.errors import CriteriaError, DocumentError
from phase_gate.gate.criteria import Criteria, Criterion
from phase_gate.gate.order import shorten
from phase_gate.rules.parts import MAX_BYTES
from phase_gate.rules.yaml_text import (
    YamlMapping,
    YamlNode,
    YamlScalar,
    YamlSequence,
    decode_text,
    read_bytes,
    read_document,
)
from phase_gate.storage.root import relative_id

_MARKDOWN = (".md", ".markdown", ".mdown")
_YAML = (".yaml", ".yml", ".json")

#: How to write them in each.
_IN_MARKDOWN = "write one a line, as in `- [ ] AC-1 What it does`"
_IN_YAML = "write one a line, as in `AC-1: What it does`"

#: What a criterion may be called where nothing else can stand, as in YAML.
_ANY_ID = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
#: Keys of an item, which are no ids.
_TEXT_KEYS = ("text", "title", "description")


def read_criteria(given: int | str, *, base: Path, root: Path, if_missing: str = "check the path") -> Criteria:
    """Return what was given on the command line or in the project's file.

    :param base: the folder that a path is relative to.
    :param if_missing: what to do if there is no such file.
    """
    if isinstance(given, str) and not re.fullmatch("[-+]?[0-9]{1,9}", given):
        return _load_criteria(given, base=base, root=root, if_missing=if_missing)
    number = int(given)
    if number < 1:
        raise CriteriaError(f"{given} is not a number of criteria", "give a whole number from 1 on, or a file")
    return Criteria(count=number)


def _load_criteria(given: str, *, base: Path, root: Path, if_missing: str) -> Criteria:
    """Return the criteria of a file; an error names it relative to the root."""
    path = base / given
    name = relative_id(path, root)
    suffix = path.suffix.lower()
    if suffix not in (*_MARKDOWN, *_YAML):
        raise CriteriaError(
            f"{shorten(given)} is neither a number nor a file of criteria",
            f"give a whole number from 1 on, or a file that ends in {', '.join((_MARKDOWN[0], *_YAML))}",
        )
    data = read_bytes(path, name=name, limit=MAX_BYTES, error=CriteriaError, if_missing=if_missing)
    try:
        if suffix in _MARKDOWN:
            listed, left_out = find_criteria(decode_text(data, name=name, limit=MAX_BYTES), file=name)
        else:
            listed, left_out = _from_yaml(read_document(data, name=name, limit=MAX_BYTES), name), ()
    except DocumentError as error:
        raise CriteriaError(error.problem, error.remedy) from None
    if not listed:
        raise CriteriaError(f"{name}: no criterion in it", _IN_MARKDOWN if suffix in _MARKDOWN else _IN_YAML)
    _refuse_repetition(listed, name)
    return Criteria(count=len(listed), listed=listed, file=name, left_out=left_out)


def _refuse_repetition(listed: tuple[Criterion, ...], name: str) -> None:
    first: dict[str, Criterion] = {}
    for each in listed:
        before = first.setdefault(each.id, each)
        if before is not each:
            raise CriteriaError(
                f"{name}:{each.line}: {each.id} stands there twice, first in line {before.line}",
                "give each criterion an id of its own",
            )


def _from_yaml(node: YamlNode, name: str) -> tuple[Criterion, ...]:
    """Return the criteria of a mapping `id: text`, or of a list of `id: text`; both may stand under `criteria:`."""
    if isinstance(node, YamlMapping):
        node = next((value for key, value in node.entries if key.text == "criteria"), node)
    if isinstance(node, YamlMapping):
        return tuple(_criterion(key, key.text, _text(value), name) for key, value in node.entries)
    if isinstance(node, YamlSequence):
        return tuple(_from_item(item, name) for item in node.items)
    raise CriteriaError(f"{name}:{node.line}: a list of criteria has to stand here", _IN_YAML)


def _from_item(item: YamlNode, name: str) -> Criterion:
    if isinstance(item, YamlScalar):
        found = re.fullmatch(rf"({ID}|{_ANY_ID.pattern}(?=:))(?::\s*|\s+|$)(.*)", item.text, re.S)
        if found is not None:
            return _criterion(item, found[1], found[2], name)
        raise _refusal(item, name, f"{shorten(item.text)} has no id")
    if isinstance(item, YamlMapping):
        entries = {key.text: value for key, value in item.entries}
        if isinstance(named := entries.get("id"), YamlScalar):
            return _criterion(named, named.text, _text(item), name)
        if len(item.entries) == 1:
            ((key, value),) = item.entries
            if key.text not in ("id", *_TEXT_KEYS):
                return _criterion(key, key.text, _text(value), name)
    raise _refusal(item, name, "this item has no id")


def _criterion(node: YamlNode, given: str, text: str, name: str) -> Criterion:
    if not _ANY_ID.fullmatch(given):
        raise _refusal(node, name, f"a criterion can't be called {shorten(given)}")
    return Criterion(id=given, text=" ".join(text.split()), file=name, line=node.line)


def _text(node: YamlNode) -> str:
    if isinstance(node, YamlScalar):
        return "" if node.is_plain and node.text in ("~", "null") else node.text
    if isinstance(node, YamlMapping):
        entries = {key.text: value for key, value in node.entries}
        return next((_text(entries[key]) for key in _TEXT_KEYS if key in entries), "")
    return ""


def _refusal(node: YamlNode, name: str, problem: str) -> CriteriaError:
    return CriteriaError(f"{name}:{node.line}: {problem}", "write `AC-1: What it does`, or `id:` and `text:`")
