"""Mutants for people: as rows of text, and as Markdown for the summary of a CI job. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from phase_gate.mutation.model import COUNTED, Mutant, Mutation, Tried
from phase_gate.visible import count, show_rows

#: What stands in front of one: shapes, so that colour is not needed.
_SIGNS = {"survived": "-", "timeout": "!", "unknown": "?", "killed": "+"}
#: Tests that are named beside a mutant.
_NAMED = 3


def mutation_text(mutation: Mutation, *, is_last: bool = True) -> str:
    """Return each mutant that no test noticed, with its diff, and the sum.

    :param is_last: nothing follows, so what to do next is said here.
    """
    rows: list[str] = []
    for tried in _worth_showing(mutation):
        rows.append(f"{_SIGNS[tried.verdict]} {tried.mutant.place}  {_say(tried)}")
        if tried.verdict == "survived":
            rows += [f"    {row}" for row in (*tried.diff.splitlines(), f"passed: {name_tests(tried.tests)}")]
    return show_rows([*rows, *_notes(mutation), _sum_up(mutation), *(_next(mutation) if is_last else ())])


def dry_text(mutants: Iterable[Mutant], since: str) -> str:
    """Return the mutants that would be tried, in their order."""
    listed = list(mutants)
    rows = [f"  {each.place}  {each.change}" for each in listed]
    return show_rows([*rows, f"{count(len(listed), 'mutant')} of lines that are new since {since}; none was tried"])


def mutation_markdown(mutation: Mutation) -> str:
    rows = ["## Mutants", "", _sum_up(mutation), ""]
    for tried in _worth_showing(mutation):
        rows.append(f"- `{tried.mutant.place}`: {_say(tried)}")
        if tried.verdict == "survived":
            rows += ["", "  ```diff", *(f"  {row}" for row in tried.diff.splitlines()), "  ```", ""]
            rows += [f"  passed: {name_tests(tried.tests)}", ""]
    rows += [f"- {note}" for note in _notes(mutation)]
    return show_rows(rows)


def _worth_showing(mutation: Mutation) -> Iterator[Tried]:
    order = ("survived", "timeout", "unknown")
    shown = [each for each in mutation.tried if each.verdict in order]
    yield from sorted(
        shown, key=lambda each: (order.index(each.verdict), each.mutant.file, each.mutant.line, each.mutant.column)
    )


def _say(tried: Tried) -> str:
    if tried.verdict == "survived":
        return f"no test notices {tried.mutant.change}"
    if tried.verdict == "timeout":
        return f"the tests do not end with {tried.mutant.change}: {tried.why}"
    return f"could not be tried with {tried.mutant.change}: {tried.why}"


def name_tests(tests: tuple[str, ...]) -> str:
    """Name the first of some tests."""
    more = len(tests) - _NAMED
    return ", ".join(tests[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _notes(mutation: Mutation) -> Iterator[str]:
    baseline = mutation.baseline
    if baseline is not None and baseline.blind:
        yield f"note: which test reaches which line is unknown ({baseline.blind}): the targets were tried with each"
    if mutation.excused:
        yield f"note: `pragma: no mutate` excuses {count(mutation.excused, 'new line')}"


def _sum_up(mutation: Mutation) -> str:
    if mutation.problem:
        return f"{'it ended early' if mutation.tried else 'no mutant was tried'}: {mutation.problem}"
    if not mutation.tried and not mutation.left:
        return f"no mutants: no line that can be mutated is new since {mutation.since}"
    counts = ", ".join(f"{mutation.count(verdict)} {_WORDS[verdict]}" for verdict in COUNTED)
    spent = (
        f"{count(mutation.starts, 'run')} of pytest in {mutation.seconds:g} s" if mutation.starts else "tried before"
    )
    left = f"; {mutation.left} not tried yet" if mutation.left else ""
    begin = "interrupted: " if mutation.is_interrupted else ""
    return f"{begin}{count(mutation.total, 'mutant')}: {counts}{left} ({spent})"


_WORDS = {"survived": "survived", "timeout": "timed out", "killed": "killed"}


def _next(mutation: Mutation) -> Iterator[str]:
    if mutation.problem:
        return
    if mutation.left:
        yield "next: phase-gate mutate  # goes on where this call ended; until then the metrics are unknown"
    elif mutation.survivors:
        yield "next: phase-gate mutate --as-red  # makes each survivor a criterion that the next RED has to show"
