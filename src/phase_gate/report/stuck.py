"""Reports for a person where the work is stuck, as text and as Markdown: one form for the breaker and for pipelines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from phase_gate.gate.stuck import StuckReport, Tried
from phase_gate.visible import count, show_rows

#: Runs that are listed; the last ones tell most.
_RUNS_SHOWN = 10
_FILES_SHOWN = 5


def render_stuck(report: StuckReport, *, markdown: bool = False) -> str:
    """Return the report; the same sections in both forms."""
    title = f"Stuck in {report.phase}: {report.breaker.reason}" if report.breaker.reason else f"{report.phase}"
    return render_sections(title, _sections(report, code="`" if markdown else ""), markdown=markdown)


def render_sections(title: str, sections: Iterable[tuple[str, Iterable[str]]], *, markdown: bool) -> str:
    """Return headings with rows; the same in both forms."""
    lines = [f"# {title}" if markdown else title, ""]
    for heading, rows in sections:
        lines += [f"## {heading}", ""] if markdown else [heading]
        lines += [f"- {row}" if markdown else f"  {row}" for row in rows] or ["none" if markdown else "  none"]
        lines.append("")
    return show_rows(lines).rstrip("\n")


def _sections(report: StuckReport, *, code: str) -> Iterator[tuple[str, Iterable[str]]]:
    breaker = report.breaker
    since = f" since {breaker.opened_at}" if breaker.opened_at else ""
    yield "The circuit", [f"{breaker.status}{since}", f"{count(report.failed_iterations, 'failed iteration')}"]
    failing = [
        f"{code}{test_id}{code} {_first_line(message)}".rstrip() for test_id, message in report.failing_now.items()
    ]
    yield "What fails now", [*failing, *(f"guard {name}" for name in report.guards_now)]
    yield (
        "Likely cause",
        [f"{cause.error} ({count(cause.tests, 'test')}, {count(cause.runs, 'run')})" for cause in report.causes],
    )
    tried = report.tried[-_RUNS_SHOWN:]
    left_out = len(report.tried) - len(tried)
    rows = [f"{left_out} earlier runs are left out"] if left_out else []
    yield "What was tried", [*rows, *(_describe(each, code) for each in tried)]
    yield "What a person must decide", report.decisions


def _describe(tried: Tried, code: str) -> str:
    text = f"iteration {tried.iteration}, {tried.at}: {tried.failing} failing, {tried.passing} passing"
    if tried.guards:
        text += f"; guards {', '.join(tried.guards)}"
    if tried.changed is None:
        return text
    named = ", ".join(f"{code}{path}{code}" for path in tried.changed[:_FILES_SHOWN])
    more = f" and {len(tried.changed) - _FILES_SHOWN} more" if len(tried.changed) > _FILES_SHOWN else ""
    return f"{text}; changed before it: {named or 'nothing'}{more}"


def _first_line(message: str) -> str:
    return message.strip().splitlines()[0] if message.strip() else ""
