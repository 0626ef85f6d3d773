"""Which mutant is tried first, with which tests, and for how long. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from phase_gate.mutation.model import Baseline, Mutant

#: How many times longer than without it the tests may take with a mutant: several run side by side.
_TIMES = 4.0
#: Seconds on top: a test of a millisecond may wait that long for a processor.
_SPARE = 3.0


def order_mutants(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Return them so that each statement has its first one before any has its second: time may run out."""
    seen: Counter[tuple[str, int]] = Counter()
    ranked = []
    for mutant in sorted(mutants, key=lambda each: (each.file, each.line, each.column, each.end_column, each.text)):
        place = (mutant.file, mutant.first)
        ranked.append((seen[place], mutant))
        seen[place] += 1
    return [mutant for _, mutant in sorted(ranked, key=lambda each: each[0])]


def choose_tests(mutant: Mutant, baseline: Baseline, targets: Iterable[str]) -> tuple[str, ...]:
    """Return the tests to try it with: those that reach its statement.

    What runs when a module is imported may matter to all that use the module. Where nothing was seen (a child process,
    say), the targets have the word; without targets all tests.
    """
    lines = baseline.lines.get(mutant.file, {})
    reached = {test for line in range(mutant.first, mutant.last + 1) for test in lines.get(str(line), ())}
    known = baseline.tests.keys()
    chosen = (reached - {""}) & known
    if not chosen:
        chosen = set(targets) & known
        if "" in reached:
            chosen |= {test for tests in lines.values() for test in tests} & known
    return tuple(sorted(chosen or known))


def limit_of(tests: Iterable[str], baseline: Baseline) -> float:
    """Return how many seconds the tests may take with a mutant."""
    return _SPARE + _TIMES * (baseline.overhead + sum(baseline.tests[test] for test in tests))
