"""What was tried beside the runs, as HTML: the proof, new lines by test, mutants, behaviour. Documents in, markup out.

Colours repeat what signs and words say. Where there is nothing yet, it says what to type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phase_gate.gate.experiments import BEHAVIOUR, MUTATION
from phase_gate.report.html.markup import Html, join, tag
from phase_gate.report.html.source import render_diff, render_new_lines
from phase_gate.report.proof import COLUMNS, say_emptied
from phase_gate.report.story.model import Experiment, Shown
from phase_gate.visible import count

#: Rows of each kind that are listed; commands tell of the others.
_TARGETS, _LISTED = 100, 40

#: How a run of a target ended: sign and tone. What fails without the change is as wanted, so failing is not bad here.
_RUNS = {"passes": ("✓", "well"), "fails": ("✗", "ill"), "skipped": ("○", "none"), "unknown": ("?", "none")}
_EMPTIED = {"noticed": ("✓", "well"), "not noticed": ("✗", "ill"), "not tried": ("–", "none")}
_VERDICTS = {
    "proven": ("✓", "good"),
    "passes-without": ("✗", "bad"),
    "fails-with": ("✗", "bad"),
    "checks-nothing": ("!", "odd"),
}


def render_shown(shown: Shown) -> Html:
    """Return all four parts."""
    return join(
        (
            _part("proof", "Proof", _proofs(shown.proofs)),
            _part("new-lines", "New lines by test", _new_lines(shown.new_lines)),
            _part("mutants", "Mutants", _mutants(shown.experiments.get(MUTATION))),
            _part("behaviour", "Behaviour", _behaviour(shown.experiments.get(BEHAVIOUR))),
        )
    )


def _part(anchor: str, title: str, content: Iterable[Html]) -> Html:
    return tag("div", tag("h3", title), *content, id=f"evidence-{anchor}", class_="tried")


def _absent(text: str, command: str, rest: str) -> Html:
    return tag("p", f"{text} ", tag("code", command), f" {rest}", class_="empty")


def _left_out(number: int, noun: str, command: str) -> Html | None:
    if number <= 0:
        return None
    return tag("p", f"{count(number, noun)} more: ", tag("code", command), class_="quiet")


def _badge(sign: str, text: str, kind: str) -> Html:
    return tag("span", tag("span", sign, aria_hidden="true", class_="mark"), text, class_=f"badge {kind}")


# --- the proof


def _proofs(proofs: Mapping[str, Mapping[str, Any]]) -> Iterator[Html]:
    if not proofs:
        yield _absent("No proof was made in this cycle.", "phase-gate prove", "makes one in GREEN or REFACTOR.")
    for phase, proof in proofs.items():
        if proof["problem"]:
            yield tag("p", f"{phase}: no proof could be made: {proof['problem']}", class_="tone-odd")
        if proof["targets"]:
            yield from _proof(phase, proof)


def _proof(phase: str, proof: Mapping[str, Any]) -> Iterator[Html]:
    targets = sorted(proof["targets"], key=lambda each: each["verdict"] == "proven")
    proven = sum(each["verdict"] == "proven" for each in targets)
    yield tag("p", f"{phase}: {proven} of {count(len(targets), 'target')} proven.", class_="intro")
    head = tag("tr", *(tag("th", name, scope="col") for name in COLUMNS))
    title = f"{phase}: the runs of each target"
    table = tag(
        "table",
        tag("caption", title, class_="hidden"),
        tag("thead", head),
        tag("tbody", *map(_target, targets[:_TARGETS])),
        class_="side-by-side",
    )
    yield tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=title)
    left_out = _left_out(len(targets) - _TARGETS, "target", "phase-gate prove")
    if left_out is not None:
        yield left_out
    unnoticed = [each for each in proof["functions"] if not each["noticed_by"] and not each["left_out"]]
    if unnoticed:
        rows = (
            tag("li", tag("code", each["name"]), " in ", tag("code", f"{each['file']}:{each['line']}"))
            for each in unnoticed[:_LISTED]
        )
        yield tag("p", "No target notices when these functions do nothing:", class_="tone-odd")
        yield tag("ul", *rows, class_="plain")


def _target(target: Mapping[str, Any]) -> Html:
    emptied = say_emptied(target["notices"], was_tried=target["was_tried"])
    sign, tone = _VERDICTS.get(target["verdict"], ("?", "odd"))
    said = tag("small", target["why"]) if target["why"] else None
    without, with_it = (tag("td", _badge(*_run(target[name])), data_label=label) for name, label in _SIDES)
    return tag(
        "tr",
        tag("th", target["id"], scope="row"),
        without,
        with_it,
        tag("td", _badge(_EMPTIED[emptied][0], emptied, _EMPTIED[emptied][1]), data_label=COLUMNS[3]),
        tag("td", tag("span", _badge(sign, target["verdict"], ""), class_=f"tone-{tone}"), said, data_label=COLUMNS[4]),
    )


#: The runs without and with the change: their names in the document, and those of their columns.
_SIDES = (("control", COLUMNS[1]), ("treatment", COLUMNS[2]))


def _run(outcome: str) -> tuple[str, str, str]:
    sign, kind = _RUNS.get(outcome, _RUNS["unknown"])
    return sign, outcome, kind


# --- new lines, mutants, behaviour


def _new_lines(view: Mapping[str, Any] | None) -> Iterator[Html]:
    if view is None:
        text = "No run has watched new lines in this cycle. Set"
        yield _absent(text, "evidence: new_code: true", "in phase-gate.yaml before the next one begins.")
        return
    if not view["files"]:
        yield tag("p", "The last run found no new line.", class_="empty")
        return
    yield from render_new_lines(view)


def _mutants(made: Experiment | None) -> Iterator[Html]:
    if made is None:
        yield _absent("No mutant was tried.", "phase-gate mutate", "tries small changes of new lines.")
        return
    yield from _age(made, "phase-gate mutate")
    tried = made.document["tried"]
    by = {verdict: [each for each in tried if each["verdict"] == verdict] for verdict in ("survived", "timeout")}
    killed = sum(each["verdict"] == "killed" for each in tried)
    said = f"{count(len(tried), 'mutant')} tried: {killed} killed, {len(by['survived'])} survived"
    said += f", {len(by['timeout'])} without end" if by["timeout"] else ""
    said += f"; {made.document['left']} left to try" if made.document["left"] else ""
    yield tag("p", f"{said}.", class_="intro")
    yield from map(_survivor, by["survived"][:_LISTED])
    left_out = _left_out(len(by["survived"]) - _LISTED, "survivor", "phase-gate mutate")
    if left_out is not None:
        yield left_out


def _survivor(each: Mapping[str, Any]) -> Html:
    place = f"{each['mutant']['file']}:{each['mutant']['line']}"
    tests = each["tests"]
    return tag(
        "article",
        tag("h4", _badge("✗", "survived", "ill"), " ", tag("code", place)),
        render_diff(each["diff"], title=f"The mutant at {place}"),
        _names(f"{count(len(tests), 'test')} ran it and noticed nothing", tests),
        class_="card trial",
    )


def _names(title: str, names: list[str]) -> Html:
    if not names:
        return tag("p", "No test reaches the line.", class_="quiet")
    listed = tag("ul", *(tag("li", tag("code", name)) for name in names[:_LISTED]), class_="plain")
    return tag("details", tag("summary", title), listed)


def _behaviour(made: Experiment | None) -> Iterator[Html]:
    if made is None:
        text = "Behaviour before and after a refactoring was not compared."
        yield _absent(text, "phase-gate behaviour", "compares functions with type hints.")
        return
    yield from _age(made, "phase-gate behaviour")
    functions = made.document["functions"]
    compared = [each for each in functions if not each["left_out"]]
    differing = [each for each in functions if each["difference"] is not None]
    inputs = sum(each["inputs"] for each in compared)
    said = f"{count(len(compared), 'function')} compared on {count(inputs, 'input')}"
    yield tag("p", f"{said}: {count(len(differing), 'difference')}.", class_="intro")
    yield from map(_difference, differing[:_LISTED])
    left_out = [each for each in functions if each["left_out"]]
    if left_out:
        rows = (tag("li", tag("code", each["name"]), f": {each['left_out']}") for each in left_out[:_LISTED])
        summary = tag("summary", f"{count(len(left_out), 'function')} not compared")
        yield tag("details", summary, tag("ul", *rows, class_="plain"))


def _difference(each: Mapping[str, Any]) -> Html:
    found = each["difference"]
    earlier = f"the oracle {each['oracle']}" if each["against"] == "oracle" else "before"
    rows = ((earlier, found["before"]), ("now", found["now"]))
    return tag(
        "article",
        tag(
            "h4",
            _badge("≠", f"another {found['kind']}" if found["kind"] in ("value", "type") else found["kind"], "ill"),
            " ",
            tag("code", f"{each['name']}, {each['file']}:{each['line']}"),
        ),
        tag("p", "The smallest input that was found: ", tag("code", found["call"])),
        tag("dl", *(tag("div", tag("dt", name), tag("dd", tag("code", value))) for name, value in rows), class_="both"),
        class_="card trial",
    )


def _age(made: Experiment, command: str) -> Iterator[Html]:
    if made.is_old:
        text = "It was made on other files than those of the last run:"
        yield tag("p", f"{text} ", tag("code", command), " makes it anew.", class_="tone-odd")
