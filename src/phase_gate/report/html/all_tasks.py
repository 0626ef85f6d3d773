"""Every task of a project as one HTML page, with filters. Values in, markup out."""

from __future__ import annotations

from collections.abc import Iterable

from phase_gate._version import __version__
from phase_gate.report.all_tasks import COLUMNS, TaskLine, TaskList, cells
from phase_gate.report.html.gates import render_table
from phase_gate.report.html.markup import Html, join, select, tag
from phase_gate.report.html.page import render_page
from phase_gate.report.labels import short_time
from phase_gate.visible import count


def render_all(tasks: TaskList) -> str:
    """Return the whole page."""
    title = f"{tasks.finished} of {count(len(tasks.lines), 'task')} finished"
    sections = [("tasks", "Tasks", _tasks(tasks)), ("workers", "Who has what", _workers(tasks))]
    links = (tag("li", tag("a", name, href=f"#{anchor}")) for anchor, name, _ in sections)
    theme = tag(
        "button", "Theme", type="button", id="theme", class_="script", aria_label="Switch between light and dark"
    )
    body = join(
        (
            tag("a", "Skip to the tasks", href="#tasks", class_="skip"),
            tag("nav", tag("ul", *links), theme, aria_label="Parts of this page"),
            tag("main", _head(tasks, title), *(_section(*each) for each in sections)),
            _footer(tasks),
        )
    )
    return render_page(f"{title}: phase gate", body, script="tasks.js")


def _head(tasks: TaskList, title: str) -> Html:
    facts = [
        tag("div", tag("dt", state), tag("dd", str(number)))  # one pair each
        for state, number in tasks.by_state.items()
    ]
    brand = (tag("span", "phase gate", class_="brand"), tag("span", tasks.root, class_="root"))
    tone = "bad" if tasks.untrusted else "good" if tasks.lines and tasks.finished == len(tasks.lines) else "open"
    return tag(
        "header",
        tag("p", *brand, class_="line"),
        tag("h1", title, class_=f"tone-{tone}"),
        tag("p", _said(tasks), class_="reason"),
        tag("dl", *facts, class_="facts") if facts else None,
        class_="head",
    )


def _said(tasks: TaskList) -> str:
    workers = len(tasks.workers)
    said = "No worker has a task."
    if workers:
        said = f"{count(len(tasks.held), 'task')} with {count(workers, 'worker')} now."
    persons = sum(line.asks_person for line in tasks.lines)
    if persons:
        said += f" {count(persons, 'task')} {'waits' if persons == 1 else 'wait'} for a person."
    if tasks.left_out:
        said += f" {count(tasks.left_out, 'other task')} not shown."
    return said


def _tasks(tasks: TaskList) -> Html:
    if not tasks.lines:
        return tag("p", "There is no task yet.", class_="empty")
    head = tag("tr", *(tag("th", name, scope="col") for name in COLUMNS))
    table = tag(
        "table",
        tag("caption", "Tasks, and what each waits for", class_="hidden"),
        tag("thead", head),
        tag("tbody", *map(_row, tasks.lines)),
        id="tasks-table",
        class_="tasks",
    )
    return join(
        (
            _filters(tasks),
            tag("p", "", id="tasks-said", class_="quiet script", role="status"),
            tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="Tasks"),
        )
    )


def _filters(tasks: TaskList) -> Html:
    return tag(
        "div",
        select("State", _options("all states", tasks.by_state), name="task-state"),
        select("Wave", _options("all waves", tasks.waves), name="task-wave") if tasks.waves else None,
        select("Who", _options("everybody", tasks.workers), name="task-by") if tasks.workers else None,
        tag("label", tag("span", "Name"), tag("input", type="search", id="task-name")),
        class_="filters script",
    )


def _options(every: str, names: Iterable[str]) -> dict[str, str]:
    return {"": every, **{name: name for name in names}}


def _row(line: TaskLine) -> Html:
    name, shown, wave, by, since, waits_for = cells(line)
    return tag(
        "tr",
        tag("th", tag("span", name), tag("small", f" {line.task}") if line.task != name else None, scope="row"),
        tag("td", shown, class_=f"tone-{line.tone}"),
        tag("td", wave),
        tag("td", by),
        tag("td", tag("time", since, datetime=line.since) if since else None),
        tag("td", waits_for),
        data_state=line.state,
        data_wave=wave,
        data_by=by,
    )


def _workers(tasks: TaskList) -> Html:
    if not tasks.held:
        return tag("p", "No worker has a task.", class_="empty")
    rows = [(line.by, line.name, line.shown, cells(line)[4]) for line in tasks.held]
    return render_table("The longest first", ("who", "task", "state", "since"), rows)


def _section(anchor: str, title: str, content: Html) -> Html:
    return tag("section", tag("h2", title, id=f"{anchor}-title"), content, id=anchor, aria_labelledby=f"{anchor}-title")


def _footer(tasks: TaskList) -> Html:
    said = f"Told {short_time(tasks.at)} UTC by pytest-phase-gate {__version__}. All times are UTC."
    return tag("footer", tag("p", f"{said} This file loads nothing and sends nothing."))
