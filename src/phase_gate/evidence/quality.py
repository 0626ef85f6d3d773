"""Measure whether the code has become easier to read since the phase began, and what could still be improved.

Ruff measures it, by its rules about complexity and length and the rules that the project has selected. All code
counts, and `noqa` comments have no effect, so renaming and silencing do not change the result. Quality is the negated
number of findings: 0 is best, and a higher value is better. May read files and start ruff.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phase_gate.codec import from_json, to_json
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.evidence.sources import content_id, has_ruff, list_sources, read_files
from phase_gate.gate.measured import QUALITY_METRICS, Finding, Measured, Table
from phase_gate.values import Value
from phase_gate.visible import count, name_first
from phase_gate.workflow.metrics import MetricValue

#: Complexity, and too many returns, branches, arguments or statements in a function. Checked in every project.
READING_RULES = "C901,PLR0911,PLR0912,PLR0913,PLR0915"
#: Additional rules for projects without ruff settings: the defaults of every version of ruff.
_USUAL_RULES = "E4,E7,E9,F"
#: Files with ruff's settings. The last one also contains settings of other tools.
_SETTINGS = ("ruff.toml", ".ruff.toml", "pyproject.toml")
#: Ruff's codes for a file that it can't read. Older versions have no code for invalid syntax.
_UNREADABLE = ("invalid-syntax", None, "E902")
#: Files per call, because the length of a command line is limited.
_AT_ONCE = 2000
#: Seconds. A thousand files take about one.
_TIMEOUT = 120.0
#: The number of files that a warning names, and that the table names.
_WARNED, _SHOWN = 3, 8
_INSTALL = "pip install 'pytest-phase-gate[quality]'"


class QualityProvider(Provider):
    def measure(self, context: EvidenceContext) -> Measured:
        ruff = _find_ruff(context)
        return _unknown(context, ruff) if isinstance(ruff, str) else _compare(context, ruff)

    def remember(self, context: EvidenceContext) -> Any:
        ruff = _find_ruff(context)
        return None if isinstance(ruff, str) else to_json(_remember(context, ruff))


PROVIDER = QualityProvider()


class _Ruff(Value):
    program: str
    version: str


class _Look(Value):
    """The code at one time."""

    #: File -> hash of its content; -> findings, if ruff can read it; -> the reason, if it can't.
    contents: Mapping[str, str]
    found: Mapping[str, tuple[Finding, ...]]
    unread: Mapping[str, str]


class _Before(Value):
    """The code when the phase began, and the version and settings that it was measured with."""

    contents: Mapping[str, str]
    counts: Mapping[str, int]
    unread: frozenset[str]
    version: str
    rule: str
    told: str


# --- comparing


def _remember(context: EvidenceContext, ruff: _Ruff) -> _Before:
    told = _read_settings(context)
    look = _look(context, ruff, told)
    return _Before(
        contents={path: look.contents[path] for path in look.found},
        counts={path: len(found) for path, found in look.found.items()},
        unread=frozenset(look.unread),
        version=ruff.version,
        rule=context.configuration.quality.rule,
        told=_digest(told),
    )


def _compare(context: EvidenceContext, ruff: _Ruff) -> Measured:
    memory = context.recall("quality")
    before = None if memory is None else from_json(_Before, memory)
    told = _read_settings(context)
    changed = "" if before is None else _changed_rules(context, before, ruff, told)
    if changed:
        remedy = f"set that back, or take it as it is: {_begin_anew(context)}"
        return Measured(warnings=(f"quality is unknown: {changed} changed since the phase began; {remedy}",))
    look = _look(context, ruff, told)
    scope = _scope(context.recall("sources"), before, look)
    worst_first = sorted(scope & look.found.keys(), key=lambda path: (-len(look.found[path]), path))
    places = [finding for path in worst_first for finding in look.found[path]]
    # A file that can't be read, now or before, is in neither sum, so that breaking a file is no improvement.
    left_out = {*look.unread, *(() if before is None else before.unread)}
    now = {path: len(found) for path, found in look.found.items() if path not in left_out}
    metrics: dict[str, MetricValue] = {"quality_after": -sum(now.values()), "improvements_found": len(places)}
    then = now
    if before is not None:
        then = {path: number for path, number in before.counts.items() if path not in left_out}
        difference = sum(then.values()) - sum(now.values())
        metrics |= {"quality_before": -sum(then.values()), "quality_delta": difference}
    # Without findings, the result is unknown if a file could not be read.
    if places or not scope & look.unread.keys():
        metrics["no_more_improvements_identified"] = not places
    return Measured(
        metrics=metrics,
        findings=(*_find_worse(sum(then.values()), sum(now.values())), *places),
        tables=_make_table(then, now, scope, is_compared=before is not None),
        warnings=(*_warn_unread(look, scope), *(_warn_unknown_before(context) if before is None else ())),
    )


def _changed_rules(context: EvidenceContext, before: _Before, ruff: _Ruff, told: Mapping[str, str]) -> str:
    """Name the rules that have changed since the phase began, so that findings can't be compared. Empty if none."""
    if before.version != ruff.version:
        return f"ruff itself, {before.version} to {ruff.version},"
    if before.rule != context.configuration.quality.rule:
        return "the settings under evidence.quality"
    if before.told != _digest(told):
        return f"ruff's settings{f' in {min(told)}' if told else ''}"
    return ""


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


def _unknown(context: EvidenceContext, why: str) -> Measured:
    """Return a warning with the reason if the rules require a metric by name. Other projects get no warning."""
    names = context.wanted & QUALITY_METRICS
    return Measured(warnings=(f"{_are(names)} unknown: {why}",) if names else ())


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


def _warn_unread(look: _Look, scope: set[str]) -> Iterator[str]:
    unread = [f"{path} ({look.unread[path]})" for path in sorted(look.unread.keys() & scope)]
    if unread:
        yield f"quality is unknown for {name_first(unread, _WARNED)}"


def _warn_unknown_before(context: EvidenceContext) -> Iterator[str]:
    if names := context.wanted & {"quality_before", "quality_delta"}:
        yield f"{_are(names)} unknown: nothing was measured when the phase began; {_begin_anew(context)}"


def _begin_anew(context: EvidenceContext) -> str:
    return f'phase-gate rewind {context.phase} --reason "..." starts the phase again'


def _are(names: frozenset[str]) -> str:
    return f"{', '.join(sorted(names))} {'is' if len(names) == 1 else 'are'}"


# --- ruff


def _find_ruff(context: EvidenceContext) -> _Ruff | str:
    """Return ruff, or the reason why it is not available."""
    if not context.configuration.quality.enabled:
        return "evidence.quality.enabled is false"
    if not has_ruff():
        return f"ruff is not installed; {_INSTALL}"
    from importlib.metadata import PackageNotFoundError, version

    try:
        import ruff.__main__

        return _Ruff(program=str(ruff.__main__.find_ruff_bin()), version=version("ruff"))
    except (ImportError, FileNotFoundError, PackageNotFoundError) as error:
        return f"{error}; {_INSTALL}"


def _read_settings(context: EvidenceContext) -> dict[str, str]:
    """Return file -> ruff's settings in it."""
    names = context.list_files(lambda path: path.rpartition("/")[2] in _SETTINGS)
    return {name: text for name, data in read_files(context, names).items() if (text := _tells_ruff(name, data))}


def _digest(told: Mapping[str, str]) -> str:
    return content_id(json.dumps(told, sort_keys=True).encode())


def _tells_ruff(name: str, data: bytes) -> str:
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
    # The findings also depend on the required Python version.
    return json.dumps([section, document.get("project", {}).get("requires-python")], sort_keys=True, default=str)


def _look(context: EvidenceContext, ruff: _Ruff, told: Mapping[str, str]) -> _Look:
    sources = read_files(context, list_sources(context))
    found: dict[str, tuple[Finding, ...]] = dict.fromkeys(sources, ())
    unread: dict[str, str] = {}
    for path, row in _check(context, ruff, _rules(told), sorted(sources)):
        line, message = row["location"]["row"], row["message"]
        if row["code"] in _UNREADABLE:
            unread.setdefault(path, f"line {line}: {message[:1].lower()}{message[1:]}")
            continue
        detail = f"{row['code']} {message}"
        found[path] += (Finding(slug="could-improve", tier="advisory", file=path, line=line, detail=detail),)
    return _Look(
        contents={path: content_id(data) for path, data in sources.items()},
        found={path: findings for path, findings in found.items() if path not in unread},
        unread=unread,
    )


def _check(
    context: EvidenceContext, ruff: _Ruff, rules: Iterable[str], paths: list[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield ruff's findings with paths relative to the root. Ruff changes no file, whatever the project's settings."""
    root = os.path.realpath(context.root)
    known = {os.path.join(root, path): path for path in paths}
    command = [ruff.program, "check", "--no-fix", "--no-cache", "--exit-zero", "--quiet", "--output-format=json"]
    command += ["--ignore-noqa", *rules, "--"]
    environment = {name: text for name, text in os.environ.items() if not name.startswith("RUFF_")}
    for start in range(0, len(paths), _AT_ONCE):
        done = subprocess.run(
            [*command, *paths[start : start + _AT_ONCE]],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
        if done.returncode != 0:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())[:300] or "it printed no message"
            raise RuntimeError(f"ruff ended with {done.returncode}: {said}")
        rows = json.loads(done.stdout or b"[]")
        yield from ((path, row) for row in rows if (path := known.get(row["filename"])) is not None)


def _rules(told: Mapping[str, str]) -> Iterable[str]:
    if told:
        return ("--force-exclude", f"--extend-select={READING_RULES}")
    return (
        "--isolated",
        f"--select={_USUAL_RULES},{READING_RULES}",
        # By default, ruff assumes an old Python version. It does not know versions after 3.14.
        f"--target-version=py3{min(sys.version_info.minor, 14)}",
        # An import in `__init__.py` is part of the package's interface.
        "--per-file-ignores=__init__.py:F401",
    )
