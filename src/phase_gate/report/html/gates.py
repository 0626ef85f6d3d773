"""Where a task stands, as HTML: the headline, the way through the phases, both gates, and what they were judged by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from phase_gate.gate.findings import describe_override, place_of
from phase_gate.gate.signals import SHOWN
from phase_gate.gate.verdict import who_of
from phase_gate.report.html.markup import Html, join, tag
from phase_gate.report.labels import headline, phase_class, tone
from phase_gate.report.proof import describe_proof
from phase_gate.report.story.model import Story
from phase_gate.visible import count
from phase_gate.workflow.metrics import show_value

_MARKS = {True: ("✓", "met", "good"), False: ("✗", "unmet", "bad"), None: ("?", "unknown", "odd")}


def render_head(story: Story) -> Html:
    """Return the first screen: the verdict in words, and what to type next."""
    return tag(
        "header",
        tag(
            "p",
            tag("span", "phase gate", class_="brand"),
            tag("span", f"task {story.task}", class_="chip"),
            tag("span", story.root, class_="root"),
            class_="line",
        ),
        _track(story) if story.steps else None,
        tag("h1", headline(story), class_=f"tone-{tone(story)}"),
        tag("p", _sentence(story.ledger.problem or story.standing.reason), class_="reason"),
        _next(*story.next_step),
        _facts(story),
        class_="head",
    )


def _next(command: str, hint: str) -> Html:
    return tag(
        "p",
        tag("span", "Next", class_="label"),
        tag("code", command, id="next") if command else None,
        tag("button", "Copy", type="button", id="copy", class_="script") if command else None,
        tag("span", hint) if hint else None,
        class_="next",
    )


def _track(story: Story) -> Html:
    said = {"past": "past", "present": "now", "exited": "exited", "ahead": "ahead"}
    steps = [
        tag(
            "li",
            tag("span", step.name),
            tag("small", said[step.standing]),
            class_=f"{step.standing} {phase_class(step.name)}",
            aria_current="step" if step.standing in ("present", "exited") and step.name == story.phase else None,
        )
        for step in story.steps
    ]
    return tag("ol", *steps, class_="track", aria_label="Phases of the workflow")


def _facts(story: Story) -> Html:
    runs = len(story.runs) + story.runs_left_out
    rows = [
        ("cycle", str(story.cycle)),
        ("iteration", str(story.iteration)),
        ("greens in a row", str(story.streak)),
        ("runs", f"{runs:,}"),
        ("breaker", str(story.breaker.status)),
        ("ledger", "intact" if story.ledger.is_intact else "damaged"),
    ]
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in rows), class_="facts")


def render_gates(story: Story) -> Html:
    verdict = story.evaluation
    if verdict is None:
        return tag("p", "No verdict yet: it comes with the first complete run.", class_="empty")
    about = f"iteration {verdict['iteration']}" if verdict["iteration"] is not None else verdict["run_kind"]
    # It stands above already, unless something came after it.
    said = "" if story.standing.document.items() <= verdict.items() else f": {verdict['reason']}"
    proven = describe_proof(verdict["metrics"])
    return join(
        (
            tag("p", f"The last verdict, on {verdict['phase']}, {about}{said}.", class_="intro"),
            tag("div", _gate_1(verdict), _gate_2(verdict), class_="gates"),
            tag("p", tag("span", "Proof", class_="label"), " ", proven, class_="proof") if proven else None,
        )
    )


def _gate_1(verdict: Mapping[str, Any]) -> Html:
    gate, said = verdict["gate_1"], who_of(verdict)
    rows = []
    for clause in gate["clauses"]:
        shown = "not measured" if clause["unknown"] else clause["shown"]
        shown += "".join(f" ({who})" for name, who in said.items() if name in clause["values"])
        rows.append(_mark_row(clause["met"], tag("code", clause["text"]), shown))
    met = [guard for guard in gate["guards"] if guard["met"] and not guard["waived"]]
    for guard in gate["guards"]:
        if guard in met:
            continue
        waived = " (waived)" if guard["waived"] else ""
        remedy = tag("small", guard["remedy"], class_="remedy") if not guard["waived"] else None
        rows.append(_mark_row(guard["met"], f"{guard['name']}{waived}", join((guard["detail"], remedy))))
    kept = tag(
        "details",
        tag("summary", f"{count(len(met), 'guard')} on the evidence itself met"),
        tag("ul", *(tag("li", guard["name"]) for guard in met), class_="names"),
    )
    return _card("Gate 1", gate["name"], "open" if gate["open"] else "closed", gate["open"], _marks(rows), kept)


def _gate_2(verdict: Mapping[str, Any]) -> Html:
    gate = verdict["gate_2"]
    by = f"by {gate['by']}" if gate["by"] else ""
    said = [
        tag("blockquote", gate["reason"]) if gate["reason"] else None,
        tag("p", by, class_="quiet") if by else None,
        tag("p", gate["problem"], class_="tone-bad") if gate["problem"] else None,
        tag("p", "It has to be given on purpose, for this very iteration.", class_="quiet")
        if gate["answer"] == "absent"
        else None,
    ]
    return _card("Gate 2", "Explicit exit signal", SHOWN[gate["answer"]], gate["open"], *said)


def _card(label: str, name: str, answer: str, is_open: bool, *children: object) -> Html:
    head = tag(
        "h3",
        tag("span", label, class_="label"),
        tag("span", name),
        tag("span", answer, class_="answer"),
        class_="card-head",
    )
    return tag("article", head, *children, class_=f"card {'is-open' if is_open else 'is-closed'}")


def _marks(rows: list[Html]) -> Html:
    return tag("ul", *rows, class_="marks")


def _mark_row(met: bool | None, name: object, value: object) -> Html:
    sign, words, tone_of = _MARKS[met]
    return tag(
        "li",
        tag("span", sign, aria_hidden="true", class_=f"mark tone-{tone_of}"),
        tag("span", words, class_="hidden"),
        tag("span", name, class_="name"),
        tag("span", value, class_="value"),
    )


def render_evidence(story: Story) -> Html:
    """Return everything beside the tests that the last verdict knew."""
    verdict = story.evaluation
    if verdict is None:
        return tag("p", "Nothing was measured yet.", class_="empty")
    return join(_evidence(verdict))


def _evidence(verdict: Mapping[str, Any]) -> Iterator[Html]:
    findings = verdict["findings"]
    if findings:
        yield tag("ul", *(_finding(row) for row in findings), class_="findings")
    else:
        yield tag("p", "No findings: nothing about the evidence looks odd.", class_="intro")
    rows = {
        "Overrides": [describe_override(row) for row in verdict["overrides"]],
        "Warnings": verdict["warnings"],
        "Notes": verdict["notes"],
        "Facts": [_fact(row) for row in verdict["facts"]],
    }
    for title, texts in rows.items():
        if texts:
            yield tag("h3", title)
            yield tag("ul", *(tag("li", text) for text in texts), class_="plain")
    for table in verdict.get("tables", ()):
        yield render_table(table["title"], table["columns"], table["rows"])
    metrics = [(name, show_value(value)) for name, value in verdict["metrics"].items()]
    yield tag(
        "details",
        tag("summary", f"All {len(metrics)} metrics of that verdict"),
        render_table("Metrics of the last verdict", ("metric", "value"), metrics),
    )


def _finding(row: Mapping[str, Any]) -> Html:
    return tag(
        "li",
        tag("span", row["tier"], class_=f"chip tier-{'hard' if row['tier'] == 'hard' else 'advisory'}"),
        tag("span", row["detail"]),
        tag("span", tag("span", row["slug"], class_="slug"), " ", tag("code", place_of(row)), class_="where"),
    )


def _fact(row: Mapping[str, Any]) -> str:
    who = f"declared by {row['by']}: {row['reason']}" if row["source"] == "declared" else "measured"
    return f"{row['name']} = {show_value(row['value'])}, {who}"


def render_table(title: str, columns: Any, rows: Any) -> Html:
    head = tag("tr", *(tag("th", name, scope="col") for name in columns))
    body = (tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows)
    table = tag("table", tag("caption", title), tag("thead", head), tag("tbody", *body))
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=title)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
