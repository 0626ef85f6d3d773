"""Measure the new code of a cycle: its statements, and those that did not run according to coverage.py."""

from __future__ import annotations

from typing import Any

from phase_gate.codec import to_json
from phase_gate.evidence.context import EvidenceContext, Provider, RunCoverage, UnmeasuredError
from phase_gate.evidence.quality import read_files, take_sources
from phase_gate.gate.measured import Finding, Measured
from phase_gate.source.functions import Statement, find_new
from phase_gate.storage.snapshots import FileSnapshot, SnapshotError, read_snapshot, take_snapshot
from phase_gate.visible import count, name_first

#: The number of lines that a note names.
_NAMED = 3


class NewCodeProvider(Provider):
    def remember(self, context: EvidenceContext) -> Any:
        return to_json(take_snapshot(context.root, take_sources(context)))

    def measure(self, context: EvidenceContext) -> Measured:
        document = context.recall("new_code")
        if document is None:
            return _unknown("nothing was kept when the cycle began")
        if context.coverage is None:
            return _unknown("no test ran")
        try:
            return _measure(_find_new(context, FileSnapshot(**document)), context.coverage)
        except (SnapshotError, UnmeasuredError) as error:
            return _unknown(str(error))


PROVIDER = NewCodeProvider()


def _unknown(why: str) -> Measured:
    return Measured(warnings=(f"new code is unknown: {why}",))


def _find_new(context: EvidenceContext, then: FileSnapshot) -> dict[str, tuple[Statement, ...]]:
    """Return file -> new statements. Raises SnapshotError if the earlier files can't be read."""
    sources = take_sources(context)
    changed = [path for path, content in sources.items() if then.files.get(path) != content]
    gone = sorted(then.files.keys() - sources.keys() - then.left_out.keys())
    before = read_snapshot(then, context.root, [path for path in (*changed, *gone) if path in then.files])
    return find_new(_texts(before), _texts(read_files(context, changed)))


def _texts(files: dict[str, bytes]) -> dict[str, str]:
    return {path: data.decode("utf-8", "replace") for path, data in files.items()}


def _measure(new: dict[str, tuple[Statement, ...]], coverage: RunCoverage) -> Measured:
    """Compare new statements with the lines that ran. Raises UnmeasuredError if these are unknown."""
    total = excluded = 0
    untested: list[tuple[str, Statement]] = []
    for path, statements in new.items():
        lines = coverage.lines(path)
        for statement in statements:
            own = set(range(statement.line, statement.end + 1))
            # Count what coverage.py considers a statement. A docstring is not one.
            total += bool(own & lines.statements)
            excluded += not own & lines.statements and bool(own & lines.excluded)
            if own & lines.statements and own & lines.statements <= lines.missing:
                untested.append((path, statement))
    notes = []
    if untested:
        places = name_first([f"{path}:{statement.line}" for path, statement in untested], _NAMED)
        notes.append(f"no test reaches {count(len(untested), 'new line')}: {places}")
    if excluded:
        notes.append(f"coverage.py is configured to exclude {count(excluded, 'new line')}")
    return Measured(
        metrics={"new_lines": total, "new_lines_untested": len(untested)},
        findings=tuple(
            Finding(
                slug="new-code-tested",
                tier="hard",
                file=path,
                line=statement.line,
                detail=f"new, and no test reaches it: {statement.text}",
            )
            for path, statement in untested
        ),
        notes=tuple(notes),
    )
