"""Convert the nodes of a file to annotated values, and report each fault with its line and column.

Loading stops at the first fault. Checking collects all of them: after each one, the reader continues with a
placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn, TypeVar

from phase_gate.codec import reader
from phase_gate.config.nodes import Items, Node, Place, Scalar, Table, Text, closest_first, find_meant, shorten, show
from phase_gate.errors import ConditionError, PhaseGateError
from phase_gate.identities import find_name_fault
from phase_gate.values import MISSING, Value, annotation_of, default_of, fields, told_about
from phase_gate.workflow.conditions import Condition, parse_condition
from phase_gate.workflow.names import SPAN_FORM, parse_duration
from phase_gate.workflow.phrases import PatternError, check_pattern

T = TypeVar("T", bound=Value)

#: More faults than a user fixes at once. The next check reports the rest.
MAX_FAULTS = 100

#: The name of a type, and how to write its values.
_TYPES: Mapping[type, tuple[str, str]] = {
    bool: ("a boolean", "write true or false, without quotes"),
    int: ("a whole number", "write digits, without quotes"),
    float: ("a number", "write a number, without quotes"),
}
#: The placeholder for a condition that can't be read, while faults are collected.
STAND_IN = parse_condition("run_complete == true")
#: Placeholders for values that are missing or can't be read, by type.
_STAND_INS: Mapping[str, Any] = {
    "str": "unknown",
    "bool": False,
    "int": 1,
    "float": 1,
    "Condition": STAND_IN,
    "tuple[str, ...]": (),
}


class Fault(Value):
    line: int
    column: int
    slug: str
    problem: str
    remedy: str


class FaultyError(Exception):
    """Raised while faults are collected, where the reader has no placeholder. A caller that has one catches it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class Reader:
    """Reads values from one file, and raises or collects its faults.

    :param error: the error to raise for the first fault.
    :param collects: whether to collect faults instead of raising the first one.
    """

    def __init__(self, error: type[PhaseGateError], *, collects: bool = False) -> None:
        self.error, self.collects = error, collects
        #: Names of phases, facts, metrics and parameters with a faulty description. Faults that only follow from such
        #: a fault are not reported.
        self.broken: set[str] = set()
        self._found: dict[Fault, None] = {}

    @property
    def number(self) -> int:
        return len(self._found)

    @property
    def found(self) -> tuple[Fault, ...]:
        return tuple(self._found)

    def report(self, where: object, problem: str, remedy: str) -> None:
        """Raise the fault, or collect it; then the caller continues with a placeholder.

        :param where: a node, or a place.
        """
        try:
            self.stop(where, problem, remedy)
        except FaultyError as error:
            self.keep(error.fault)

    def stop(self, where: object, problem: str, remedy: str) -> NoReturn:
        """Raise the fault, for a caller without a placeholder."""
        place = getattr(where, "at", where)
        if not self.collects:
            raise self.error(f"{place}: {problem}", remedy)
        line, column = (place.line, place.column) if isinstance(place, Place) else (1, 1)
        raise FaultyError(Fault(line=line, column=column, slug=self.error.slug, problem=problem, remedy=remedy))

    def keep(self, fault: Fault) -> None:
        # Some nodes are read twice. Their faults count once.
        if len(self._found) < MAX_FAULTS:
            self._found[fault] = None

    def aside(self) -> Reader:
        """Return a separate reader for placeholders, whose faults are only consequences of another fault."""
        made = Reader(self.error, collects=True)
        made.broken = self.broken
        return made

    # --- values

    def read(
        self, kind: type[T], node: Node, *, usual: T | None = None, beside: Collection[str] = (), **given: Any
    ) -> T:
        """Return a value from a table. Each field is read by its annotation; missing fields have their defaults.

        The options of a field refine this: `key`, its name in the file, empty for none; `minimum`; `span`, a span of
        time; `or_one`, a single text is accepted as a list; `below_root`, a path in the project, and the remedy for
        other paths; `phrases`, patterns; `name`, of a person or an agent; `prose`, joined into one line; `blank`, null
        or blank text means the default; `strip`, surrounding blanks are removed; `named`, the kind of name that the
        keys of a mapping are.

        :param usual: a value that has the defaults.
        :param beside: keys that are read elsewhere.
        :param given: fields that the caller has already read.
        """
        if not isinstance(node, Table):
            problem = f"{node.path or 'the file'} has to be a mapping, not {show(node)}"
            self.report(node, problem, "write `key: value` lines")
            return self.aside().read(kind, Table.of({}, node.at, node.path), usual=usual, beside=beside, **given)
        keys = {told_about(kind, name).get("key", name): name for name in fields(kind)}
        if (name := keys.pop("", "")) and default_of(kind, name) is MISSING:
            given.setdefault(name, node.path.rpartition(".")[2])  # the key of this table
        where = f" in {node.path}" if node.path else ""
        for key, row in node.items():
            if key not in keys and key not in beside:
                remedy = f"use one of: {closest_first(key, (*keys, *beside))}"
                self.report(key, f"unknown key {shorten(key)}{where}", remedy)
            elif key in keys and keys[key] not in given:
                given[keys[key]] = self._field(kind, keys[key], row)
        for key, name in keys.items():
            if name not in given and usual is not None:
                given[name] = getattr(usual, name)
            elif name not in given and default_of(kind, name) is MISSING:
                self.report(node, f"the key {key!r} is missing{where}", f"add it: `{key}: …`")
                given[name] = self._stand_in(kind, name, node)
        return kind(**given)

    def _field(self, kind: type[Value], name: str, row: Node) -> Any:
        told, default = told_about(kind, name), default_of(kind, name)
        if "blank" in told and isinstance(row, Text) and (row.is_null or not row.strip()):
            return default
        try:
            return self._heed(told, row, reader(kind, name))
        except FaultyError as error:
            self.keep(error.fault)
            return self._stand_in(kind, name, row) if default is MISSING else default

    def _stand_in(self, kind: type[Value], name: str, node: Node) -> Any:
        annotation, _ = annotation_of(kind, name)
        if annotation in _STAND_INS:
            return _STAND_INS[annotation]
        return reader(kind, name)(Table.of({}, node.at, node.path), self.aside())

    def _heed(self, told: Mapping[str, Any], row: Node, read: Callable[[Any, Any], Any]) -> Any:
        """Return the value of a node, checked against the options of its field."""
        if "named" in told and isinstance(row, Table):
            for key in row:
                self.check_name(key, *told["named"])
        if "span" in told:
            value: Any = parse_duration(self.text(row))
            if value is None:
                self.stop(row, f"{row.path} has to be a span of time, not {show(row)}", SPAN_FORM)
        else:
            if "or_one" in told:
                row = _as_list(row)
            value = read(row, self)
        rows: list[tuple[Node, Any]] = [(row, value)]
        if isinstance(row, Items):
            rows = list(zip(row, value, strict=True))
        elif isinstance(row, Table) and isinstance(value, dict):
            rows = [(row[key], each) for key, each in value.items()]
        for node, each in rows:
            self._check(told, node, each)
        if "name" in told:
            value = " ".join(value.split())
            if fault := find_name_fault(value):
                self.stop(row, f"{row.path} is not a name: {fault}", "retype the name with visible letters")
        if "blank" in told or "strip" in told:
            return value.strip()
        return " ".join(value.split()) if "prose" in told else value

    def _check(self, told: Mapping[str, Any], row: Node, value: Any) -> None:
        if "minimum" in told and isinstance(value, int | float) and value < told["minimum"]:
            self.stop(row, f"{row.path} can't be {value}", f"write {told['minimum']} or more")
        if "below_root" in told:
            self.check_path(value, row, otherwise=told["below_root"])
        if "phrases" in told:
            try:
                check_pattern(value)
            except PatternError as error:
                problem = f"{row.path}: {error}"
                self.stop(row, problem, "write a simple phrase, with `.*` at most")

    def check_name(self, key: str, what: str, joint: str = "_") -> None:
        if not re.fullmatch(f"[a-z][a-z0-9{joint}]*", key):
            self.report(key, f"{what} can't be named {shorten(key)}", f"use lower case, digits and `{joint}`")

    def check_path(self, path: str, where: Node, *, otherwise: str = "") -> None:
        """Refuse a path outside of the project.

        :param otherwise: how to name such a path, for the remedy.
        """
        is_absolute = path.startswith(("/", "~")) or path[1:2] == ":"
        if is_absolute or ".." in path.split("/") or "\\" in path or "\0" in path:
            remedy = f"write it from the root, with `/`{otherwise and f'; or {otherwise}'}"
            self.report(where, f"{shorten(path)} is not a path below the root", remedy)

    # --- called by the codec

    def text(self, row: Node) -> str:
        """Return the text, even if it looks like a number. Refuse blank and null."""
        if not isinstance(row, Text):
            remedy = "write one text; quotes keep it together"
            self.stop(row, f"{row.path} has to be a text, not {show(row)}", remedy)
        if row.is_null:
            self.stop(row, f"{row.path} has no value", "give it a text, in quotes if need be, or take the key out")
        if not row.strip():
            self.stop(row, f"{row.path} is blank", "give it a text, or take the key out")
        return row

    def convert(self, row: Node, types: tuple[type, ...]) -> Scalar:
        """Return a scalar of one of these types."""
        if types == (str,):
            return self.text(row)
        if not isinstance(row, Text):
            self.stop(row, f"{row.path} has to be one value, not {show(row)}", "write one number, boolean or text")
        try:
            value = row.value
        except ValueError as error:
            self.stop(row, f"{row.path}: {error}", "write it shorter, or in quotes if it is a text")
        if value is None and type(None) in types:
            self.stop(row, f"{row.path} has no value", "give it a number, a boolean or a text")
        # Not isinstance: a bool is an int in Python.
        if type(value) not in types:
            what, remedy = _TYPES[types[0]]
            self.stop(row, f"{row.path} has to be {what}, not {show(row)}", remedy)
        return str(self.text(row)) if isinstance(value, str) else value

    def choose(self, row: Node, choices: tuple[str, ...]) -> str:
        """Return the text if it is exactly one of the choices; otherwise report it."""
        text = self.text(row)
        if text in choices:
            return str(text)
        self.report(row, f"{row.path} can't be {shorten(text)}", f"use one of: {closest_first(text, choices)}")
        return find_meant(text, choices) or choices[0]

    def refuse_list(self, row: Node) -> NoReturn:
        self.stop(row, f"{row.path} has to be a list, not {show(row)}", "write it as [one, two]")

    def read_each(self, row: Node, read: Callable[[Any, Any], Any]) -> dict[str, Any]:
        """Return the values of a table with arbitrary keys."""
        if not isinstance(row, Table):
            self.stop(row, f"{row.path} has to be a mapping, not {show(row)}", "write `key: value` lines")
        found = {}
        for key, each in row.items():
            before = self.number
            try:
                found[key] = read(each, self)
            except FaultyError as error:
                self.keep(error.fault)
            if self.number > before:
                self.broken.add(key)
        return found

    def parse(self, kind: type[Value], row: Node) -> Condition:
        """Return a condition. Its names are not checked."""
        assert kind is Condition, "no other value is parsed from a text"
        try:
            return parse_condition(self.text(row))
        except ConditionError as error:
            self.stop(row, f"{row.path}: {error.problem}", error.remedy)


def _as_list(row: Node) -> Node:
    """Return a text as a list with one item; in a table, each of its texts."""
    if isinstance(row, Table):
        return Table.of({key: _as_list(each) for key, each in row.items()}, row.at, row.path)
    return Items.of([row], row.at, row.path) if isinstance(row, Text) else row
