"""The proofs of a cycle as HTML: each target with its runs. Documents in, markup out.

Colours repeat what signs and words say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from phase_gate.report.html.markup import Html, tag
from phase_gate.report.proof import ALTERED, COLUMNS, say_emptied
from phase_gate.visible import count

#: Rows of each kind that are listed; commands tell of the others.
_TARGETS, _LISTED = 100, 40

#: How a run of a target ended: sign and tone. What fails without the change is as wanted, so failing is not bad here.
_RUNS = {"passes": ("✓", "well"), "fails": ("✗", "ill"), "skipped": ("○", "none"), "unknown": ("?", "none")}
#: Of what expects something else; any other word is a doubt.
_ALTERED = {"fails": ("✓", "well"), "still passes": ("✗", "ill"), "-": ("–", "none")}
_EMPTIED = {"noticed": ("✓", "well"), "not noticed": ("✗", "ill"), "not tried": ("–", "none")}
_VERDICTS = {
    "proven": ("✓", "good"),
    "passes-without": ("✗", "bad"),
    "fails-with": ("✗", "bad"),
    "row-changed": ("✗", "bad"),
    "cannot-fail": ("✗", "bad"),
    "checks-nothing": ("!", "odd"),
    "nothing-raised": ("!", "odd"),
}


def render_proofs(proofs: Mapping[str, Mapping[str, Any]]) -> Html:
    """Return the proof of each phase; where there is none, what to type.

    :param proofs: as they were stored, by phase.
    """
    return tag("div", *_proofs(proofs), class_="tried")


def _left_out(number: int, noun: str, command: str) -> Html | None:
    if number <= 0:
        return None
    return tag("p", f"{count(number, noun)} more: ", tag("code", command), class_="quiet")


def _badge(sign: str, text: str, kind: str) -> Html:
    return tag("span", tag("span", sign, aria_hidden="true", class_="mark"), text, class_=f"badge {kind}")


def _proofs(proofs: Mapping[str, Mapping[str, Any]]) -> Iterator[Html]:
    if not proofs:
        command = tag("code", "phase-gate prove")
        yield tag("p", "No proof was made in this cycle. ", command, " makes one in GREEN or REFACTOR.", class_="empty")
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
    altered = ALTERED[target["altered"]]
    altered_sign, altered_tone = _ALTERED.get(altered, ("?", "none"))
    sign, tone = _VERDICTS.get(target["verdict"], ("?", "odd"))
    said = tag("small", target["why"]) if target["why"] else None
    without, with_it = (tag("td", _badge(*_run(target[name])), data_label=label) for name, label in _SIDES)
    return tag(
        "tr",
        tag("th", target["id"], scope="row"),
        without,
        with_it,
        tag("td", _badge(altered_sign, altered, altered_tone), data_label=COLUMNS[3]),
        tag("td", _badge(_EMPTIED[emptied][0], emptied, _EMPTIED[emptied][1]), data_label=COLUMNS[4]),
        tag("td", tag("span", _badge(sign, target["verdict"], ""), class_=f"tone-{tone}"), said, data_label=COLUMNS[5]),
    )


#: The runs without and with the change: their names in the document, and those of their columns.
_SIDES = (("control", COLUMNS[1]), ("treatment", COLUMNS[2]))


def _run(outcome: str) -> tuple[str, str, str]:
    sign, kind = _RUNS.get(outcome, _RUNS["unknown"])
    return sign, outcome, kind
