"""Doctests in Python source. Only their examples count, not the text around them.

Pure: a syntax tree in, values out. pytest names them by module and object: `shop.price.total` in `src/shop/price.py`.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator

from phase_gate.source.body_hash import HASH_LENGTH
from phase_gate.source.syntax_names import Definition, FunctionNode, flat


def find_doctests(tree: ast.Module, path: str) -> dict[str, str]:
    """Return hashes of examples, by every name that pytest may have for them: that depends on how it imports a file."""
    bodies = {name: hash_examples(text) for name, text in _docstrings(tree, "") if ">>>" in text}
    return {
        ".".join(filter(None, (module, name))): body
        for module in module_names(path)
        for name, body in bodies.items()
        if body
    }


def module_names(path: str) -> list[str]:
    """Return the names that a file may be imported by: dotted, from as far up as one likes."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return [".".join(parts[start:]) for start in range(len(parts))]


def are_doctests(names: Iterable[str], path: str, tests: Collection[str]) -> bool:
    """Return whether a Python file is collected only for its doctests.

    :param names: bare names of what is collected.
    :param tests: names of the functions in it that can be tests.
    """
    modules = module_names(path)
    return all(
        name not in tests and any(name == module or name.startswith(f"{module}.") for module in modules)
        for name in names
    )


def _docstrings(node: ast.Module | Definition, prefix: str) -> Iterator[tuple[str, str]]:
    text = ast.get_docstring(node, clean=False)
    if text:
        yield prefix, text
    if isinstance(node, FunctionNode):
        return
    for inner in flat(node.body):
        if isinstance(inner, Definition):
            yield from _docstrings(inner, f"{prefix}.{inner.name}" if prefix else inner.name)


def hash_examples(text: str) -> str:
    """Return a hash of the examples in a docstring or a text; empty if it has none, or none that can be read."""
    import doctest  # slow to load, and rarely needed

    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return ""
    rows = [(each.source, each.want, sorted(each.options.items())) for each in examples]
    return hashlib.sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH] if rows else ""
