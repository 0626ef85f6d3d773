"""The house in numbers: packages, modules, lines, imports that point upwards, imports inside functions, cycles.

`python -m tests.house` prints them. The layers are those of `docs/explanation/architecture.md`; a package may import
from its own layer downwards only.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "phase_gate"
SOURCES = Path(__file__).parent.parent / "src" / PACKAGE

#: From the bottom upwards.
LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "workflow",
        "source",
        "values",
        "hashing",
        "plain_json",
        "codec",
        "names",
        "renamed",
        "columns",
        "visible",
        "shell_text",
        "errors",
        "exit_codes",
        "_version",
        "__init__",
    ),
    ("gate",),
    ("project", "task", "storage", "stores", "rules", "hookspecs"),
    ("recording", "evidence", "report", "rooms"),
    (
        "verification",
        "pipeline",
        "claims",
        "shards",
        "proof",
        "new_code",
        "mutation",
        "behaviour",
        "agents",
        "selftest",
    ),
    ("decisions",),
    ("drive",),
    ("plugin", "cli"),
)
#: The layer whose packages do not import each other either.
_FEATURES = next(number for number, names in enumerate(LAYERS) if "claims" in names)
_LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}


class Edge(NamedTuple):
    """One import: the module that imports, the line, what it imports, and when."""

    importer: str
    line: int
    imported: str
    #: "top", "function" (lazy) or "typing".
    when: str

    def __str__(self) -> str:
        where = {"top": "", "function": " (in a function)", "typing": " (for types)"}[self.when]
        return f"{self.importer}:{self.line} imports {self.imported}{where}"


def modules(sources: Path = SOURCES) -> dict[str, Path]:
    """Return dotted name -> file, without the package's own name; a package is named by its folder."""
    found = {}
    for path in sorted(sources.rglob("*.py")):
        parts = path.relative_to(sources).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


def edges(sources: Path = SOURCES) -> list[Edge]:
    known = modules(sources)
    return [
        edge
        for name, path in known.items()
        for edge in _imports(name, ast.parse(path.read_text("utf-8")), known, "top")
    ]


def _imports(name: str, node: ast.AST, known: dict[str, Path], when: str) -> Iterator[Edge]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield from (Edge(name, child.lineno, target, when) for target in _targets(child, known))
            continue
        inner = when
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            inner = "function"
        elif isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            inner = "typing"
        yield from _imports(name, child, known, inner)


def _targets(node: ast.Import | ast.ImportFrom, known: dict[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        base = node.module or ""
        deeper = [f"{base}.{alias.name}" for alias in node.names]
        names = [name if name.removeprefix(f"{PACKAGE}.") in known else base for name in deeper]
    for name in dict.fromkeys(names):
        if name == PACKAGE:
            yield "__init__"
        elif name.startswith(f"{PACKAGE}."):
            yield name.removeprefix(f"{PACKAGE}.")


def layer(module: str) -> int:
    return _LAYER_OF[module.partition(".")[0]]


def upward(found: list[Edge]) -> list[Edge]:
    """Return the imports that point to a higher layer, or from one feature to another."""
    return [edge for edge in found if _is_upward(edge.importer, edge.imported)]


def _is_upward(importer: str, imported: str) -> bool:
    here, there = layer(importer), layer(imported)
    if here == there == _FEATURES:
        return importer.partition(".")[0] != imported.partition(".")[0]
    return there > here


def cycles(found: list[Edge]) -> list[list[str]]:
    """Return the groups of modules that import each other when they are loaded."""
    graph: dict[str, set[str]] = {}
    for edge in found:
        if edge.when == "top" and edge.importer != edge.imported:
            graph.setdefault(edge.importer, set()).add(edge.imported)
    groups: list[list[str]] = []
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph.get(name, ())):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group: list[str] = []
            while not group or group[-1] != name:
                group.append(stack.pop())
            if len(group) > 1:
                groups.append(sorted(group))

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return groups


def main(sources: Path = SOURCES) -> None:
    known, found = modules(sources), edges(sources)
    lines = {name: len(path.read_text("utf-8").splitlines()) for name, path in known.items()}
    rooms = Counter(name.partition(".")[0] for name in known)
    sizes: Counter[str] = Counter()
    for name, count in lines.items():
        sizes[name.partition(".")[0]] += count
    print(f"{len(known)} modules, {sum(lines.values())} lines, {len(found)} imports")
    print(f"{sum(edge.when == 'function' for edge in found)} imports inside functions")
    print(f"{len(upward(found))} imports upwards, {len(cycles(found))} groups of modules that import each other")
    for room, count in rooms.most_common():
        if count > 1:
            print(f"  {room:14} {count:3} modules {sizes[room]:6} lines")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
