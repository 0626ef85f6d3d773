"""Read verify tasks: the XML form of its document, alone or in a plan, or YAML."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from phase_gate.config.fields import Fields, is_null, shorten
from phase_gate.config.vocabulary import MAX_BYTES
from phase_gate.config.yaml import (
    YamlMapping,
    YamlNode,
    YamlScalar,
    YamlSequence,
    decode_text,
    read_bytes,
    read_document,
)
from phase_gate.errors import DocumentError, TaskFileError
from phase_gate.tasks.lint import MAX_LENGTH
from phase_gate.tasks.model import TaskSpec
from phase_gate.tasks.task_xml import XmlElement, read_xml
from phase_gate.values import Value
from phase_gate.workflow.settings import MAX_TIMEOUTS

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
            nodes = _from_yaml(read_document(source, name=name, limit=MAX_BYTES), name)
    except DocumentError as error:
        raise TaskFileError(error.problem, error.remedy) from None
    tasks: dict[str, tuple[TaskSpec, int]] = {}
    for node in nodes:
        task = _read_task(Fields(node, file=name, error=TaskFileError))
        if task.slug in tasks:
            other, line = tasks[task.slug]
            problem = f"{shorten(task.name)} is kept in {task.slug}/, and so is {shorten(other.name)} of line {line}"
            raise TaskFileError(f"{name}:{node.line}:{node.column}: {problem}", "give each task a name of its own")
        tasks[task.slug] = (task, node.line)
    return tuple(task for task, _ in tasks.values())


def _read_task(fields: Fields) -> TaskSpec:
    task = TaskSpec(
        name=" ".join(fields.text("name").split()),
        files=tuple(dict.fromkeys(_path(fields, each) for each in fields.text_list("files", or_one=True))),
        action=fields.text("action").strip(),
        verify=fields.text("verify").strip(),
        done=fields.text("done").strip(),
        shell=fields.boolean("shell", False),
        depends_on=fields.text_list("depends_on", (), or_one=True),
        flaky=_read_flaky(fields),
        timeouts=_read_timeouts(fields.mapping("timeouts", None)),
        **{key: fields.text(key, "") for key in SHARED},
    )
    # As plans mark what a machine may do alone; anything else asks for a person, and is no task of this gate.
    fields.choice("type", ("auto",), "auto")
    fields.finish()
    if len(task.name) > MAX_NAME:
        fields.refuse("name", f"the name has more than {MAX_NAME} characters", "say the rest in action")
    _check_command(task, fields)
    return task


def _check_command(task: TaskSpec, fields: Fields) -> None:
    if "\0" in task.verify:
        fields.refuse("verify", "a command can't have a NUL in it", "write the command as you would type it")
    if len(task.verify) > MAX_LENGTH:
        fields.refuse(
            "verify", f"the command has more than {MAX_LENGTH} characters", "put it into a script, and run that"
        )
    if task.shell:
        return
    try:
        words = shlex.split(task.verify)
    except ValueError as error:
        fields.refuse("verify", f"can't be split into words: {error}", "close the quote, or have a shell run it")
    if not words or not words[0]:
        fields.refuse("verify", "there is no command", "write the command as you would type it")


def _path(fields: Fields, given: str) -> str:
    """Return a path from the root, with `/`; a folder stands for all that is in it."""
    path = re.sub("/{2,}", "/", given.strip())
    path = path.removeprefix("./")
    parts = path.split("/")
    if path.startswith(("/", "~")) or ".." in parts or "\\" in path or path in ("", "."):
        problem = f"{shorten(given)} is no path from the project's root"
        fields.refuse("files", problem, "write it as git shows it, as in src/planner.py")
    return f"{path}**" if path.endswith("/") else path


def _read_flaky(fields: Fields) -> str:
    declared = fields.choice("flaky", ("accepted",), None)
    reason = fields.text("flaky_reason", "")
    if declared is None and reason:
        fields.refuse("flaky_reason", "a reason for what is not declared", "add flaky: accepted, or take it out")
    if declared is not None and not reason:
        fields.refuse("flaky", "flaky: accepted needs a reason", "add flaky_reason, and what is done about it")
    return reason.strip()


def _read_timeouts(fields: Fields | None) -> Mapping[str, float]:
    if fields is None:
        return {}
    found: dict[str, float] = {}
    for step, most in MAX_TIMEOUTS.items():
        seconds = fields.number(step, None, minimum=1)
        if seconds is None:
            continue
        if seconds > most:
            fields.refuse(step, f"{fields.dotted(step)} can't be {seconds:g} s", f"write {most:g} or less")
        found[step] = float(seconds)
    fields.finish()
    return found


# YAML


def _from_yaml(node: YamlNode, name: str) -> list[YamlMapping]:
    """Return the tasks of a mapping, of a list, or of a list under `tasks:` with what they share above it."""
    shared: tuple[tuple[YamlScalar, YamlNode], ...] = ()
    if isinstance(node, YamlMapping) and any(key.text == "tasks" for key, _ in node.entries):
        fields = Fields(node, file=name, error=TaskFileError)
        listed = fields.node_of("tasks")
        shared = tuple(entry for entry in node.entries if entry[0].text in SHARED)
        for key in SHARED:
            fields.node_of(key)
        fields.finish()
        assert listed is not None
        node = listed
        if not isinstance(node, YamlSequence):
            _refuse(name, node, "tasks has to be a list", "write each task behind a dash")
    items = node.items if isinstance(node, YamlSequence) else (node,)
    if not items:
        _refuse(name, node, "no task in it", _YAML_FORM)
    tasks = []
    for item in items:
        if not isinstance(item, YamlMapping):
            _refuse(name, item, "a task has to stand here", _YAML_FORM)
        tasks.append(_share(item, shared))
    return tasks


def _share(task: YamlMapping, shared: tuple[tuple[YamlScalar, YamlNode], ...]) -> YamlMapping:
    own = {key.text for key, _ in task.entries}
    more = tuple(entry for entry in shared if entry[0].text not in own)
    return YamlMapping(entries=(*task.entries, *more), line=task.line, column=task.column)


def _refuse(name: str, node: YamlNode | XmlElement, problem: str, remedy: str) -> NoReturn:
    raise TaskFileError(f"{name}:{node.line}:{node.column}: {problem}", remedy)


# XML


def _from_xml(text: str, name: str) -> list[YamlMapping]:
    """Return the `<task>` elements of any root, as mappings; attributes of what is around them are shared."""
    found = [_share(_as_mapping(task, name), shared) for task, shared in _find_tasks(read_xml(text, name=name), ())]
    if not found:
        raise TaskFileError(f"{name}:1:1: no <task> in it", _XML_FORM)
    return found


def _find_tasks(
    elements: tuple[XmlElement, ...], shared: tuple[tuple[YamlScalar, YamlNode], ...]
) -> Iterator[tuple[XmlElement, tuple[tuple[YamlScalar, YamlNode], ...]]]:
    for element in elements:
        if element.tag == "task":
            yield element, shared
            continue
        own = tuple(entry for entry in _attributes(element) if entry[0].text in SHARED)
        names = {key.text for key, _ in own}
        yield from _find_tasks(element.children, (*own, *(each for each in shared if each[0].text not in names)))


def _attributes(element: XmlElement) -> Iterator[tuple[YamlScalar, YamlNode]]:
    for key, value in zip(element.names, element.attributes, strict=True):
        yield _key(key, element), value


def _key(text: str, element: XmlElement) -> YamlScalar:
    return YamlScalar(text=text, is_plain=True, line=element.line, column=element.column)


def _as_mapping(task: XmlElement, name: str) -> YamlMapping:
    """Return the task as it would stand in YAML. What does not belong there is left for the reader to refuse."""
    entries: list[tuple[YamlScalar, YamlNode]] = list(_attributes(task))
    if task.text.strip():
        _refuse(name, task, "text beside the elements of <task>", f"put it into <action>: {_XML_FORM}")
    for child in task.children:
        if child.tag == "timeouts":
            mapping = YamlMapping(entries=tuple(_attributes(child)), line=child.line, column=child.column)
            entries.append((_key(child.tag, child), mapping))
            _refuse_inside(child, name, text=True)
            continue
        # <verify shell="true"> and <flaky reason="…">: what belongs to the one text stands beside it in YAML.
        prefix = "flaky_" if child.tag == "flaky" else ""
        entries += [(_key(f"{prefix}{key.text}", child), value) for key, value in _attributes(child)]
        if child.tag in _ITEMS:
            entries.append((_key(child.tag, child), _items(child, name)))
        else:
            _refuse_inside(child, name)
            entries.append((_key(child.tag, child), child.scalar()))
    seen: set[str] = set()
    for key, _ in entries:
        if key.text in seen:
            _refuse(name, key, f"{key.text} stands there twice", "keep one of the two")
        seen.add(key.text)
    for needed in ("name", "files", "action", "verify", "done"):
        if needed not in seen:
            _refuse(name, task, f"<{needed}> is missing in <task>", _XML_FORM)
    return YamlMapping(entries=tuple(entries), line=task.line, column=task.column)


def _items(element: XmlElement, name: str) -> YamlSequence:
    """Return the items of a list: each in an element, or apart by lines, and for files by commas."""
    inner = _ITEMS[element.tag]
    if element.children:
        if element.text.strip():
            _refuse(name, element, f"text beside the elements of <{element.tag}>", f"put each into <{inner}>")
        for child in element.children:
            if child.tag != inner:
                _refuse(name, child, f"<{child.tag}> in <{element.tag}>", f"put each into <{inner}>")
            _refuse_inside(child, name)
        items: list[YamlNode] = [child.scalar() for child in element.children]
    else:
        texts = re.split("[,\n]" if element.tag == "files" else "\n", element.text)
        place = {"line": element.line, "column": element.column}
        items = [YamlScalar(text=each.strip(), is_plain=False, **place) for each in texts if each.strip()]
    return YamlSequence(items=tuple(items), line=element.line, column=element.column)


def _refuse_inside(element: XmlElement, name: str, *, text: bool = False) -> None:
    if element.children:
        inner = element.children[0]
        _refuse(name, inner, f"<{inner.tag}> in <{element.tag}>", "write text there; &lt; stands for <")
    if text and element.text.strip():
        _refuse(name, element, f"text in <{element.tag}>", 'write it as <timeouts verify="60"/>')


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
