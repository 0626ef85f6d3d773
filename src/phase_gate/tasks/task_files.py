"""Read verify tasks: the XML form of its document, alone or in a plan, or YAML."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from phase_gate.config.configuration import check_timeouts
from phase_gate.config.reading import MAX_BYTES, Items, Node, Reader, Table, Text, closest_first, plain, shorten
from phase_gate.config.yaml import decode_text, read_bytes, read_document
from phase_gate.errors import DocumentError, TaskFileError
from phase_gate.tasks.lint import MAX_LENGTH
from phase_gate.tasks.model import TaskSpec
from phase_gate.tasks.task_xml import XmlElement, read_xml
from phase_gate.values import Value, field, replace

#: How the name of a plan ends.
_MARKDOWN = (".md", ".markdown")
#: A name is a heading, not a text.
MAX_NAME = 200
#: Elements whose items stand apart: by commas, by lines, or each in an element of its own.
_ITEMS: Mapping[str, str] = {"files": "file", "depends_on": "task"}

#: What tasks of one file may share, said once above them.
SHARED = ("wave", "phase", "plan")

#: What a task looks like, for remedies.
_XML_FORM = "write <task> with <name>, <files>, <action>, <verify> and <done>"
_YAML_FORM = "write name, files, action, verify and done, or a list of such tasks"


def read_task_file(path: Path, name: str | None = None) -> tuple[TaskSpec, ...]:
    """Return the tasks of a file, at least one. Raises TaskFileError.

    :param name: what stands in front of the line in messages; else the path as given.
    """
    shown = str(path) if name is None else name
    data = read_bytes(path, name=shown, limit=MAX_BYTES, error=TaskFileError, if_missing="check the path")
    return parse_tasks(data, shown)


def parse_tasks(text: str | bytes, name: str) -> tuple[TaskSpec, ...]:
    """Return the tasks of a text: a plan by its name, XML if it begins with `<`, else YAML. Raises TaskFileError."""
    try:
        source = decode_text(text, name=name, limit=MAX_BYTES)
        if name.lower().endswith(_MARKDOWN):
            plan = read_plan(source, name)
            nodes = [_share(each, plan.shared) for each in _from_xml(plan.xml, name)]
        elif source.lstrip().startswith("<"):
            nodes = _from_xml(source, name)
        else:
            nodes = _from_yaml(read_document(source, name=name, limit=MAX_BYTES))
    except DocumentError as error:
        raise TaskFileError(error.problem, error.remedy) from None
    tasks: dict[str, tuple[TaskSpec, int]] = {}
    for node in nodes:
        task = _read_task(node)
        if task.slug in tasks:
            other, line = tasks[task.slug]
            problem = f"{shorten(task.name)} is kept in {task.slug}/, and so is {shorten(other.name)} of line {line}"
            _refuse(node, problem, "give each task a name of its own")
        tasks[task.slug] = (task, node.at.line)
    return tuple(task for task, _ in tasks.values())


def _read_task(node: Table) -> TaskSpec:
    reader = Reader(TaskFileError)
    if "type" in node:
        # As plans mark what a machine may do alone; anything else asks for a person, and is no task of this gate.
        reader.choose(node["type"], ("auto",))
    task = reader.read(TaskSpec, node, beside=("type", "flaky_reason"), flaky=_read_flaky(reader, node))
    check_timeouts(reader, task.timeouts, node)
    if len(task.name) > MAX_NAME:
        reader.stop(node["name"], f"the name has more than {MAX_NAME} characters", "say the rest in action")
    _check_command(reader, task, node["verify"])
    files = tuple(dict.fromkeys(_path(reader, each, node["files"]) for each in task.files))
    return plain(replace(task, files=files))


def _check_command(reader: Reader, task: TaskSpec, where: Node) -> None:
    if "\0" in task.verify:
        reader.stop(where, "a command can't have a NUL in it", "write the command as you would type it")
    if len(task.verify) > MAX_LENGTH:
        problem = f"the command has more than {MAX_LENGTH} characters"
        reader.stop(where, problem, "put it into a script, and run that")
    if task.shell:
        return
    try:
        words = shlex.split(task.verify)
    except ValueError as error:
        reader.stop(where, f"can't be split into words: {error}", "close the quote, or have a shell run it")
    if not words or not words[0]:
        reader.stop(where, "there is no command", "write the command as you would type it")


def _path(reader: Reader, given: str, where: Node) -> str:
    """Return a path from the root, with `/`; a folder stands for all that is in it."""
    path = re.sub("/{2,}", "/", given.strip())
    path = path.removeprefix("./")
    parts = path.split("/")
    if path.startswith(("/", "~")) or ".." in parts or "\\" in path or path in ("", "."):
        problem = f"{shorten(given)} is no path from the project's root"
        reader.stop(where, problem, "write it as git shows it, as in src/planner.py")
    return f"{path}**" if path.endswith("/") else path


def _read_flaky(reader: Reader, node: Table) -> str:
    """Return why a task is flaky; empty where it does not say that it is."""
    if "flaky" not in node and "flaky_reason" not in node:
        return ""
    if "flaky" not in node:
        problem = "a reason for what is not declared"
        reader.stop(node["flaky_reason"], problem, "add flaky: accepted, or take it out")
    reader.choose(node["flaky"], ("accepted",))
    if "flaky_reason" not in node:
        problem = "flaky: accepted needs a reason"
        reader.stop(node["flaky"], problem, "add flaky_reason, and what is done about it")
    return reader.text(node["flaky_reason"]).strip()


# YAML


def _from_yaml(node: Node) -> list[Table]:
    """Return the tasks of a mapping, of a list, or of a list under `tasks:` with what they share above it."""
    shared: Mapping[str, Node] = {}
    if isinstance(node, Table) and "tasks" in node:
        shared = node.only(SHARED)
        for key in node:
            if key not in ("tasks", *SHARED):
                remedy = f"use one of: {closest_first(key, ('tasks', *SHARED))}"
                _refuse(key, f"unknown key {shorten(key)}", remedy)
        node = node["tasks"]
        if not isinstance(node, Items):
            _refuse(node, "tasks has to be a list", "write each task behind a dash")
    tasks = []
    for item in node if isinstance(node, Items) else [node]:
        if not isinstance(item, Table):
            _refuse(item, "a task has to stand here", _YAML_FORM)
        tasks.append(_share(item, shared))
    if not tasks:
        _refuse(node, "no task in it", _YAML_FORM)
    return tasks


def _share(task: Table, shared: Mapping[str, Node]) -> Table:
    """Return a task with what it shares with others; its keys are its own, not those of the list around it."""
    more = {key: row for key, row in shared.items() if key not in task}
    return Table.of({**task, **more}, task.at, "")


def _refuse(where: object, problem: str, remedy: str) -> NoReturn:
    Reader(TaskFileError).stop(where, problem, remedy)


# XML


def _from_xml(text: str, name: str) -> list[Table]:
    """Return the `<task>` elements of any root, as tables; attributes of what is around them are shared."""
    found = [_share(_as_table(task), shared) for task, shared in _find_tasks(read_xml(text, name=name), {})]
    if not found:
        raise TaskFileError(f"{name}:1:1: no <task> in it", _XML_FORM)
    return found


def _find_tasks(
    elements: tuple[XmlElement, ...], shared: Mapping[str, Node]
) -> Iterator[tuple[XmlElement, Mapping[str, Node]]]:
    for element in elements:
        if element.tag == "task":
            yield element, shared
        else:
            yield from _find_tasks(element.children, {**shared, **element.attributes.only(SHARED)})


def _as_table(task: XmlElement) -> Table:
    """Return the task as it would stand in YAML. What does not belong there is left for the reader to refuse."""
    if task.text.strip():
        _refuse(task, "text beside the elements of <task>", f"put it into <action>: {_XML_FORM}")
    entries: list[tuple[str, Node]] = list(task.attributes.items())
    for child in task.children:
        if child.tag == "timeouts":
            entries.append((child.key, child.attributes))
            _refuse_inside(child, text=True)
            continue
        # <verify shell="true"> and <flaky reason="…">: what belongs to the one text stands beside it in YAML.
        prefix = "flaky_" if child.tag == "flaky" else ""
        entries += [(Text.of(f"{prefix}{key}", child.at, key), value) for key, value in child.attributes.items()]
        if child.tag not in _ITEMS:
            _refuse_inside(child)
        entries.append((child.key, _items(child) if child.tag in _ITEMS else child.inner_text))
    table = Table.of({}, task.at, "")
    for key, value in entries:
        if key in table:
            _refuse(key, f"{key} stands there twice", "keep one of the two")
        table[key] = value
    for needed in ("name", "files", "action", "verify", "done"):
        if needed not in table:
            _refuse(task, f"<{needed}> is missing in <task>", _XML_FORM)
    return table


def _items(element: XmlElement) -> Items:
    """Return the items of a list: each in an element, or apart by lines, and for files by commas."""
    inner = _ITEMS[element.tag]
    if element.children:
        if element.text.strip():
            _refuse(element, f"text beside the elements of <{element.tag}>", f"put each into <{inner}>")
        for child in element.children:
            if child.tag != inner:
                _refuse(child, f"<{child.tag}> in <{element.tag}>", f"put each into <{inner}>")
            _refuse_inside(child)
        items: list[Node] = [child.inner_text for child in element.children]
    else:
        texts = re.split("[,\n]" if element.tag == "files" else "\n", element.text)
        item = f"an item of {element.tag}"
        items = [Text.of(each.strip(), element.at, item) for each in texts if each.strip()]
    return Items.of(items, element.at, element.tag)


def _refuse_inside(element: XmlElement, *, text: bool = False) -> None:
    if element.children:
        inner = element.children[0]
        _refuse(inner, f"<{inner.tag}> in <{element.tag}>", "write text there; &lt; stands for <")
    if text and element.text.strip():
        _refuse(element, f"text in <{element.tag}>", 'write it as <timeouts verify="60"/>')


# A plan: Markdown for people, with `<task>` blocks between its paragraphs or in its code blocks


#: A tag at the beginning of a line: one in the middle of a sentence only speaks of tasks.
_TASK = re.compile(r"[ \t]*<task(?=[\s>])")
_AROUND = re.compile(r"[ \t]*</?tasks(?:\s[^<>]*)?>[ \t]*$")
_END = "</task>"
_RULE = "---"


class Plan(Value):
    #: The blocks, each where it stood; everything else is blank.
    xml: str
    #: What stands above all of them.
    shared: Mapping[str, Node] = field(default_factory=dict)


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


def _read_head(text: str, name: str) -> Mapping[str, Node]:
    """Return what the lines between two rules at the very beginning say of wave, phase and plan."""
    head, *rest = text.splitlines() or [""]
    if head.rstrip() != _RULE or _RULE not in (line.rstrip() for line in rest):
        return {}
    end = next(at for at, line in enumerate(rest) if line.rstrip() == _RULE)
    try:
        node = read_document("\n".join(("", *rest[:end])), name=name, limit=MAX_BYTES)
    except DocumentError:
        return {}  # no concern of ours: it is for those who wrote the plan
    rows = node.only(SHARED) if isinstance(node, Table) else {}
    return {key: row for key, row in rows.items() if isinstance(row, Text) and not row.is_null and row.strip()}
