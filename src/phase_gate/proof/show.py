"""A proof for people: as rows of text, as Markdown for the summary of a CI job, and the places to annotate. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from phase_gate.gate.inventory import split_id
from phase_gate.proof.base import sum_up
from phase_gate.proof.change import Change
from phase_gate.proof.experiment import is_objection
from phase_gate.proof.model import MEANINGS, FunctionProof, Proof, TargetProof, Verdict, say_broken
from phase_gate.report.ci import Place
from phase_gate.report.text import ALTERED, say_emptied
from phase_gate.source import PASSES_ALREADY
from phase_gate.visible import count, name_first, show_rows

#: What stands in front of a target: shapes, so that colour is not needed.
_SIGNS: dict[Verdict, str] = {
    "proven": "+",
    "passes-without": "-",
    "fails-with": "-",
    "row-changed": "-",
    "cannot-fail": "-",
    "checks-nothing": "!",
    "no-change": "=",
    "nothing-raised": "?",
    "flaky": "?",
    "skipped": "?",
    "unknown": "?",
}
#: What to do about a test that checks nothing.
_COMPARE = "its check holds for any answer, so compare the answer with a value"
#: Rows of what a reader has to look at come first.
_ORDER = "-?!=+"


def proof_text(proof: Proof, change: Change | None = None, *, strict: bool = False) -> str:
    """Return a row for each target and each function that no target notices.

    :param change: what is proven, where it is a change and not a task.
    :param strict: whatever is not shown counts against it.
    """
    rows = [*_rows(proof, change, strict=strict), *([] if change is None else _rows_of_change(change))]
    return show_rows([*rows, _sum_up(proof, change), *_next(proof, change, strict=strict)])


def _next(proof: Proof, change: Change | None, *, strict: bool) -> list[str]:
    """Return what to do about a change that is refused."""
    refused = [each for each in proof.targets if is_objection(each, required=strict)]
    if change is None or not refused:
        return []
    failing = [each.id for each in refused if each.verdict == "fails-with"]
    if failing:
        return [f"next: mend what fails: pytest {failing[0]}"]
    unfailing = [f"{split_id(each.id)[0]}:{each.line}" for each in refused if each.verdict == "cannot-fail"]
    if unfailing:
        return [f"next: mend the check that can't fail: {unfailing[0]}"]
    passing = [each.id for each in refused if each.verdict == "passes-without"]
    if passing:
        mark = f'mark what guards something that works already: @pytest.mark.{PASSES_ALREADY}("why")'
        register = f"; register the mark for pytest without this plugin, markers = {PASSES_ALREADY}"
        todo = "let them fail" if len(passing) > 1 else "let it fail"
        return [f"next: {todo} without the change, or {mark}{register if change.must_register else ''}"]
    return ["next: mend what keeps them from an answer, or leave out --strict"] if strict else []


def _rows(proof: Proof, change: Change | None, *, strict: bool) -> Iterator[str]:
    for sign, target in _in_order(proof, strict=strict):
        yield f"{sign} {target.id}"
        yield f"    {_say(proof, target, change)}"
        if target.advice:
            yield f"    {target.advice}"
    for function in proof.unnoticed:
        yield f"! {place_of(function)}"
        yield f"    {_say_unnoticed(proof, function)}"
    yield from (f"note: {text}" for text in proof.notes)


def _in_order(proof: Proof, *, strict: bool) -> list[tuple[str, TargetProof]]:
    rows = [(_sign(each, strict=strict), each) for each in proof.targets]
    return sorted(rows, key=lambda row: _ORDER.index(row[0]))


def _sign(target: TargetProof, *, strict: bool) -> str:
    if target.is_tolerated and not strict:
        return "?" if target.old_version else "="
    if target.worked_with:
        return "!"
    return _SIGNS[target.verdict]


def _rows_of_change(change: Change) -> Iterator[str]:
    yield from (f"  {test_id}: marked as passing already" for test_id in change.marked)
    yield from (f"  {test_id}: moved, with the same body" for test_id in change.moved)


def _say(proof: Proof, target: TargetProof, change: Change | None) -> str:
    meaning = MEANINGS[target.verdict]
    if change is not None and target.verdict == "fails-with":
        meaning = "fails with the change"  # nothing is frozen: all is there as it lies in the project
    why = target.why or (_COMPARE if target.verdict == "checks-nothing" else "")
    said = f"{meaning}: {why}" if why else meaning
    if target.worked_with:
        said = f"{said}; {say_broken(target)}"
    places = {f"{each.file}::{each.name}": place_of(each) for each in proof.functions}
    noticed = name_first(places.get(name, name) for name in target.notices)
    return f"{said}; notices {noticed}" if noticed and target.verdict == "proven" else said


def _say_unnoticed(proof: Proof, function: FunctionProof) -> str:
    if proof.is_called(function):
        return "no target notices when it does nothing: check what it returns or changes"
    return "no target calls it, unless in a child process, which is not seen"


def place_of(function: FunctionProof) -> str:
    return f"{function.file}:{function.line} {function.name}"


def _sum_up(proof: Proof, change: Change | None) -> str:
    if proof.problem:
        return f"no proof: {proof.problem}"
    spent = f"{count(proof.starts, 'run')} of pytest in {proof.seconds:g} s"
    if change is not None:
        return f"{sum_up(proof, change)} ({spent})" if proof.starts else sum_up(proof, change)
    if not proof.targets:
        return "nothing to prove"
    return f"{proof.count('proven')} of {count(len(proof.targets), 'target')} proven ({spent})"


def runs_text(proof: Proof) -> str:
    """Return the runs of each target side by side."""
    rows = [f"  {'without':8} {'with':8} {'altered':12} {'emptied':12} target"]
    for target in proof.targets:
        emptied = say_emptied(target.notices, was_tried=target.was_tried)
        altered = ALTERED[target.altered]
        rows.append(f"  {target.control:8} {target.treatment:8} {altered:12} {emptied:12} {target.id}")
        if target.verdict != "proven":
            rows.append(f"      {_say(proof, target, None)}")
        if target.advice:
            rows.append(f"      {target.advice}")
    return show_rows([*rows, f"  {_sum_up(proof, None)}"])


def proof_markdown(proof: Proof, change: Change | None = None, *, strict: bool = False) -> str:
    """Return it as Markdown: a table of targets, and a list of functions."""
    rows = ["## Proof", "", _sum_up(proof, change), ""]
    for text in _next(proof, change, strict=strict):
        rows += [text, ""]
    if proof.targets:
        rows += ["| test | without the change | with it | expecting something else | verdict |"]
        rows += ["| --- | --- | --- | --- | --- |"]
        for _, each in _in_order(proof, strict=strict):
            said = _cell(_say(proof, each, change))
            cells = (f"`{_cell(each.id)}`", each.control, each.treatment, ALTERED[each.altered], said)
            rows.append(f"| {' | '.join(cells)} |")
        rows.append("")
    if proof.unnoticed:
        rows += [f"- `{_cell(place_of(each))}`: {_say_unnoticed(proof, each)}" for each in proof.unnoticed]
        rows.append("")
    if proof.notes:
        rows += [f"- note: {_cell(each)}" for each in proof.notes]
        rows.append("")
    if change is not None and (change.marked or change.moved):
        rows += [f"- {_cell(row.strip())}" for row in _rows_of_change(change)]
        rows.append("")
    return show_rows(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")


def proof_places(proof: Proof, change: Change, *, strict: bool) -> Iterator[Place]:
    """Yield what a CI system shows beside the lines of a pull request: errors for what refuses it, and doubts."""
    rows = [each for _, each in _in_order(proof, strict=strict)]
    refused = [each for each in rows if is_objection(each, required=strict)]
    doubted = [each for each in rows if each not in refused and _is_doubtful(each)]
    for each in (*refused, *doubted):
        file, name = split_id(each.id)
        text = f"{name}: {_say(proof, each, change)}"
        yield Place(file=file, line=change.lines.get(each.id, 1), text=text, is_error=each in refused)


def _is_doubtful(target: TargetProof) -> bool:
    return target.verdict in ("unknown", "flaky") or bool(target.old_version)
