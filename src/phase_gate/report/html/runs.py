"""The table of runs, its filters, and the data that the script turns its pages with."""

from __future__ import annotations

from typing import Any

from phase_gate.report.html.markup import Html, join, select, show, tag
from phase_gate.report.html.timeline import SIGNS, signs_in
from phase_gate.report.labels import SIGN_WORDS, describe_counts, outcome_of, phase_class, short_time
from phase_gate.report.story.model import SIGNED, Run, Story

#: Runs on a page of the table. Without the script only the newest page is there.
PAGE = 50

_COLUMNS = ("Run", "Began (UTC)", "Phase", "Ended", "Tests", "Streak", "Verdict")


def render_legend(story: Story) -> Html:
    """Return what the timeline's colours and signs mean; only those that are in it."""
    colours = [("f", "failed"), ("p", "passed"), ("s", "skipped")]
    if any(not run.counts and run.total for run in story.runs):
        colours.append(("p not-counted", "does not count"))
    boxes = [tag("li", _box(tag("rect", width=12, height=12, rx=2, class_=name)), text) for name, text in colours]
    boxes.append(tag("li", _box(tag("circle", cx=6, cy=6, r=5, class_="streak")), "greens in a row"))
    if any(run.resets for run in story.runs):
        boxes.append(tag("li", _box(tag("path", d="M2 2l8 8m0-8l-8 8", class_="reset")), "streak lost"))
    boxes += [
        tag("li", _box(tag("path", d=SIGNS[kind], transform="translate(6 6)", class_=f"sign {kind}")), SIGN_WORDS[kind])
        for kind in signs_in(story)
    ]
    return tag("ul", *boxes, class_="legend")


def _box(drawing: Html) -> Html:
    return tag("svg", drawing, viewBox="0 0 12 12", width=12, height=12, aria_hidden="true")


def render_runs(story: Story) -> Html:
    newest = story.runs[-PAGE:]
    older = len(story.runs) + story.runs_left_out - len(newest)
    left_out = story.runs_left_out
    said = f"{older:,} older runs stand on later pages, which need the script." if older else ""
    table = tag(
        "table",
        tag("caption", "Runs, the newest first", class_="hidden"),
        tag("thead", tag("tr", *(tag("th", name, scope="col") for name in _COLUMNS))),
        tag("tbody", *(_row(run) for run in reversed(newest))),
        class_="runs",
        id="runs-table",
    )
    return join(
        (
            tag("div", "", id="picked", class_="card script", aria_live="polite"),
            _filters(story),
            tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="Table of runs"),
            tag("noscript", tag("p", said, class_="quiet")) if said else None,
            tag("p", f"{left_out:,} runs are too old to be listed: phase-gate history has them all.", class_="quiet")
            if left_out
            else None,
            _pager(),
        )
    )


#: How a run may have ended, by the word that the script knows.
_ENDINGS = {
    "": "in any way",
    "green": "green",
    "not green": "not green",
    "uncounted": "without counting",
    "exit": "with the phase's exit",
}


def _filters(story: Story) -> Html:
    return tag(
        "div",
        select("Phase", {"": "all", **{run.phase: run.phase for run in story.runs}}, name="run-phase"),
        select("Ended", _ENDINGS, name="run-kind"),
        tag("button", "All runs", type="button", id="run-all", hidden=True),
        tag("span", "", id="runs-said", class_="quiet", role="status"),
        class_="filters script",
    )


def _pager() -> Html:
    return tag(
        "div",
        tag("button", "Newer", type="button", id="newer"),
        tag("span", "", id="page", class_="quiet"),
        tag("button", "Older", type="button", id="older"),
        class_="pager script",
    )


def _row(run: Run) -> Html:
    iteration = "" if run.iteration is None else f" {run.iteration}"
    return tag(
        "tr",
        tag("th", run.number, scope="row"),
        tag("td", short_time(run.at)),
        tag("td", tag("span", run.phase, class_=f"dot {phase_class(run.phase)}"), iteration),
        tag("td", outcome_of(run), class_="" if run.counts else "quiet"),
        tag("td", describe_counts(run)),
        tag("td", run.streak if run.counts else "", tag("span", " lost", class_="tone-bad") if run.resets else None),
        tag("td", run.says, class_="says"),
    )


def runs_data(story: Story) -> dict[str, Any]:
    """Return every listed run as a short row; texts that many of them share are written once."""
    words: dict[str, int] = {}

    def word(text: str) -> int:
        return words.setdefault(show(text, 200), len(words))

    rows = [
        [
            run.number,
            run.at[:19],
            word(run.phase),
            run.cycle,
            word(outcome_of(run)),
            run.iteration,
            run.passed,
            run.failed,
            run.skipped,
            run.streak,
            int(run.resets),
            run.seconds,
            int(bool(run.can_exit)),
            word(run.says),
            run.changed_count,
            word(", ".join(run.changed)),
        ]
        for run in story.runs
    ]
    happenings = [
        [each.run, each.kind, word(each.text)] for each in story.happenings if each.kind in (*SIGNED, "claim", "note")
    ]
    return {
        "runs": rows,
        "happenings": happenings,
        "words": list(words),
        "page": PAGE,
        "tests": list(story.tests.runs),
    }
