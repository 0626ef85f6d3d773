"""Show a proof as text, as Markdown for the summary of a CI job, and as annotations. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from phase_gate.gate.inventory import split_id
from phase_gate.proof.base import Change, sum_up
from phase_gate.proof.verdicts import MEANINGS, Proof, TargetProof, describe_broken
from phase_gate.report.ci_files import Place
from phase_gate.values import Value, replace
from phase_gate.visible import count, name_first, show_rows
from phase_gate.workflow.names import PASSES_ALREADY

#: Problems come first.
_ORDER = "-?!=+ "


class Row(Value):
    """The result for a target, a function or a check, and the place to annotate."""

    sign: str
    title: str
    detail: str = ""
    place: Place | None = None


class RenderedProof(Value):
    """The whole text: title, rows and summary."""

    title: str
    rows: tuple[Row, ...]
    #: The summary, and the next step.
    end: tuple[str, ...]

    @property
    def text(self) -> str:
        lines = []
        for row in self.rows:
            lines.append(f"{row.sign} {row.title}")
            if row.detail:
                lines.append(f"    {row.detail}")
        return show_rows([*lines, *self.end])

    @property
    def markdown(self) -> str:
        rows = [f"- {row.title}{f': {row.detail}' if row.detail else ''}" for row in self.rows]
        return show_rows([f"## {self.title}", "", *rows, *([""] if rows else []), *self.end, ""])

    @property
    def places(self) -> list[Place]:
        return sorted((row.place for row in self.rows if row.place), key=lambda place: not place.is_error)


def render_proof(proof: Proof, change: Change | None = None, *, strict: bool = False) -> RenderedProof:
    """Return a row for each target, and for each function that no target notices.

    :param change: the change that is proven. None for a task.
    :param strict: whether targets without a clear result are refused, too.
    """
    rows = [_row(each, proof, change, strict=strict) for each in proof.targets]
    rows.sort(key=lambda row: _ORDER.index(row.sign))
    unnoticed = "no target notices when it does nothing: check what it returns or changes"
    rows += [Row(sign="!", title=each.place, detail=unnoticed) for each in proof.unnoticed]
    rows += [Row(sign=" ", title=f"note: {text}") for text in proof.notes]
    if change is not None:
        rows += [Row(sign=" ", title=f"{each}: marked as passing already") for each in change.marked]
        rows += [Row(sign=" ", title=f"{each}: moved, with the same body") for each in change.moved]
    end = (_sum_up(proof, change), *_next(proof, change, strict=strict))
    return RenderedProof(title="Proof", rows=tuple(rows), end=end)


def _row(target: TargetProof, proof: Proof, change: Change | None, *, strict: bool) -> Row:
    sign = "!" if target.worked_with else MEANINGS[target.verdict].sign
    if target.is_tolerated and not strict:
        sign = "="
    description = _describe(proof, target, change)
    file, name = split_id(target.id)
    is_refused = target.closes(required=strict)
    is_doubtful = target.verdict in ("unknown", "flaky")
    line = target.line or (1 if change is None else change.lines.get(target.id, 1))
    return Row(
        sign=sign,
        title=target.id,
        detail=description,
        place=Place(file=file, line=line, text=f"{name}: {description}", is_error=is_refused)
        if is_refused or is_doubtful
        else None,
    )


def _describe(proof: Proof, target: TargetProof, change: Change | None) -> str:
    description = target.description
    if change is not None and target.verdict == "fails-with":
        description = f"fails with the change{target.reason}"  # no tests are frozen
    if target.worked_with:
        description = f"{description}; {describe_broken(target)}"
    places = {f"{each.file}::{each.name}": each.place for each in proof.functions}
    noticed = name_first(places.get(name, name) for name in target.notices)
    return f"{description}; notices {noticed}" if noticed else description


def _sum_up(proof: Proof, change: Change | None) -> str:
    if proof.problem:
        return f"no proof: {proof.problem}"
    spent = _spent(proof)
    if change is not None:
        return f"{sum_up(proof, change)} ({spent})" if proof.starts else sum_up(proof, change)
    if not proof.targets:
        return "nothing to prove"
    return f"{proof.count('proven')} of {count(len(proof.targets), 'target')} proven ({spent})"


def _spent(proof: Proof) -> str:
    return f"{count(proof.starts, 'run')} of pytest in {proof.seconds:g} s"


def _next(proof: Proof, change: Change | None, *, strict: bool) -> Iterator[str]:
    """Yield the next step for a change that is refused."""
    refused = [each for each in proof.targets if each.closes(required=strict)]
    if change is None or not refused:
        return
    by_verdict = {each.verdict: each for each in reversed(refused)}
    if failing := by_verdict.get("fails-with"):
        yield f"next: fix the failing test: pytest {failing.id}"
    elif unfailing := by_verdict.get("cannot-fail"):
        yield f"next: fix the check that can't fail: {split_id(unfailing.id)[0]}:{unfailing.line}"
    elif "passes-without" in by_verdict:
        todo = "let it fail" if len(refused) == 1 else "let them fail"
        mark = f'@pytest.mark.{PASSES_ALREADY}("why")'
        yield f"next: {todo} without the change, or mark what guards something that works already: {mark}"
    elif strict:
        yield "next: fix the cause, or leave out --strict"


def render_suite(proof: Proof) -> RenderedProof:
    """Return a row for each test whose check can't fail, or that could not be tried."""
    noted = tuple(each for each in proof.targets if not each.has("silent"))
    rendered = render_proof(replace(proof, targets=noted))
    return replace(rendered, title="Checks that can't fail", end=(_sum_up_suite(proof),))


def _sum_up_suite(proof: Proof) -> str:
    if proof.problem:
        return f"nothing tried: {proof.problem}"
    tried = sum(each.altered != "nothing" for each in proof.targets)
    return (
        f"{count(proof.count('cannot-fail'), 'test')} can't fail; {tried} of "
        f"{count(len(proof.targets), 'passing test')} had something to alter ({_spent(proof)})"
    )
