"""How often this suite is green on code that is not: an estimate from its own history.

Pure. A tree on which some complete run was red is bad; how many of its runs were green all the same tells how many
greens in a row it takes until a false one is unlikely.
"""

from __future__ import annotations

import math

from phase_gate.values import Value, replace

#: The parameter that says how many greens in a row a phase wants.
GREEN_RUNS = "required_green_runs"

#: Greens in a row that are never enough, and more than users wait for.
FEWEST, MOST = 2, 10
#: How likely a false green may be.
USUAL_LIMIT = 0.01


class Flakiness(Value):
    """Counts over the complete runs of a task."""

    #: The present tree, and its runs so far.
    tree: str = ""
    greens: int = 0
    reds: int = 0
    #: All runs on earlier trees that were bad, and the green ones among them.
    bad_runs: int = 0
    bad_greens: int = 0

    @property
    def chance(self) -> float:
        """The chance that one run on a bad tree is green: Laplace's estimate, so that few runs prove little."""
        runs, greens = self.bad_runs, self.bad_greens
        if self.reds:
            runs, greens = runs + self.greens + self.reds, greens + self.greens
        return (greens + 1) / (runs + 2)

    def greens_needed(self, limit: float = USUAL_LIMIT) -> int:
        """Return how many greens in a row make a false one less likely than the limit."""
        if not self.bad_runs and not self.reds:
            return FEWEST  # no bad tree was ever seen: nothing is known against the usual number
        return max(FEWEST, min(MOST, math.ceil(math.log(limit) / math.log(self.chance))))


def after_run(flakiness: Flakiness, tree: str, *, is_green: bool, began: str = "") -> Flakiness:
    """Return the counts after one more complete run.

    :param tree: what it left.
    :param began: what it began on: what it wrote itself is no change.
    """
    if flakiness.tree in (began, tree):
        flakiness = replace(flakiness, tree=tree)
    else:
        is_bad = flakiness.reds > 0
        flakiness = Flakiness(
            tree=tree,
            bad_runs=flakiness.bad_runs + (flakiness.greens + flakiness.reds if is_bad else 0),
            bad_greens=flakiness.bad_greens + (flakiness.greens if is_bad else 0),
        )
    return replace(flakiness, greens=flakiness.greens + is_green, reds=flakiness.reds + (not is_green))
