"""The report as one HTML file: no network, no library, nothing that runs but our own script.

Everything that matters is there without the script, too; it filters, turns pages and answers to pointer and keys.
Values in, text out. Begin with `gates`.
"""

from __future__ import annotations

from collections.abc import Iterator

from phase_gate._version import __version__
from phase_gate.gate.measured import Section
from phase_gate.report.html.charts import render_trend
from phase_gate.report.html.gates import render_evidence, render_gates, render_head, render_table
from phase_gate.report.html.markup import Html, embed, join, tag
from phase_gate.report.html.page import render_page
from phase_gate.report.html.proof import render_proofs
from phase_gate.report.html.runs import render_legend, render_runs, runs_data
from phase_gate.report.html.tests import CELLS, render_criteria_table, render_tests
from phase_gate.report.html.timeline import render_timeline
from phase_gate.report.labels import headline, short_time
from phase_gate.report.story.model import Story
from phase_gate.visible import count

#: Happenings that are listed; the newest tell most.
_HAPPENINGS_LISTED = 200


def render_html(story: Story) -> str:
    """Return the whole page."""
    sections = list(_sections(story))
    title = f"{headline(story)}: {story.task}, phase gate"
    body = join(
        (
            tag("a", "Skip to the runs", href="#runs", class_="skip"),
            _navigation(story, sections),
            tag("main", render_head(story), *(_section(*each) for each in sections)),
            _footer(story),
            Html(f'<script type="application/json" id="data">{embed({**runs_data(story), "cells": CELLS})}</script>'),
        )
    )
    return render_page(title, body)


def _sections(story: Story) -> Iterator[tuple[str, str, Html]]:
    """Yield anchor, title and content of each part."""
    yield "gates", "Both gates", render_gates(story)
    yield "runs", "Runs", _runs(story)
    yield "criteria", "Criteria", render_criteria_table(story.criteria)
    yield "history", "Tests", render_tests(story)
    yield "trend", "Trend", render_trend(story)
    yield "proof", "Proof", render_proofs(story.proofs)
    yield "measured", "Findings and measures", render_evidence(story)
    for number, section in enumerate(story.more, start=1):
        yield f"more-{number}", section.title, _more(section)
    yield "log", "What happened", _happenings(story)
    yield "ledger", "Ledger", _ledger(story)


def _runs(story: Story) -> Html:
    if not story.runs:
        return tag("p", "No run is recorded yet.", class_="empty")
    return join((render_timeline(story), render_legend(story), render_runs(story)))


def _more(section: Section) -> Html:
    tables = (render_table(table.title, table.columns, table.rows) for table in section.tables)
    return join((*(tag("p", line) for line in section.lines), *tables))


def _happenings(story: Story) -> Html:
    listed = story.happenings[-_HAPPENINGS_LISTED:]
    left_out = len(story.happenings) - len(listed) + story.happenings_left_out
    rows = [
        tag(
            "li",
            tag("time", short_time(each.at), datetime=each.at),
            tag("span", f"after run {each.run}" if each.run else "at first", class_="quiet"),
            tag("span", each.text, class_=f"what {each.kind}"),
        )
        for each in reversed(listed)
    ]
    if not rows:
        return tag("p", "Nothing yet.", class_="empty")
    more = tag(
        "p", f"{left_out:,} earlier ones are left out: phase-gate history --events has them all.", class_="quiet"
    )
    return join((tag("ol", *rows, class_="log"), more if left_out else None))


def _ledger(story: Story) -> Html:
    check = story.ledger
    if not check.is_intact:
        return join(
            (
                tag("p", f"{count(check.events, 'event')} are good; then: {check.problem}", class_="tone-bad"),
                tag("p", "What to do: ", check.remedy),
            )
        )
    return join(
        (
            tag(
                "p",
                tag("span", "✓ ", aria_hidden="true", class_="tone-good"),
                f"Every one of {count(check.events, 'event')} follows the one before it.",
                class_="intro",
            ),
            tag(
                "p",
                "Its head is ",
                tag("code", check.head or "none", class_="hash"),
                ". With the state folder at hand, check it by: ",
                tag("code", "phase-gate audit"),
                ".",
                class_="quiet",
            ),
        )
    )


def _section(anchor: str, title: str, content: Html) -> Html:
    return tag("section", tag("h2", title, id=f"{anchor}-title"), content, id=anchor, aria_labelledby=f"{anchor}-title")


def _navigation(story: Story, sections: list[tuple[str, str, Html]]) -> Html:
    links = (tag("li", tag("a", title, href=f"#{anchor}")) for anchor, title, _ in sections)
    return tag(
        "nav",
        tag("ul", *links),
        tag("button", "Theme", type="button", id="theme", class_="script", aria_label="Switch between light and dark"),
        aria_label="Parts of this report",
    )


def _footer(story: Story) -> Html:
    return tag(
        "footer",
        tag(
            "p",
            f"Told {short_time(story.at)} UTC by pytest-phase-gate {__version__}"
            f" from {count(story.ledger.events, 'event')}. All times are UTC."
            " This file loads nothing and sends nothing.",
        ),
    )
