"""Numbers about code, from tools that others keep: complexipy and ruff, and what lines alone tell.

Neither comments nor settings of the project can make the numbers better: both tools are told to look past them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phase_gate.evidence.context import EvidenceContext
from phase_gate.evidence.quality.copies import CodeLine, code_lines
from phase_gate.evidence.quality.score import FileNumbers, Function, Lint
from phase_gate.storage.ownership import is_in_environment
from phase_gate.values import Value

#: Where ruff has its settings; in the last one others have theirs, too.
_SETTINGS = ("ruff.toml", ".ruff.toml", "pyproject.toml")
#: What is looked for in a project that has no settings for ruff: what every version of it has looked for.
_RULES = "E4,E7,E9,F"
#: Files for one call: a command line has its limits.
_AT_ONCE = 2000
#: Seconds: a thousand files take one.
_TIMEOUT = 120.0
#: What complexipy calls the code outside of functions.
_MODULE = "<module>"
_COMPLEX = re.compile(r"\((\d+) > 0\)$")
_BYTES = re.compile(r"^Failed to parse code: (.*) at byte range (\d+)\.\.\d+$", re.S)


class ToolError(Exception):
    """A tool does not do what it is asked for."""


class Tools(Value):
    """The libraries, found and of these versions."""

    complexipy: Any
    ruff: str
    versions: str


def find_tools(context: EvidenceContext) -> Tools:
    """Return the tools. Raises ImportError or FileNotFoundError if one is not there, or is the project's own."""
    from importlib.metadata import version

    import complexipy
    import ruff.__main__

    top = os.path.realpath(context.root)
    for module in (complexipy, ruff):
        path = os.path.realpath(module.__file__ or "")
        if path.startswith(top + os.sep) and not is_in_environment(path, top):
            raise ImportError(f"{os.path.relpath(path, top)} stands in the way of {module.__name__}")
    versions = f"complexipy {version('complexipy')}, ruff {version('ruff')}"
    return Tools(complexipy=complexipy, ruff=str(ruff.__main__.find_ruff_bin()), versions=versions)


class LintSettings(Value):
    """What the project tells ruff; the digest is empty where it tells nothing."""

    digest: str = ""
    files: tuple[str, ...] = ()


def find_lint_settings(context: EvidenceContext) -> LintSettings:
    """Return what ruff is told by the project's files."""
    names = context.list_files(lambda path: path.rpartition("/")[2] in _SETTINGS)
    told = {name: text for name in names if (text := _tells_ruff(context, name))}
    if not told:
        return LintSettings()
    digest = hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=16).hexdigest()
    return LintSettings(digest=digest, files=tuple(sorted(told)))


def _tells_ruff(context: EvidenceContext, name: str) -> str:
    try:
        data = (context.root / name).read_bytes()
    except OSError:
        return ""
    if not name.endswith("pyproject.toml"):
        return hashlib.sha256(data).hexdigest()
    if b"ruff" not in data:
        return ""
    import tomllib

    try:
        document = tomllib.loads(data.decode("utf-8"))
        section = document["tool"]["ruff"]
    except KeyError:
        return ""
    except (ValueError, TypeError):
        return hashlib.sha256(data).hexdigest()
    # Which Python the project is for changes what ruff finds, too.
    return json.dumps([section, document.get("project", {}).get("requires-python")], sort_keys=True, default=str)


class Measurement(Value):
    """What was measured, by file; and what could not be read, with why."""

    files: Mapping[str, FileNumbers]
    unread: Mapping[str, str]


def measure_files(
    context: EvidenceContext, tools: Tools, told: LintSettings, files: Mapping[str, bytes]
) -> Measurement:
    """Return the numbers of these files."""
    texts: dict[str, str] = {}
    cognitive: dict[str, list[Any]] = {}
    unread: dict[str, str] = {}
    for path, data in files.items():
        try:
            texts[path] = data.decode("utf-8-sig")
            cognitive[path] = tools.complexipy.code_complexity(
                texts[path], check_script=True, no_ignore=True, with_plans=False
            ).functions
        except UnicodeDecodeError:
            unread[path] = "it is not UTF-8"
        except ValueError as error:
            unread[path] = _explain(str(error), texts[path])
    readable = sorted(cognitive)
    cyclomatic = _cyclomatic(context, tools, readable)
    lint = hidden = dict[str, list[Lint]]()
    if context.configuration.quality.lint:
        lint, hidden = _lint(context, tools, told, readable)
    numbers = {
        path: _join(
            cognitive[path],
            cyclomatic.get(path, []),
            code_lines(texts[path]),
            lint.get(path, []),
            hidden.get(path, []),
        )
        for path in readable
    }
    return Measurement(files=numbers, unread=unread)


def _explain(message: str, text: str) -> str:
    found = _BYTES.match(message)
    if found is None:
        return message
    line = text.encode("utf-8", "replace")[: int(found[2])].count(b"\n") + 1
    return f"line {line}: {found[1][:1].lower()}{found[1][1:]}"


def _join(
    cognitive: list[Any],
    cyclomatic: list[tuple[int, int]],
    lines: list[CodeLine],
    lint: list[Lint],
    hidden: list[Lint],
) -> FileNumbers:
    functions = []
    outside = 0
    numbers = [line.number for line in lines]
    cyclomatic = sorted(cyclomatic)
    for each in cognitive:
        if each.name == _MODULE:
            outside = each.complexity
            continue
        first, last = each.line_start, each.line_end
        own = lines[bisect_left(numbers, first) : bisect_right(numbers, last)]
        branches = cyclomatic[bisect_left(cyclomatic, (first, 0)) : bisect_left(cyclomatic, (last + 1, 0))]
        body = list(_body(own))
        functions.append(
            Function(
                name=each.name.replace("::", "."),
                line=next((line.number for line in own if not line.text.startswith("@")), first),
                # An outer function's number has those of inner ones in it.
                cyclomatic=max((number for _, number in branches), default=1),
                cognitive=each.complexity,
                length=len(body),
                nesting=_nesting(body),
                marks=tuple(line.mark for line in body),
                lines=tuple(line.number for line in body),
            )
        )
    return FileNumbers(functions=tuple(functions), outside=outside, lint=tuple(lint), hidden=tuple(hidden))


def _body(lines: list[CodeLine]) -> Iterator[CodeLine]:
    """Yield what follows the line that begins with `def`."""
    is_body = False
    for line in lines:
        if is_body:
            yield line
        is_body = is_body or not line.text.startswith("@")


def _nesting(body: list[CodeLine]) -> int:
    """Return how many levels of indentation there are below the function's own."""
    deepest, levels = 0, list[int]()
    for line in body:
        while levels and levels[-1] > line.indent:
            levels.pop()
        if not levels or levels[-1] < line.indent:
            levels.append(line.indent)
        deepest = max(deepest, len(levels))
    return max(0, deepest - 1)


# Ruff


def _cyclomatic(context: EvidenceContext, tools: Tools, paths: list[str]) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    options = ("--isolated", "--ignore-noqa", "--select=C901", "--config=lint.mccabe.max-complexity=0")
    for path, row in _ruff(context, tools, options, paths):
        number = _COMPLEX.search(row["message"])
        if row["code"] == "C901" and number is None:
            raise ToolError(f"ruff says {row['message']!r}, where a number was expected")
        if number is not None:
            found.setdefault(path, []).append((row["location"]["row"], int(number[1])))
    return found


def _lint(
    context: EvidenceContext, tools: Tools, told: LintSettings, paths: list[str]
) -> tuple[dict[str, list[Lint]], dict[str, list[Lint]]]:
    """Return the findings that ruff shows, and those that comments hide."""
    options = ("--force-exclude",) if told.files else ("--isolated", f"--select={_RULES}")
    shown = _findings(_ruff(context, tools, options, paths), told)
    found = _findings(_ruff(context, tools, (*options, "--ignore-noqa"), paths), told)
    hidden = {path: _less(rows, shown.get(path, [])) for path, rows in found.items()}
    return shown, {path: rows for path, rows in hidden.items() if rows}


def _less(rows: list[Lint], others: list[Lint]) -> list[Lint]:
    return list((Counter(rows) - Counter(others)).elements())


def _findings(rows: Iterable[tuple[str, Mapping[str, Any]]], told: LintSettings) -> dict[str, list[Lint]]:
    found: dict[str, list[Lint]] = {}
    for path, row in rows:
        code = row["code"] or row.get("name") or "lint"
        if code == "F401" and not told.files and path.rpartition("/")[2] == "__init__.py":
            continue  # there an import is a name that the package offers
        found.setdefault(path, []).append(Lint(row["location"]["row"], code, row["message"]))
    return found


def _ruff(
    context: EvidenceContext, tools: Tools, options: tuple[str, ...], paths: list[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what ruff finds, with the path from the root. It changes no file, whatever the project's settings say."""
    root = os.path.realpath(context.root)
    known = {os.path.join(root, path): path for path in paths}
    command = [tools.ruff, "check", "--no-fix", "--no-cache", "--exit-zero", "--quiet", "--output-format=json"]
    environment = {name: text for name, text in os.environ.items() if not name.startswith("RUFF_")}
    for start in range(0, len(paths), _AT_ONCE):
        try:
            done = subprocess.run(
                [*command, *options, "--", *paths[start : start + _AT_ONCE]],
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ToolError(f"ruff did not end within {_TIMEOUT:g} s") from None
        if done.returncode != 0:
            raise ToolError(f"ruff ended with {done.returncode}: {_last_words(done.stderr)}")
        try:
            rows = json.loads(done.stdout or b"[]")
        except ValueError:
            raise ToolError("what ruff says is no JSON") from None
        yield from ((path, row) for row in rows if (path := known.get(row["filename"])) is not None)


def _last_words(output: bytes) -> str:
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return " ".join(lines)[:300] or "it says nothing"
