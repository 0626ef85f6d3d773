"""The tree of a condition, its canonical text, and which types may be compared in it.

A tree is made by `parser` and read by `conditions`; nothing is parsed or evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from phase_gate.errors import ConditionError
from phase_gate.values import Literal, Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.workflow.metrics import MetricType, MetricValue

Word = Literal["AND", "OR", "NOT"]

#: What names can not be, in any case, and what each is to the parser.
WORDS = {"and": "AND", "or": "OR", "not": "NOT", "in": "in", "true": "literal", "false": "literal", "null": "literal"}
SPACE = " \t\r\n"


class Operand(Value, kw_only=False):
    """A name, or a literal value where `name` is empty; `offset` is where the source has it."""

    name: str
    value: MetricValue
    offset: int


class Leaf(Value, kw_only=False):
    """One comparison; without an operator, a boolean that stands for itself."""

    left: Operand
    operator: str = ""
    #: One operand; after `in` one or more literals; none without an operator.
    right: tuple[Operand, ...] = ()


class Group(Value, kw_only=False):
    """Parts joined by a word: two or more for AND and OR, one for NOT."""

    word: Word
    parts: tuple[Leaf | Group, ...]


Node = Leaf | Group


def error_at(source: str, offset: int, problem: str, remedy: str) -> ConditionError:
    """Return the error for a place in a source, which its problem names first."""
    line_start = source.rfind("\n", 0, offset) + 1
    where = f"column {offset - line_start + 1}"
    if "\n" in source.rstrip(SPACE):
        line_number = source.count("\n", 0, offset) + 1
        where = f"line {line_number}, {where}"
    return ConditionError(f"{where}: {problem}", remedy)


def is_name(text: str) -> bool:
    """Whether a condition can speak of something by that name."""
    return text.isascii() and text.isidentifier() and text.lower() not in WORDS


def join(word: Word, parts: Iterable[Node]) -> Node:
    """Return the parts joined by AND or OR; parts that are joined by the same word become one group."""
    flat: list[Node] = []
    for part in parts:
        if isinstance(part, Group) and part.word == word:
            flat.extend(part.parts)
        else:
            flat.append(part)
    return flat[0] if len(flat) == 1 else Group(word, tuple(flat))


def strip_negations(node: Node) -> tuple[Node, int]:
    """Return what is below the NOTs in front, and how many of them there are."""
    count = 0
    while isinstance(node, Group) and node.word == "NOT":
        node, count = node.parts[0], count + 1
    return node, count


def leaves(node: Node) -> Iterator[Leaf]:
    """Yield the comparisons from left to right."""
    if isinstance(node, Leaf):
        yield node
    else:
        for part in node.parts:
            yield from leaves(part)


def name_operands(leaf: Leaf) -> Iterator[Operand]:
    """Yield the operands of a comparison that are names."""
    return (operand for operand in (leaf.left, *leaf.right) if operand.name)


def render(node: Node) -> str:
    """Return the canonical text: one line, words in upper case, no parentheses but the needed ones."""
    if isinstance(node, Leaf):
        return render_leaf(node, render_operand)
    # Looser words than the own one need parentheses. A NOT in front never does: it binds closest.
    looser = {"AND": ("OR",), "OR": (), "NOT": ("AND", "OR")}[node.word]
    parts = [
        f"({render(part)})" if isinstance(part, Group) and part.word in looser else render(part) for part in node.parts
    ]
    return f"NOT {parts[0]}" if node.word == "NOT" else f" {node.word} ".join(parts)


def render_leaf(leaf: Leaf, write: Callable[[Operand], str]) -> str:
    """Return the text of a comparison, its operands written by `write`."""
    left = write(leaf.left)
    if not leaf.operator:
        return left
    right = ", ".join(map(write, leaf.right))
    return f"{left} in [{right}]" if leaf.operator == "in" else f"{left} {leaf.operator} {right}"


def render_operand(operand: Operand) -> str:
    return operand.name or render_value(operand.value)


def render_value(value: MetricValue) -> str:
    """Return a value as a condition spells it."""
    if isinstance(value, str):
        return _quote(value)
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _quote(text: str) -> str:
    for character, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(character, escape)
    if not text.isprintable():
        # Never from a literal, for those are printable: a value could hold the codes that steer a terminal.
        text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return f'"{text}"'


# --- put other names, or whole conditions, in the place of a condition's names


def substitute(node: Node, trees: Mapping[str, Node], names: Mapping[str, str], source: str) -> Node:
    """Return the tree with its names replaced by trees or by other names; places stay those of `source`."""
    if isinstance(node, Group):
        parts = [substitute(part, trees, names, source) for part in node.parts]
        return Group("NOT", tuple(parts)) if node.word == "NOT" else join(node.word, parts)
    for operand in name_operands(node):
        if operand.name in trees:
            tree = _move(trees[operand.name], operand.offset)
            return tree if _asks_for_truth(node, operand, source) else Group("NOT", (tree,))
    return replace(
        node,
        left=_rename(node.left, names, source),
        right=tuple(_rename(operand, names, source) for operand in node.right),
    )


def _asks_for_truth(leaf: Leaf, alias: Operand, source: str) -> bool:
    """Whether a leaf holds if its alias does; false if it holds when the alias does not."""
    if not leaf.operator:
        return True
    others = [operand for operand in (leaf.left, *leaf.right) if operand is not alias]
    value = others[0].value
    if leaf.operator not in ("==", "!=") or not isinstance(value, bool):
        raise error_at(
            source,
            alias.offset,
            f"{alias.name} stands for a whole condition and can only be true or false",
            f"write {alias.name} or NOT {alias.name}, without a comparison",
        )
    return value is (leaf.operator == "==")


def _rename(operand: Operand, names: Mapping[str, str], source: str) -> Operand:
    if operand.name not in names:
        return operand
    name = names[operand.name]
    if not is_name(name):
        raise error_at(
            source,
            operand.offset,
            f"{operand.name} stands for {name!r}, which is not a name",
            f"let {operand.name} stand for letters, digits and underscores",
        )
    return replace(operand, name=name)


def _move(node: Node, offset: int) -> Node:
    if isinstance(node, Group):
        return replace(node, parts=tuple(_move(part, offset) for part in node.parts))
    return replace(
        node,
        left=replace(node.left, offset=offset),
        right=tuple(replace(operand, offset=offset) for operand in node.right),
    )


# --- which types a condition may compare, when it is loaded and when it is evaluated


#: What we call the types of values: as metrics do, and null.
TYPE_NAMES: Mapping[type, str] = {int: "int", float: "number", bool: "bool", str: "text", type(None): "null"}

_FAMILIES = {"int": "number"}
_ORDERED = ("number", "text")
_PARTNERS = {"number": "a number", "bool": "true or false", "text": "a quoted text"}


def find_mismatch(left: str, operator: str, right: str) -> str:
    """Return why values of two types can't be compared that way, or nothing."""
    is_same = _FAMILIES.get(left, left) == _FAMILIES.get(right, right)
    if operator in ("==", "!=", "in"):
        is_fine = is_same or "null" in (left, right)
    else:
        is_fine = is_same and _FAMILIES.get(left, left) in _ORDERED
    if is_fine:
        return ""
    return f"{left} has no order" if is_same else f"can't compare {left} with {right}"


def check_leaf(leaf: Leaf, types: Mapping[str, MetricType], source: str) -> None:
    """Raise ConditionError if a comparison has an unknown name, or types that can't be compared."""
    for operand in name_operands(leaf):
        if operand.name not in types:
            raise _unknown_name(operand, types, source)
    text, start = render(leaf), leaf.left.offset
    left = _type_of(leaf.left, types)
    if not leaf.operator and left != "bool":
        example = '== "..."' if left == "text" else "> 0"
        raise error_at(
            source, start, f"{text} is {left}, not bool, and no condition by itself", f"compare it: {text} {example}"
        )
    for operand in leaf.right:
        right = _type_of(operand, types)
        if mismatch := find_mismatch(left, leaf.operator, right):
            raise error_at(source, start, f"{mismatch}: {text}", _find_partner(leaf.left, left, operand, right))


def _type_of(operand: Operand, types: Mapping[str, MetricType]) -> str:
    return types[operand.name] if operand.name else TYPE_NAMES[type(operand.value)]


def _find_partner(left: Operand, left_type: str, right: Operand, right_type: str) -> str:
    # The name stays: its type is given, while the literal is what the writer can change.
    subject, kind = (right, right_type) if right.name and not left.name else (left, left_type)
    family = _FAMILIES.get(kind, kind)
    if family == "null":
        return "compare null by == or != only"
    order = "" if family in _ORDERED else " by == or !="
    return f"compare {render_operand(subject)} with {_PARTNERS[family]}{order}"


def _unknown_name(operand: Operand, known: Iterable[str], source: str) -> ConditionError:
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=operand.name)

    def distance(name: str) -> tuple[float, str]:
        matcher.set_seq1(name)
        return -matcher.ratio(), name

    names = ", ".join(sorted(known, key=distance))
    return error_at(
        source,
        operand.offset,
        f"unknown name {operand.name}",
        f"use one of: {names}" if names else "remove it: no names are known here",
    )
