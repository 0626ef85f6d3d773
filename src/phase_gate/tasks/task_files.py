"""Read verify tasks from YAML, or from the source document's XML form, alone or in a plan."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from phase_gate.config.documents import decode_text, find_odd_character, read_bytes, read_document
from phase_gate.config.nodes import MAX_BYTES, Items, Node, Place, Table, Text, closest_first, plain, shorten
from phase_gate.config.reading import Reader
from phase_gate.errors import DocumentError, TaskFileError
from phase_gate.tasks.work import TaskSpec
from phase_gate.values import replace

#: File name extensions of plans.
_MARKDOWN = (".md", ".markdown")
#: Characters: a name is a heading, not a text.
MAX_NAME = 200
#: Fields that can be given once for all tasks of a file.
SHARED = ("wave", "phase", "plan")

#: The form of a task, for remedies.
_XML_FORM = "write <task> with <name>, <files>, <action>, <verify> and <done>"
_YAML_FORM = "write name, files, action, verify and done, or a list of such tasks"


def read_task_file(path: Path, name: str | None = None) -> tuple[TaskSpec, ...]:
    """Return the tasks of a file, at least one. Raises TaskFileError.

    :param name: the file's name in messages; by default the path as given.
    """
    shown = str(path) if name is None else name
    data = read_bytes(path, name=shown, limit=MAX_BYTES, error=TaskFileError, if_missing="check the path")
    return parse_tasks(data, shown)


def parse_tasks(text: str | bytes, name: str) -> tuple[TaskSpec, ...]:
    """Return the tasks of a text: a plan by its name, XML if it begins with `<`, else YAML. Raises TaskFileError."""
    try:
        source = decode_text(text, name=name, limit=MAX_BYTES)
        if name.lower().endswith(_MARKDOWN):
            shared = _read_head(source, name)
            nodes = [_share(each, shared) for each in _from_blocks(source, name)]
        elif source.lstrip().startswith("<"):
            nodes = _from_blocks(source, name)
        else:
            nodes = _from_yaml(read_document(source, name=name, limit=MAX_BYTES))
    except DocumentError as error:
        raise TaskFileError(error.problem, error.remedy) from None
    tasks: dict[str, tuple[TaskSpec, int]] = {}
    for node in nodes:
        task = _read_task(node)
        if task.slug in tasks:
            other, line = tasks[task.slug]
            problem = f"{shorten(task.name)} is stored in {task.slug}/, like {shorten(other.name)} of line {line}"
            _refuse(node, problem, "give each task a name of its own")
        tasks[task.slug] = (task, node.at.line)
    return tuple(task for task, _ in tasks.values())


def _read_task(node: Table) -> TaskSpec:
    reader = Reader(TaskFileError)
    if "type" in node:
        # Plans mark tasks for machines with `auto`. Any other type needs a person, and is not a task of this gate.
        reader.choose(node["type"], ("auto",))
    flaky = ""
    if "flaky" in node:
        reader.choose(node["flaky"], ("accepted",))
        if "flaky_reason" not in node:
            problem = "flaky: accepted needs a reason"
            reader.stop(node["flaky"], problem, "add flaky_reason, and what is done about it")
        flaky = reader.text(node["flaky_reason"]).strip()
    task = reader.read(TaskSpec, node, beside=("type", "flaky_reason") if flaky else ("type",), flaky=flaky)
    if len(task.name) > MAX_NAME:
        reader.stop(node["name"], f"the name has more than {MAX_NAME} characters", "move the rest to action")
    files = tuple(dict.fromkeys(_path(reader, each, node["files"]) for each in task.files))
    return plain(replace(task, files=files))


def _path(reader: Reader, given: str, where: Node) -> str:
    """Return a path relative to the root, with `/`. A folder means all files in it."""
    path = re.sub("/{2,}", "/", given.strip())
    path = path.removeprefix("./")
    parts = path.split("/")
    if path.startswith(("/", "~")) or ".." in parts or "\\" in path or path in ("", "."):
        problem = f"{shorten(given)} is not a path relative to the project's root"
        reader.stop(where, problem, "write it as git shows it, as in src/planner.py")
    return f"{path}**" if path.endswith("/") else path


# YAML


def _from_yaml(node: Node) -> list[Table]:
    """Return the tasks of a mapping, of a list, or of a list under `tasks:` with shared fields above it."""
    shared: Mapping[str, Node] = {}
    if isinstance(node, Table) and "tasks" in node:
        shared = node.only(SHARED)
        for key in node:
            if key not in ("tasks", *SHARED):
                remedy = f"use one of: {closest_first(key, ('tasks', *SHARED))}"
                _refuse(key, f"unknown key {shorten(key)}", remedy)
        node = node["tasks"]
        if not isinstance(node, Items):
            _refuse(node, "tasks has to be a list", "write each task after a dash")
    tasks = []
    for item in node if isinstance(node, Items) else [node]:
        if not isinstance(item, Table):
            _refuse(item, "a task is expected here", _YAML_FORM)
        tasks.append(_share(item, shared))
    if not tasks:
        _refuse(node, "no task in it", _YAML_FORM)
    return tasks


def _share(task: Table, shared: Mapping[str, Node]) -> Table:
    """Return a task with the shared fields that it does not have itself."""
    more = {key: row for key, row in shared.items() if key not in task}
    return Table.of({**task, **more}, task.at, "")


def _refuse(where: object, problem: str, remedy: str) -> NoReturn:
    Reader(TaskFileError).stop(where, problem, remedy)


# `<task>` blocks, in a file of their own or between the paragraphs of a plan


_COMMENT = re.compile("<!--.*?-->", re.DOTALL)
_QUOTED = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
#: In a plan a block begins a line: a tag within a sentence only mentions tasks.
_BLOCK = r"<task(?P<attributes>\s[^<>]*)?>(?P<body>.*?)(?P<end></task>|\Z)"
_ELEMENT = re.compile(r"<(?P<tag>\w+)(?P<attributes>\s[^<>]*?)?(?:/>|>(?P<text>.*?)</(?P=tag)>)", re.DOTALL)
_ATTRIBUTE = re.compile(r"(\w+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_RULE = "---"


def _from_blocks(text: str, name: str) -> list[Table]:
    """Return the `<task>` blocks as tables, as if read from YAML."""
    # Replaced by blanks, so that positions stay the same.
    source = _COMMENT.sub(lambda found: re.sub(r"\S", " ", found.group()), text)
    begin = r"(?m:^)[ \t]*" if name.lower().endswith(_MARKDOWN) else ""
    found = [_read_block(block, name) for block in re.finditer(begin + _BLOCK, source, re.DOTALL)]
    if not found:
        raise TaskFileError(f"{name}:1:1: no <task> in it", _XML_FORM)
    return found


def _place(found: re.Match[str], at: int, name: str) -> Place:
    before = found.string[:at]
    return Place.of(name, before.count("\n") + 1, at - before.rfind("\n"))


def _read_block(block: re.Match[str], name: str) -> Table:
    place = _place(block, block.string.index("<", block.start()), name)
    if not block["end"]:
        _refuse(place, "<task> is never closed", "write </task> where it ends")
    elements = list(_ELEMENT.finditer(block.string, block.start("body"), block.end("body")))
    if _ELEMENT.sub("", block["body"]).strip():
        problem = "text between the elements of <task>, or one that is never closed"
        _refuse(place, problem, f"put it in <action>: {_XML_FORM}")
    entries = [*_attributes(block["attributes"], place)]
    for element in elements:
        entries += _read_element(element, _place(element, element.start(), name))
    table = Table.of({}, place, "")
    for key, value in entries:
        if key in table:
            _refuse(key, f"{key} occurs twice", "keep one of the two")
        table[key] = value
    for needed in ("name", "files", "action", "verify", "done"):
        if needed not in table:
            _refuse(place, f"<{needed}> is missing in <task>", _XML_FORM)
    return table


def _read_element(element: re.Match[str], place: Place) -> Iterator[tuple[Text, Node]]:
    tag, text = element["tag"], element["text"] or ""
    key, attributes = Text.of(tag, place, tag), list(_attributes(element["attributes"], place))
    if tag == "timeouts":
        yield key, Table.of(dict[str, Node](attributes), place, tag)
        return
    for name, value in attributes:
        # <flaky reason="…"> is `flaky_reason` in YAML.
        yield Text.of(f"{tag}_{name}", place, name), value
    if tag in ("files", "depends_on"):
        rows = re.split("[,\n]" if tag == "files" else "\n", text)
        items = [Text.of(_meant(row, place), place, f"an item of {tag}") for row in rows if row.strip()]
        yield key, Items.of(items, place, tag)
    else:
        yield key, Text.of(_meant(textwrap.dedent(text.expandtabs(4)), place), place, tag)


def _attributes(text: str | None, place: Place) -> Iterator[tuple[Text, Node]]:
    for name, quoted, single in _ATTRIBUTE.findall(text or ""):
        yield Text.of(name, place, name), Text.of(_meant(quoted or single, place), place, name, is_plain=True)


def _meant(text: str, place: Place) -> str:
    """Return the unescaped text: `&amp;`, `<![CDATA[&]]>` and a `&` that is not markup are all `&`."""
    said = html.unescape(_QUOTED.sub(lambda found: html.escape(found[1]), text)).strip()
    if odd := find_odd_character(said):
        _refuse(place, f"the character {odd} can't be in a task", "write printable text only")
    return said


def _read_head(text: str, name: str) -> Mapping[str, Node]:
    """Return wave, phase and plan from the front matter, the lines between two rules at the beginning."""
    head, *rest = text.splitlines() or [""]
    if head.rstrip() != _RULE or _RULE not in (line.rstrip() for line in rest):
        return {}
    end = next(at for at, line in enumerate(rest) if line.rstrip() == _RULE)
    try:
        node = read_document("\n".join(("", *rest[:end])), name=name, limit=MAX_BYTES)
    except DocumentError:
        return {}  # the front matter is for other programs
    rows = node.only(SHARED) if isinstance(node, Table) else {}
    return {key: row for key, row in rows.items() if isinstance(row, Text) and not row.is_null and row.strip()}
