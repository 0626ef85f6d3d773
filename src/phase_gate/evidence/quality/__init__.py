"""Is the code easier to read than when the phase began, and what could still be better?

All code is measured when the phase begins and again at each run; files whose content is known are not measured anew.
May read files and start the tools. Begin with `tools`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phase_gate.codec import from_json, to_json
from phase_gate.errors import PhaseGateError
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.evidence.quality.score import (
    Copy,
    FileNumbers,
    FileScore,
    Place,
    add_scores,
    count_hidden,
    describe_worse,
    find_copies,
    find_places,
    quality_table,
    score_file,
    unhide,
)
from phase_gate.evidence.sources import content_id, list_aside, list_sources, missing_libraries, read_files
from phase_gate.gate.findings import Finding
from phase_gate.gate.measured import QUALITY_METRICS, Measured
from phase_gate.storage.files import REAL, exists, make_folder, read_bytes, write_atomically
from phase_gate.values import Value
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.settings import QualitySettings

if TYPE_CHECKING:
    from phase_gate.evidence.quality.tools import LintSettings, Tools

#: Files that a warning names.
_NAMED = 3
_INSTALL = "pip install 'pytest-phase-gate[quality]'"


class QualityProvider(Provider):
    def measure(self, context: EvidenceContext) -> Measured:
        tools = _find_tools(context)
        return _unknown(context, tools) if isinstance(tools, str) else _compare(context, tools)

    def remember(self, context: EvidenceContext) -> Any:
        tools = _find_tools(context)
        return None if isinstance(tools, str) else to_json(_remember(context, tools))


PROVIDER = QualityProvider()


class _Look(Value):
    """The code at one moment."""

    #: What is in each file, as a hash; the numbers of those that could be read; and why the others could not.
    contents: Mapping[str, str]
    files: Mapping[str, FileNumbers]
    unread: Mapping[str, str]


class _Before(Value):
    """The code as it was when the phase began, and by what it was measured."""

    contents: Mapping[str, str]
    scores: Mapping[str, FileScore]
    hidden: Mapping[str, Mapping[str, int]]
    aside: frozenset[str]
    unread: frozenset[str]
    versions: str
    rule: str
    lint: str


def _find_tools(context: EvidenceContext) -> Tools | str:
    """Return the tools, or why there are none."""
    if not context.configuration.quality.enabled:
        return "evidence.quality.enabled is false in phase-gate.yaml"
    missing = missing_libraries()
    if missing:
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed; {_INSTALL}"
    from phase_gate.evidence.quality.tools import find_tools

    try:
        return find_tools(context)
    except (ImportError, FileNotFoundError) as error:
        return f"{error}; {_INSTALL}"


def _unknown(context: EvidenceContext, why: str) -> Measured:
    """Say why nothing is known to those whose rules ask for it by name. The others need not know that it exists."""
    names = context.wanted & QUALITY_METRICS
    return Measured(warnings=(f"{_are(names)} unknown: {why}",) if names else ())


def _begin_anew(context: EvidenceContext) -> str:
    return f'phase-gate rewind {context.phase} --reason "..." begins the phase anew'


def _are(names: frozenset[str]) -> str:
    return f"{', '.join(sorted(names))} {'is' if len(names) == 1 else 'are'}"


# Looking


def _look(context: EvidenceContext, tools: Tools, told: LintSettings, aside: frozenset[str] | None = None) -> _Look:
    from phase_gate.evidence.quality.tools import measure_files

    sources = read_files(context, list_sources(context, aside=aside))
    contents = {path: content_id(data) for path, data in sources.items()}
    key = f"{tools.versions}; lint {context.configuration.quality.lint} {told.digest}"
    cache = QualityCache(context.state_folder / "cache" / "quality.json", key)
    known = cache.load(contents)
    fresh = measure_files(context, tools, told, {path: data for path, data in sources.items() if path not in known})
    files = {**known, **fresh.files}
    cache.save(contents, files)
    return _Look(contents=contents, files=files, unread=fresh.unread)


def _scores(
    files: Mapping[str, FileNumbers], copies: Mapping[str, list[Copy]], limits: QualitySettings
) -> dict[str, FileScore]:
    return {path: score_file(file, copies.get(path, ()), limits) for path, file in files.items()}


def _remember(context: EvidenceContext, tools: Tools) -> _Before:
    from phase_gate.evidence.quality.tools import find_lint_settings

    limits = context.configuration.quality
    told = find_lint_settings(context)
    look = _look(context, tools, told)
    scores = _scores(look.files, find_copies(look.files, limits.duplicate_lines), limits)
    return _Before(
        contents={path: look.contents[path] for path in scores},
        scores=scores,
        hidden=count_hidden(look.files),
        aside=frozenset(list_aside(context)),
        unread=frozenset(look.unread),
        versions=tools.versions,
        rule=limits.rule,
        lint=told.digest,
    )


def _recall(context: EvidenceContext) -> _Before | None:
    memory = context.recall("quality")
    return None if memory is None else from_json(_Before, memory)


# Comparing


def _compare(context: EvidenceContext, tools: Tools) -> Measured:
    from phase_gate.evidence.quality.tools import ToolError, find_lint_settings

    before = _recall(context)
    told = find_lint_settings(context)
    changed = "" if before is None else _changed_rules(context, before, told)
    if changed:
        return Measured(
            warnings=(
                f"quality is unknown: {changed} changed since the phase began; set them back, or take them as they "
                f"are: {_begin_anew(context)}",
            )
        )
    try:
        look = _look(context, tools, told, None if before is None else before.aside)
    except ToolError as error:
        return Measured(warnings=(f"quality is unknown: {error}",))
    files = look.files if before is None else unhide(look.files, before.hidden)
    limits = context.configuration.quality
    copies = find_copies(files, limits.duplicate_lines)
    scores = _scores(files, copies, limits)
    scope = _scope(context.recall("sources"), before, look)
    worst_first = sorted(scope & files.keys(), key=lambda path: (-scores[path].points, path))
    places = find_places(files, copies, worst_first, limits)
    compared = before if before is not None and before.versions == tools.versions else None
    now = add_scores(_readable_both_times(scores, look, compared))
    then = now if compared is None else add_scores(_readable_both_times(compared.scores, look, compared))
    metrics: dict[str, MetricValue] = {"quality_after": -now.points, "improvements_found": len(places)}
    if compared is not None:
        metrics |= {"quality_before": -then.points, "quality_delta": then.points - now.points}
    # Nothing was found, but not everything could be looked at: then it is unknown.
    if places or not scope & look.unread.keys():
        metrics["no_more_improvements_identified"] = not places
    return Measured(
        metrics=metrics,
        findings=_findings(describe_worse(then, now), places),
        tables=quality_table(
            None if compared is None else compared.scores,
            scores,
            scope | _changed_files(compared, look, scores),
            totals=(then, now),
        ),
        warnings=(*_warn_unread(look, scope), *_warn_unknown_before(context, before, compared, tools)),
    )


def _changed_rules(context: EvidenceContext, before: _Before, told: LintSettings) -> str:
    """Name the rules that are not those of the phase's beginning: what they find can't be compared."""
    if before.rule != context.configuration.quality.rule:
        return "the limits under evidence.quality"
    if before.lint != told.digest:
        return f"ruff's settings{f' in {told.files[0]}' if told.files else ''}"
    return ""


def _readable_both_times(scores: Mapping[str, FileScore], look: _Look, before: _Before | None) -> list[FileScore]:
    """Return the scores without files that could not be read, now or before: breaking one makes nothing better."""
    left_out = {*look.unread, *(() if before is None else before.unread)}
    return [score for path, score in scores.items() if path not in left_out]


def _scope(cycle: Mapping[str, str] | None, before: _Before | None, look: _Look) -> set[str]:
    """Return the files that this cycle has changed; all of them if it had changed none when the phase began.

    What it had changed by then is settled: touching another file makes the scope no smaller.
    """
    present = set(look.contents)
    if cycle is None:
        return present
    by_then = look.contents if before is None else before.contents
    changed = {path for path, content in by_then.items() if cycle.get(path) != content}
    if not changed:
        return present
    return present & (changed | {path for path, content in look.contents.items() if cycle.get(path) != content})


def _changed_files(before: _Before | None, look: _Look, scores: Mapping[str, FileScore]) -> set[str]:
    """Return the files that are not what they were, and those that another one's change made better or worse."""
    if before is None:
        return set()
    return {
        path
        for path in {*before.contents, *look.contents}
        if before.contents.get(path) != look.contents.get(path) or before.scores.get(path) != scores.get(path)
    }


def _findings(worse: str, places: list[Place]) -> tuple[Finding, ...]:
    findings = [
        Finding(slug="could-improve", tier="advisory", file=place.file, line=place.line, detail=place.detail)
        for place in places
    ]
    if worse:
        findings.insert(0, Finding(slug="quality-worse", tier="advisory", detail=worse))
    return tuple(findings)


def _warn_unread(look: _Look, scope: set[str]) -> tuple[str, ...]:
    unread = sorted(look.unread.keys() & scope)
    if not unread:
        return ()
    shown = "; ".join(f"{path} ({look.unread[path]})" for path in unread[:_NAMED])
    more = f" and {len(unread) - _NAMED} more" if len(unread) > _NAMED else ""
    return (f"quality is unknown for {shown}{more}",)


def _warn_unknown_before(
    context: EvidenceContext, before: _Before | None, compared: _Before | None, tools: Tools
) -> tuple[str, ...]:
    names = context.wanted & {"quality_before", "quality_delta"}
    if compared is not None or not names:
        return ()
    why = "nothing was measured when the phase began"
    if before is not None:
        why = f"it was measured with {before.versions} when the phase began, and is with {tools.versions} now"
    return (f"{_are(names)} unknown: {why}; {_begin_anew(context)}",)


# What was measured of each file, so that only files with another content are measured again


#: Of the cache's own form.
_SCHEMA = 2


class QualityCache:
    """May be lost or damaged at any time: then everything is measured anew. Holds the present files and no others.

    :param key: what else the numbers depend on, such as the versions of tools.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key
        self._rows: dict[str, Any] = {}

    def load(self, contents: Mapping[str, str]) -> dict[str, FileNumbers]:
        """Return what is known of files with these contents."""
        try:
            document = json.loads(read_bytes(self._path) or b"")
            if document["schema"] == _SCHEMA and document["key"] == self._key:
                self._rows = dict(document["files"])
            return {
                path: from_json(FileNumbers, self._rows[path][1])
                for path, content in contents.items()
                if path in self._rows and self._rows[path][0] == content
            }
        except (PhaseGateError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            self._rows = {}
            return {}

    def save(self, contents: Mapping[str, str], files: Mapping[str, FileNumbers]) -> None:
        """Keep these files, and forget all others. Only speed is lost if it fails."""
        rows = {path: self._row(path, contents[path], file) for path, file in files.items()}
        if rows == self._rows or not exists(self._path.parent.parent):
            return
        document = {"schema": _SCHEMA, "key": self._key, "files": rows}
        try:
            make_folder(REAL, self._path.parent)
            data = json.dumps(document, separators=(",", ":")).encode("ascii")
            write_atomically(REAL, self._path, data, durable=False)
        except PhaseGateError:
            return

    def _row(self, path: str, content: str, file: FileNumbers) -> Any:
        row = self._rows.get(path)
        return row if row is not None and row[0] == content else [content, to_json(file)]
