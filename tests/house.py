"""The house in numbers: packages, modules, lines, imports that point upwards, imports inside functions, cycles.

`python -m tests.house` prints them beside the budgets of `tests/budgets.txt`. The layers are those of
`docs/contributing/architecture.md`; a package may import from its own layer downwards only.

A budget may go down at any time: `python -m tests.house --lower` writes what is smaller now. Raising one is an edit by
hand, with its reason in the commit's body.
"""

from __future__ import annotations

import argparse
import ast
import graphlib
import io
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "phase_gate"
ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / PACKAGE
BUDGETS = Path(__file__).parent / "budgets.txt"

#: From the bottom upwards.
LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "workflow",
        "source",
        "values",
        "bound",
        "codec",
        "visible",
        "errors",
        "exit_codes",
        "_version",
        "__init__",
    ),
    ("gate",),
    ("project", "task", "storage", "stores", "config", "hookspecs"),
    ("recording", "runs", "evidence", "report"),
    (
        "tasks",
        "claims",
        "shards",
        "proof",
        "agents",
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


def find_ring(found: list[Edge]) -> list[str]:
    """Return modules that import each other when they are loaded, in their order; none where no modules do."""
    graph: dict[str, set[str]] = {}
    for edge in found:
        if edge.when == "top" and edge.importer != edge.imported:
            graph.setdefault(edge.importer, set()).add(edge.imported)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


class Size(NamedTuple):
    """How large a package is."""

    modules: int
    lines: int
    #: Of Python, without comments and docstrings.
    tokens: int
    #: Lines of every file that is not Python.
    other: int
    #: Tokens in a line that has one: lines may not be saved by making them denser.
    density: float

    def __str__(self) -> str:
        return f"{self.modules:7} {self.lines:6} {self.tokens:7} {self.other:6} {self.density:8.2f}"


#: How much denser a package may become before it counts as squeezed.
DENSER = 1.05
_HEADING = f"{'package':14} modules  lines  tokens  other  density"
#: Tokens that are layout, not code.
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def sizes(root: Path = ROOT) -> dict[str, Size]:
    """Return the size of each package of the sources, of their top modules, and of `scripts/` and `bench/`."""
    folders = {path.name: _files(path) for path in sorted((root / "src" / PACKAGE).iterdir()) if path.is_dir()}
    folders["top"] = [path for path in sorted((root / "src" / PACKAGE).iterdir()) if path.is_file()]
    folders |= {name: _files(root / name) for name in ("scripts", "bench")}
    return {name: _measure(files) for name, files in folders.items() if files}


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def _measure(files: Iterable[Path]) -> Size:
    modules = lines = tokens = filled = other = 0
    for path in files:
        text = path.read_text("utf-8")
        if path.suffix != ".py":
            other += len(text.splitlines())
            continue
        rows = list(_code_rows(text))
        modules += 1
        lines += len(text.splitlines())
        tokens += len(rows)
        filled += len(set(rows))
    return Size(modules, lines, tokens, other, round(tokens / filled, 2) if filled else 0.0)


def _code_rows(text: str) -> Iterator[int]:
    """Yield the row of each token that is code."""
    found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    begins, depth = True, 0
    for token, after in zip(found, [*found[1:], found[-1]], strict=True):
        is_docstring = begins and token.type == tokenize.STRING and after.type == tokenize.NEWLINE
        if token.type not in _LAYOUT and not is_docstring and not depth:
            yield token.start[0]
        # Since 3.12 an f-string is many tokens; before, and so here, it is one.
        kind = tokenize.tok_name[token.type]
        depth += (kind == "FSTRING_START") - (kind == "FSTRING_END")
        begins = token.type in _LAYOUT


def read_budgets(path: Path = BUDGETS) -> dict[str, Size]:
    rows = [line.split() for line in path.read_text("utf-8").splitlines()[1:]]
    return {
        name: Size(int(modules), int(lines), int(tokens), int(other), float(density))
        for name, modules, lines, tokens, other, density in rows
    }


def over_budget(now: dict[str, Size], budgets: dict[str, Size]) -> list[str]:
    """Return what has grown past its budget, a sentence each."""
    grown = [f"{name} has no budget" for name in now if name not in budgets]
    for name, budget in budgets.items():
        size = now.get(name)
        if size is None:
            grown.append(f"{name} is gone: its budget goes, too")
            continue
        grown += [
            f"{name} has {getattr(size, field)} {what}, its budget is {getattr(budget, field)}"
            for field, what in (
                ("modules", "modules"),
                ("lines", "lines"),
                ("tokens", "tokens"),
                ("other", "lines that are not Python"),
            )
            if getattr(size, field) > getattr(budget, field)
        ]
        if size.density > budget.density * DENSER:
            grown.append(f"{name} has {size.density} tokens a line, its budget is {budget.density}: squeezed")
    return grown


def lower(now: dict[str, Size], budgets: dict[str, Size]) -> dict[str, Size]:
    """Return the budgets with every number that is smaller now; a new package gets its present size."""
    return {name: _lower(size, budgets.get(name, size)) for name, size in now.items()}


def _lower(size: Size, budget: Size) -> Size:
    return Size(
        modules=min(size.modules, budget.modules),
        lines=min(size.lines, budget.lines),
        tokens=min(size.tokens, budget.tokens),
        other=min(size.other, budget.other),
        density=budget.density,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__.partition("\n")[0])
    parser.add_argument("--lower", action="store_true", help="Write the budgets that are smaller now")
    now, budgets = sizes(), read_budgets()
    if parser.parse_args().lower:
        budgets = lower(now, budgets)
        rows = [f"{name:14} {size}" for name, size in sorted(budgets.items())]
        BUDGETS.write_text("\n".join([_HEADING, *rows, ""]), encoding="utf-8")
    found = edges()
    total = [size for name, size in now.items() if name not in ("scripts", "bench")]
    print(f"{sum(size.modules for size in total)} modules, {sum(size.lines for size in total)} lines in src")
    print(f"{len(found)} imports, {sum(edge.when == 'function' for edge in found)} of them inside functions")
    print(f"{len(upward(found))} imports upwards, modules in a ring: {' -> '.join(find_ring(found)) or 'none'}")
    print(_HEADING)
    for name, size in sorted(now.items(), key=lambda item: -item[1].lines):
        print(f"{name:14} {size}")
    for sentence in over_budget(now, budgets):
        print(f"over budget: {sentence}")


if __name__ == "__main__":
    main()
