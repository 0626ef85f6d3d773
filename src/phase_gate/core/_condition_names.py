"""Put other names, or whole conditions, in the place of a condition's names."""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.core._condition_tokens import error_at, is_name
from phase_gate.core._condition_tree import Group, Leaf, Node, Operand, join, name_operands


def substitute(node: Node, trees: Mapping[str, Node], names: Mapping[str, str], source: str) -> Node:
    """Return the tree with its names replaced by trees or by other names; places stay those of `source`."""
    if isinstance(node, Group):
        parts = [substitute(part, trees, names, source) for part in node.parts]
        return Group("NOT", tuple(parts)) if node.word == "NOT" else join(node.word, parts)
    for operand in name_operands(node):
        if operand.name in trees:
            tree = _move(trees[operand.name], operand.offset)
            return tree if _asks_for_truth(node, operand, source) else Group("NOT", (tree,))
    return node._replace(
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
    return operand._replace(name=name)


def _move(node: Node, offset: int) -> Node:
    if isinstance(node, Group):
        return node._replace(parts=tuple(_move(part, offset) for part in node.parts))
    return node._replace(
        left=node.left._replace(offset=offset),
        right=tuple(operand._replace(offset=offset) for operand in node.right),
    )
