"""Source code as HTML: lines with a sign, a word and a colour each. Documents in, markup out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from phase_gate.report.html.markup import Html, join, tag
from phase_gate.visible import count

#: How a new line was reached: sign, and what it says.
HOW = {
    "reached": ("✓", "a test reaches it"),
    "import": ("↓", "it runs when the file is imported"),
    "one-way": ("◐", "a test reaches it, and one way of it was never gone"),
    "untested": ("✗", "no test reaches it"),
}
#: Tests that stand beside a line, rows that are shown, and tests that are listed with their lines.
_BESIDE, _ROWS, _TESTS = 2, 300, 60


def render_new_lines(view: Mapping[str, Any]) -> Iterator[Html]:
    """Yield the legend, the source of each file, and the lines of each test."""
    hows = [row["how"] for file in view["files"] for row in file["rows"] if row["how"]]
    total, untested = view["total"], view["untested"]
    said = "a test or an import reaches each of them" if not untested else f"no test reaches {untested} of them"
    yield tag("p", f"{count(total, 'new line')} in {count(len(view['files']), 'file')}: {said}.", class_="intro")
    signs = (tag("li", _sign(how), tag("span", text)) for how, (_, text) in HOW.items() if how in hows)
    yield tag("ul", *signs, class_="legend")
    room = _ROWS
    for file in view["files"]:
        if room > 0:
            yield _file(file["path"], file["rows"][:room], view["tests"])
        room -= len(file["rows"])
    if room < 0 or view["is_cut"]:
        yield tag("p", "Not all of them are shown.", class_="quiet")
    yield from _by_test(view)


def _sign(how: str) -> Html:
    return tag("span", HOW[how][0], aria_hidden="true", class_=f"sign-of {how}")


def _file(path: str, rows: list[Mapping[str, Any]], tests: list[str]) -> Html:
    title = f"New lines of {path}"
    head = tag("tr", *(tag("th", name, scope="col") for name in ("line", "how", "code", "reached by")))
    shown: list[Html] = []
    before = 0
    for row in rows:
        if before and row["line"] != before + 1:
            shown.append(tag("tr", tag("td", "⋯", colspan="4"), class_="gap", aria_hidden="true"))
        before = row["line"]
        shown.append(_row(row, tests))
    table = tag(
        "table",
        tag("caption", tag("code", path)),
        tag("thead", head, class_="hidden"),
        tag("tbody", *shown),
        class_="source",
    )
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=title)


def _row(row: Mapping[str, Any], tests: list[str]) -> Html:
    how = row["how"]
    sign = join((_sign(how), tag("span", HOW[how][1], class_="hidden"))) if how else None
    return tag(
        "tr",
        tag("th", str(row["line"]), scope="row"),
        tag("td", sign),
        tag("td", tag("code", row["text"])),
        tag("td", _tests(row, tests)),
        class_=f"is-new {how}" if how else None,
    )


def _tests(row: Mapping[str, Any], tests: list[str]) -> str:
    if row["how"] in ("", "import"):
        return "an import" if row["how"] else ""
    if row["how"] == "untested":
        return "no test"
    named = [tests[number].rpartition("::")[2] for number in row["tests"][:_BESIDE]]
    more = len(row["tests"]) + row["more"] - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _by_test(view: Mapping[str, Any]) -> Iterator[Html]:
    lines: dict[int, list[str]] = {}
    for file in view["files"]:
        for row in file["rows"]:
            for number in row["tests"]:
                lines.setdefault(number, []).append(f"{file['path']}:{row['line']}")
    if not lines:
        return
    ranked = sorted(lines.items(), key=lambda each: -len(each[1]))
    rows = (
        tag("tr", tag("th", view["tests"][number], scope="row"), tag("td", str(len(places))), tag("td", _some(places)))
        for number, places in ranked[:_TESTS]
    )
    head = tag("tr", *(tag("th", name, scope="col") for name in ("test", "new lines", "which")))
    table = tag(
        "table", tag("caption", "New lines of each test", class_="hidden"), tag("thead", head), tag("tbody", *rows)
    )
    scroll = tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="New lines of each test")
    yield tag("details", tag("summary", f"By test: {count(len(lines), 'test')}"), scroll)


def _some(places: list[str], most: int = 6) -> str:
    more = len(places) - most
    return ", ".join(places[:most]) + (f" and {more} more" if more > 0 else "")
