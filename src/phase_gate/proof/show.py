"""A proof for people: as rows of text, and as Markdown for the summary of a CI job. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from phase_gate.proof.base import Change
from phase_gate.proof.model import MEANINGS, FunctionProof, Proof, TargetProof, Verdict
from phase_gate.report.proof import say_emptied
from phase_gate.visible import count, show_rows

#: What stands in front of a target: shapes, so that colour is not needed.
_SIGNS: dict[Verdict, str] = {
    "proven": "+",
    "passes-without": "-",
    "fails-with": "-",
    "checks-nothing": "!",
    "flaky": "?",
    "skipped": "?",
    "unknown": "?",
}


def proof_text(proof: Proof, change: Change | None = None) -> str:
    """Return a row for each target and each function that no target notices."""
    rows = [*_rows(proof), *([] if change is None else _rows_of_change(change))]
    return show_rows([*rows, _sum_up(proof), *_next(proof, change)])


def _next(proof: Proof, change: Change | None) -> list[str]:
    """Return what to do about tests that say nothing of a change."""
    if change is None or not proof.count("passes-without"):
        return []
    return ['next: let it fail without the change, or mark it: @pytest.mark.passes_already("why")']


def _rows(proof: Proof) -> Iterator[str]:
    for target in proof.targets:
        yield f"{_SIGNS[target.verdict]} {target.id}"
        yield f"    {_say(target)}"
    for function in proof.unnoticed:
        yield f"! {_place(function)}"
        yield f"    {_say_unnoticed(proof, function)}"
    yield from (f"note: {text}" for text in proof.notes)


def _rows_of_change(change: Change) -> Iterator[str]:
    yield from (f"  {test_id}: marked as passing already" for test_id in change.marked)
    yield from (f"  {test_id}: moved, with the same body" for test_id in change.moved)


def _say(target: TargetProof) -> str:
    said = f"{MEANINGS[target.verdict]}: {target.why}" if target.why else MEANINGS[target.verdict]
    noticed = ", ".join(name.partition("::")[2] for name in target.notices)
    return f"{said}; notices {noticed}" if noticed else said


def _say_unnoticed(proof: Proof, function: FunctionProof) -> str:
    if proof.is_called(function):
        return f"no target notices when {function.name} does nothing"
    return f"no target calls {function.name}, unless in a child process, which is not seen"


def _place(function: FunctionProof) -> str:
    return f"{function.file}:{function.line}"


def _sum_up(proof: Proof) -> str:
    if proof.problem:
        return f"no proof: {proof.problem}"
    if not proof.targets:
        return "no new or changed test: nothing to prove"
    proven = proof.count("proven")
    spent = f"{count(proof.starts, 'run')} of pytest in {proof.seconds:g} s"
    return f"{proven} of {count(len(proof.targets), 'target')} proven ({spent})"


def runs_text(proof: Proof) -> str:
    """Return the three runs of each target side by side."""
    rows = [f"  {'without':8} {'with':8} {'emptied':12} target"]
    for target in proof.targets:
        emptied = say_emptied(target.notices, was_tried=target.was_tried)
        rows.append(f"  {target.control:8} {target.treatment:8} {emptied:12} {target.id}")
        if target.verdict != "proven":
            rows.append(f"      {_say(target)}")
    return show_rows([*rows, f"  {_sum_up(proof)}"])


def proof_markdown(proof: Proof, change: Change | None = None) -> str:
    """Return it as Markdown: a table of targets, and a list of functions."""
    rows = ["## Proof", "", _sum_up(proof), ""]
    for text in _next(proof, change):
        rows += [text, ""]
    if proof.targets:
        rows += ["| test | without the change | with it | verdict |", "| --- | --- | --- | --- |"]
        rows += [
            f"| `{_cell(each.id)}` | {each.control} | {each.treatment} | {_cell(_say(each))} |"
            for each in proof.targets
        ]
        rows.append("")
    if proof.unnoticed:
        rows += [f"- {_cell(_say_unnoticed(proof, each))} ({_cell(_place(each))})" for each in proof.unnoticed]
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
