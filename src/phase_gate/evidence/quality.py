"""Measure whether the code has become easier to read since the phase began, and what could still be improved.

Ruff measures it, by its rules about complexity and length and the rules that the project has selected. All code
counts, and `noqa` comments have no effect, so renaming and silencing do not change the result. Quality is the negated
number of findings: 0 is best, and a higher value is better. May read files and start ruff.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phase_gate.codec import from_json, to_json
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import QUALITY_METRICS, Finding, Measured, Table
from phase_gate.source.pytest_settings import is_test_side
from phase_gate.storage.fingerprint import compile_globs
from phase_gate.values import Value
from phase_gate.visible import count
from phase_gate.workflow.metrics import MetricValue

#: Complexity, and too many returns, branches, arguments or statements in a function. Checked in every project.
READING_RULES = "C901,PLR0911,PLR0912,PLR0913,PLR0915"
#: Additional rules for projects without ruff settings: the defaults of every version of ruff.
_USUAL_RULES = "E4,E7,E9,F"
#: Files with ruff's settings. The last one also contains settings of other tools.
_SETTINGS = ("ruff.toml", ".ruff.toml", "pyproject.toml")
#: Seconds. A thousand files take about one.
_TIMEOUT = 120.0
#: The number of files that the table names.
_SHOWN = 8


class QualityProvider(Provider):
    def measure(self, context: EvidenceContext) -> Measured:
        why = _find_obstacle(context)
        if not why:
            return _compare(context)
        # Only if the rules require a metric by name: other projects get no warning.
        names = context.wanted & QUALITY_METRICS
        return Measured(warnings=(f"{_are(names)} unknown: {why}",) if names else ())

    def remember(self, context: EvidenceContext) -> Any:
        if _find_obstacle(context):
            return None
        look = _look(context)
        counts = {path: len(found) for path, found in look.found.items()}
        return to_json(_Before(contents=look.contents, counts=counts, rules=look.rules))


class SourcesProvider(Provider):
    """Remembers the sources at the start of a cycle."""

    def remember(self, context: EvidenceContext) -> Any:
        return None if _find_obstacle(context) else take_sources(context)


PROVIDER, SOURCES = QualityProvider(), SourcesProvider()


class _Look(Value):
    """The code at one time."""

    #: File -> content id; -> findings.
    contents: Mapping[str, str]
    found: Mapping[str, tuple[Finding, ...]]
    #: A digest of ruff's version, its settings and ours.
    rules: str


class _Before(Value):
    """The code when the phase began."""

    contents: Mapping[str, str]
    counts: Mapping[str, int]
    rules: str


def _find_obstacle(context: EvidenceContext) -> str:
    """Return why nothing can be measured. Empty if it can."""
    if not context.configuration.evidence.quality.enabled:
        return "evidence.quality.enabled is false"
    # Not imported, which would take longer.
    has_ruff = importlib.util.find_spec("ruff") is not None
    return "" if has_ruff else "ruff is not installed; pip install 'pytest-phase-gate[quality]'"


# --- the project's own code


def take_sources(context: EvidenceContext) -> dict[str, str]:
    """Return path -> content id of the Python files that are neither tests nor documents, by the configuration."""
    settings, tests = context.configuration.evidence.quality, context.known_tests()
    included, excluded = compile_globs(settings.include), compile_globs(settings.exclude)
    is_document = compile_globs(context.configuration.docs)

    def is_source(path: str) -> bool:
        if not path.endswith(".py") or path in tests or is_test_side(path):
            return False
        return (not settings.include or included(path)) and not excluded(path) and not is_document(path)

    files = context.files()
    return {path: files[path] for path in context.list_files(is_source) if path in files}


def read_files(context: EvidenceContext, paths: list[str]) -> dict[str, bytes]:
    """Return path -> content, without files that can't be read, for example because they were deleted."""
    found: dict[str, bytes] = {}
    for path in paths:
        try:
            found[path] = (context.root / path).read_bytes()
        except OSError:
            continue
    return found


# --- comparing


def _compare(context: EvidenceContext) -> Measured:
    memory = context.recall("quality")
    before = None if memory is None else from_json(_Before, memory)
    look = _look(context)
    if before is not None and before.rules != look.rules:
        changed = "ruff, its settings or those of evidence.quality changed since the phase began"
        remedy = f"set that back, or take it as it is: {_begin_anew(context)}"
        return Measured(warnings=(f"quality is unknown: {changed}; {remedy}",))
    scope = _scope(context.recall("sources"), before, look)
    worst_first = sorted(scope, key=lambda path: (-len(look.found[path]), path))
    places = [finding for path in worst_first for finding in look.found[path]]
    now = {path: len(found) for path, found in look.found.items()}
    then = now if before is None else before.counts
    metrics: dict[str, MetricValue] = {
        "quality_after": -sum(now.values()),
        "improvements_found": len(places),
        "no_more_improvements_identified": not places,
    }
    if before is not None:
        difference = sum(then.values()) - sum(now.values())
        metrics |= {"quality_before": -sum(then.values()), "quality_delta": difference}
    return Measured(
        metrics=metrics,
        findings=(*_find_worse(sum(then.values()), sum(now.values())), *places),
        tables=_make_table(then, now, scope, is_compared=before is not None),
        warnings=tuple(_warn_unknown_before(context)) if before is None else (),
    )


def _scope(cycle: Mapping[str, str] | None, before: _Before | None, look: _Look) -> set[str]:
    """Return the files that this cycle has changed. If it had changed none when the phase began, return all files.

    This is decided when the phase begins: changing another file does not make the scope smaller.
    """
    present = set(look.contents)
    if cycle is None:
        return present
    by_then = look.contents if before is None else before.contents
    changed = {path for path, content in by_then.items() if cycle.get(path) != content}
    if not changed:
        return present
    return present & (changed | {path for path, content in look.contents.items() if cycle.get(path) != content})


# --- messages and tables


def _find_worse(before: int, now: int) -> Iterator[Finding]:
    if now > before:
        detail = f"ruff has {count(now, 'finding')}, and had {before} when the phase began"
        yield Finding(slug="quality-worse", tier="advisory", detail=detail)


def _make_table(
    then: Mapping[str, int], now: Mapping[str, int], scope: set[str], *, is_compared: bool
) -> tuple[Table, ...]:
    """Return a table with the files of the scope and all changed files, the worst first, and the total."""
    every = {*then, *now}
    shown = {path for path in every if path in scope or then.get(path, 0) != now.get(path, 0)}
    ordered = sorted(shown, key=lambda path: (-max(then.get(path, 0), now.get(path, 0)), path))
    if not ordered:
        return ()
    rows = [(path, _cell(then.get(path, 0), now.get(path, 0))) for path in ordered[:_SHOWN]]
    if len(ordered) > _SHOWN:
        rows.append((f"and {len(ordered) - _SHOWN} more", ""))
    if len(every) > 1:
        rows.append((f"all {count(len(now), 'file')}", _cell(sum(then.values()), sum(now.values()))))
    title = "Quality, before -> now: fewer is better" if is_compared else "Quality: fewer is better"
    return (Table(title=title, columns=("file", "findings"), rows=tuple(rows)),)


def _cell(before: int, now: int) -> str:
    return str(now) if before == now else f"{before}->{now}"


def _warn_unknown_before(context: EvidenceContext) -> Iterator[str]:
    if names := context.wanted & {"quality_before", "quality_delta"}:
        yield f"{_are(names)} unknown: nothing was measured when the phase began; {_begin_anew(context)}"


def _begin_anew(context: EvidenceContext) -> str:
    return f'phase-gate rewind {context.phase} --reason "..." starts the phase again'


def _are(names: frozenset[str]) -> str:
    return f"{', '.join(sorted(names))} {'is' if len(names) == 1 else 'are'}"


# --- ruff


def _look(context: EvidenceContext) -> _Look:
    from importlib.metadata import version

    contents, settings = take_sources(context), _read_settings(context)
    found: dict[str, tuple[Finding, ...]] = dict.fromkeys(contents, ())
    for path, row in _check(context, _rules(settings), contents):
        detail, line = f"{row['code'] or 'invalid-syntax'} {row['message']}", row["location"]["row"]
        found[path] += (Finding(slug="could-improve", tier="advisory", file=path, line=line, detail=detail),)
    rules = json.dumps([version("ruff"), to_json(context.configuration.evidence.quality), settings], sort_keys=True)
    return _Look(
        contents=contents,
        found=found,
        rules=hashlib.sha256(rules.encode()).hexdigest(),
    )


def _read_settings(context: EvidenceContext) -> dict[str, str]:
    """Return file -> ruff's settings in it."""
    names = context.list_files(lambda path: path.rpartition("/")[2] in _SETTINGS)
    return {name: text for name, data in read_files(context, names).items() if (text := _settings_of_ruff(name, data))}


def _settings_of_ruff(name: str, data: bytes) -> str:
    if not name.endswith("pyproject.toml"):
        return hashlib.sha256(data).hexdigest()
    import tomllib

    try:
        document = tomllib.loads(data.decode("utf-8"))
        # The findings also depend on the required Python version.
        section = [document["tool"]["ruff"], document.get("project", {}).get("requires-python")]
    except KeyError:
        return ""
    except (ValueError, TypeError):
        return hashlib.sha256(data).hexdigest()
    return json.dumps(section, sort_keys=True, default=str)


def _check(
    context: EvidenceContext, rules: Iterable[str], paths: Iterable[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield ruff's findings with paths relative to the root. Ruff changes no file, whatever the project's settings."""
    from ruff.__main__ import find_ruff_bin

    root = os.path.realpath(context.root)
    known = {os.path.join(root, path): path for path in paths}
    command = [find_ruff_bin(), "check", "--no-fix", "--no-cache", "--exit-zero", "--quiet", "--output-format=json"]
    done = subprocess.run(
        [*command, "--ignore-noqa", *rules, "."],
        cwd=root,
        env={name: text for name, text in os.environ.items() if not name.startswith("RUFF_")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if done.returncode != 0:
        message = " ".join(done.stderr.decode("utf-8", "replace").split())[:300] or "it printed no message"
        raise RuntimeError(f"ruff ended with {done.returncode}: {message}")
    rows = json.loads(done.stdout or b"[]")
    return ((path, row) for row in rows if (path := known.get(row["filename"])) is not None)


def _rules(settings: Mapping[str, str]) -> Iterable[str]:
    if settings:
        return (f"--extend-select={READING_RULES}",)
    return (
        "--isolated",
        f"--select={_USUAL_RULES},{READING_RULES}",
        # By default, ruff assumes an old Python version. It does not know versions after 3.14.
        f"--target-version=py3{min(sys.version_info.minor, 14)}",
        # An import in `__init__.py` is part of the package's interface.
        "--per-file-ignores=__init__.py:F401",
    )
