"""Take two releases of a project for a step: the newer one's tests on the older one's sources is RED.

Nothing is marked by hand. A test that passes there, or that the older release has too, is no test of this step; each is
marked as one that passes already, as a developer would have to.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
from collections.abc import Collection, Iterable
from pathlib import Path, PurePath

#: Where pytest finds its settings: a step that changes them changes them with its tests.
FILES = ("pytest.toml", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_FOLDERS = frozenset({"test", "tests", "testing"})
#: What builds, tools and git leave in a folder of sources.
_MADE = (".git", "*.egg-info", "*.so", "build", ".phase-gate", ".pytest_cache", "__pycache__")
_IDENTITY = ("-c", "user.name=dev", "-c", "user.email=dev@example.org", "-c", "commit.gpgsign=false")
_MARK = '@__import__("pytest").mark.passes_already("it passes with the older release, too")\n'


def is_of_tests(path: PurePath) -> bool:
    """Tell whether a file of a release belongs to its tests, as the settings of pytest do."""
    named = path.name in ("conftest.py", *FILES) or path.name.startswith("test_") or path.name.endswith("_test.py")
    return named or bool(_FOLDERS & set(path.parts[:-1]))


def put(source: Path, target: Path, *, tests: bool | None = None) -> None:
    """Make the target's files those of a release: all of them, only those of its tests, or only the others."""
    kept = {path.relative_to(target) for path in _files(target)}
    new = {path.relative_to(source) for path in _files(source)}
    if tests is not None:
        kept = {path for path in kept if is_of_tests(path) is tests}
        new = {path for path in new if is_of_tests(path) is tests}
    for path in kept - new:
        (target / path).unlink()
    for path in new:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, target / path)


def _files(folder: Path) -> Iterable[Path]:
    ignored = shutil.ignore_patterns(*_MADE)
    for name, folders, files in os.walk(folder):
        left = ignored(name, [*folders, *files])
        folders[:] = [each for each in folders if each not in left]
        yield from (Path(name, each) for each in files if each not in left)


def commit(folder: Path, message: str) -> None:
    """Commit everything that lies there; make the folder a repository if it is none."""
    if not (folder / ".git").exists():
        _git(folder, "init", "-q", "-b", "main")
        (folder / ".git" / "info" / "exclude").write_text("\n".join(_MADE[1:]) + "\nverdict.json\n", encoding="utf-8")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "--allow-empty", "-m", message)


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *_IDENTITY, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def mark(folder: Path, tests: Collection[str]) -> None:
    """Mark these test functions, by id without parameters, as passing already."""
    files: dict[str, set[str]] = {}
    for test_id in tests:
        path, _, name = test_id.partition("::")
        files.setdefault(path, set()).add(name)
    for path, names in files.items():
        text = (folder / path).read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        for line in sorted(_first_lines(ast.parse(text), names), reverse=True):
            indent = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]
            lines.insert(line - 1, indent + _MARK)
        (folder / path).write_text("".join(lines), encoding="utf-8")


def _first_lines(tree: ast.AST, names: Collection[str], prefix: str = "") -> Iterable[int]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _first_lines(node, names, f"{prefix}{node.name}::")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and prefix + node.name in names:
            yield min([node.lineno, *(each.lineno for each in node.decorator_list)])
