"""The table of rows 41 to 58 in docs/explanation/false-greens.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.proof.cheat import Cheat
from tests.proof.cheats import CHEATS
from tests.proof.cheats_checks import CHEATS_OF_CHECKS, HONEST_CHECKS
from tests.proof.cheats_outside import CHEATS_OUTSIDE
from tests.proof.cheats_sandbox import CHEATS_OF_SANDBOXES, HONEST_SANDBOXES
from tests.proof.cheats_unfailing import CHEATS_UNFAILING, HONEST_UNFAILING
from tests.proof.honest import HONEST

ALL_CHEATS: tuple[Cheat, ...] = (
    *CHEATS,
    *CHEATS_OUTSIDE,
    *CHEATS_OF_CHECKS,
    *CHEATS_UNFAILING,
    *CHEATS_OF_SANDBOXES,
)
ALL_HONEST: tuple[Cheat, ...] = (*HONEST, *HONEST_CHECKS, *HONEST_UNFAILING, *HONEST_SANDBOXES)

#: What only the experiment refuses stands before the others: of each row, the suite tries the first.
ESSENTIAL_FIRST: tuple[Cheat, ...] = tuple(sorted(ALL_CHEATS, key=lambda each: each.by != "experiment"))


def table() -> list[str]:
    """Return the rows of the table."""
    head = ("row", "what was done after RED", "without a proof", "with a proof")
    return [
        _line(head),
        _line("---" for _ in head),
        *(_line((str(each.row), each.name, *_answers(each))) for each in ALL_CHEATS),
    ]


def twins_table() -> list[str]:
    """Return the rows of the table of honest twins: each opens both gates with a proof."""
    return ["| row | honest |", "| --- | --- |", *(_line((str(each.row), each.name)) for each in ALL_HONEST)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _answers(cheat: Cheat) -> tuple[str, str]:
    if cheat.by == "recognition":
        return f"closed: `{cheat.told_by}`", "closed"
    if cheat.by == "advice":
        return f"opens, and names it: {cheat.told_by}", "the same"
    if cheat.by == "named":
        return "**opens**", f"opens, and names it: {cheat.told_by}"
    return "**opens**", f"closed: {cheat.told_by}"


def count_by() -> str:
    """Return how many are told by what."""
    counts = Counter(each.by for each in ALL_CHEATS)
    return (
        f"{len(ALL_CHEATS)} false greens: {counts['recognition']} refused by recognition, {counts['experiment']} only "
        f"by experiment, {counts['advice'] + counts['named']} named only; {len(ALL_HONEST)} honest twins open."
    )
