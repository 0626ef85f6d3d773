"""Tests over time and acceptance criteria, as HTML: one strip a test, flaky ones first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.gate.inventory import split_id
from phase_gate.report.html.markup import Html, join, select, tag
from phase_gate.report.labels import CELL_WORDS, describe_cells
from phase_gate.report.story.model import Story, TestRow
from phase_gate.report.story.tests import ABSENT, FAILED
from phase_gate.visible import count

#: Size of a cell, and where in it each outcome is drawn: shape tells as much as colour.
_WIDE, _HIGH = 10, 18
_SHAPES: Mapping[str, tuple[str, float, float]] = {
    "p": ("p", 6, 6),
    "k": ("k", 0, 18),
    "s": ("s", 8, 2),
    "x": ("s", 6, 6),
    "X": ("k", 6, 6),
    "n": ("s", 8, 2),
    **dict.fromkeys(sorted(FAILED), ("f", 0, 18)),
}

#: Tests of one criterion that are named.
_TESTS_NAMED = 8


def render_tests(story: Story) -> Html:
    tests = story.tests
    if not tests.rows:
        return tag("p", "No complete run yet.", class_="empty")
    flaky = sum(row.is_flaky for row in tests.rows)
    failing = sum(row.is_failing for row in tests.rows)
    said = (
        f"{count(len(tests.rows), 'test')} over the last {count(len(tests.runs), 'complete run')},"
        f" run {tests.runs[0]} to run {tests.runs[-1]}: {flaky} flaky, {failing} failing now."
    )
    if tests.quiet:
        said += f" {tests.quiet:,} more are not listed: they passed in each of these runs."
    if tests.left_out:
        said += f" {tests.left_out:,} more did not always pass, and are not listed either."
    return join(
        (
            tag("p", said, class_="intro"),
            _legend(),
            _filters(),
            tag(
                "table",
                tag("caption", "Tests and how they ended", class_="hidden"),
                tag(
                    "thead",
                    tag("tr", tag("th", "Test", scope="col"), tag("th", "Oldest to newest", scope="col")),
                    class_="hidden",
                ),
                tag("tbody", *(_row(row) for row in tests.rows)),
                class_="heat",
                id="tests",
            ),
            tag("p", "", id="tests-said", class_="quiet script", role="status"),
        )
    )


def _legend() -> Html:
    shown = {"p": "passed", "f": "failed", "k": "only after a rerun", "s": "skipped"}
    return tag(
        "ul",
        *(
            tag(
                "li",
                tag("svg", _cells(letter), viewBox=f"0 0 {_WIDE} {_HIGH}", width=10, height=18, aria_hidden="true"),
                text,
            )
            for letter, text in shown.items()
        ),
        class_="legend",
    )


def _filters() -> Html:
    return tag(
        "div",
        tag(
            "label",
            tag("span", "Find a test"),
            tag("input", type="search", id="test-name", placeholder="part of its name", autocomplete="off"),
        ),
        select(
            "Show",
            {"all": "all of these", "flaky": "flaky ones", "failing": "failing now", "failed": "ever failed"},
            name="test-kind",
        ),
        class_="filters script",
    )


def _row(row: TestRow) -> Html:
    path, name = split_id(row.id)
    kinds = [
        word
        for word, holds in (("flaky", row.is_flaky), ("failing", row.is_failing), ("failed", bool(row.failures)))
        if holds
    ]
    chips = [
        tag("span", "flaky", class_="chip tier-flaky") if row.is_flaky else None,
        tag("span", "failing", class_="chip tier-hard") if row.is_failing else None,
    ]
    strip = tag(
        "svg",
        _cells(row.cells),
        viewBox=f"0 0 {len(row.cells) * _WIDE} {_HIGH}",
        preserveAspectRatio="none",
        role="img",
        aria_label=describe_cells(row),
        data_cells=row.cells,
    )
    return tag(
        "tr",
        tag("th", *chips, tag("span", name or path), " ", tag("small", path) if name else None, scope="row"),
        tag("td", strip),
        data_kinds=" ".join(kinds),
        class_="is-flaky" if row.is_flaky else None,
    )


def _cells(cells: str) -> Html:
    """Return one path an outcome: a hundred cells are a few hundred characters."""
    paths: dict[str, list[str]] = {}
    for index, letter in enumerate(cells):
        if letter == ABSENT:
            continue
        name, top, high = _SHAPES.get(letter, _SHAPES["n"])
        wide = _WIDE - 1.5
        paths.setdefault(name, []).append(f"M{index * _WIDE + 0.75:g} {top:g}h{wide:g}v{high:g}h-{wide:g}z")
    return join(tag("path", d="".join(parts), class_=name) for name, parts in paths.items())


def render_criteria_table(table: Mapping[str, Any] | None) -> Html:
    if table is None:
        return tag("p", "No criteria with ids were given: pytest --phase=auto --phase-criteria=FILE.", class_="empty")
    rows = table["criteria"]
    standings = [row["standing"] for row in rows]
    counts = ", ".join(f"{standings.count(each)} {each}" for each in dict.fromkeys(standings))
    body = [
        tag(
            "tr",
            tag("th", tag("span", row["id"], class_="chip"), scope="row"),
            tag("td", row["text"], tag("small", f" {row['file']}:{row['line']}") if row["file"] else None),
            tag(
                "td",
                tag("span", row["standing"], class_=f"chip standing-{row['standing'].replace(' ', '-')}"),
                _why(row),
            ),
            tag("td", _tests(row["tests"])),
        )
        for row in rows
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("Id", "Criterion", "Standing", "Tests that show it")))
    grid = tag(
        "table",
        tag("caption", "Acceptance criteria and their tests", class_="hidden"),
        tag("thead", head),
        tag("tbody", *body),
    )
    said = f"{table['file']}: {counts}, as the last complete run in {table['phase']} saw it."
    return join(
        (
            tag("p", said, class_="intro"),
            tag("div", grid, class_="scroll trace", tabindex="0", role="region", aria_label="Criteria and their tests"),
        )
    )


def _why(row: Mapping[str, Any]) -> Html | None:
    return tag("small", f" {row['why']}") if row["why"] else None


def _tests(tests: Mapping[str, str]) -> Html:
    if not tests:
        return tag("span", "none", class_="quiet")
    named = list(tests.items())
    items = [
        tag("li", tag("code", test_id), " ", tag("span", outcome, class_=f"outcome {_tone(outcome)}"))
        for test_id, outcome in named[:_TESTS_NAMED]
    ]
    if len(named) > _TESTS_NAMED:
        items.append(tag("li", f"and {len(named) - _TESTS_NAMED} more"))
    return tag("ul", *items, class_="plain")


def _tone(outcome: str) -> str:
    return {"passed": "tone-good", "flaky": "tone-odd"}.get(outcome, "quiet" if "skip" in outcome else "tone-bad")


#: For the script that says what a cell is.
CELLS = dict(CELL_WORDS)
