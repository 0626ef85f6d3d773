"""How tests ended over the last complete runs, and which of them are flaky. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from phase_gate.gate.inventory import split_id
from phase_gate.gate.outcomes import FAILING
from phase_gate.report.story import ABSENT, TestHistory, TestRow
from phase_gate.values import Value

#: Complete runs that are looked through for flaky tests, and those of them that are shown.
COMPARED, SHOWN = 300, 60
#: Tests that are listed; the most telling ones first.
LISTED = 150
#: Those among them that passed every time, where there is room: they tell little.
_CALM_LISTED = 30

#: Outcomes with a letter of their own in a history. All others show nothing, as a skip.
_LETTERS: Mapping[str, str] = {**dict.fromkeys(FAILING, "f"), "passed": "p", "xpassed": "p", "flaky": "k"}

Load = Callable[[str], Any]


class Sampled(Value):
    """Where a complete run's outcomes are stored."""

    number: int
    tree: str
    inventory: str
    outcomes: str


def build_test_history(samples: Iterable[Sampled], load: Load) -> TestHistory:
    """Return the tests that have something to tell, as the last complete runs saw them."""
    compared = [each for each in samples if load(each.outcomes) is not None and load(each.inventory) is not None]
    if not compared:
        return TestHistory()
    shown = compared[-SHOWN:]
    flaky = _find_flaky(compared, load)
    failures = Counter(
        test_id for each in shown for test_id, bucket in load(each.outcomes).items() if bucket in FAILING
    )
    odd = {test_id for each in shown for test_id in load(each.outcomes)} | flaky
    last = load(shown[-1].outcomes)
    names: dict[tuple[str, str], frozenset[str]] = {}

    def letter(sample: Sampled, test_id: str) -> str:
        bucket = load(sample.outcomes).get(test_id)
        if bucket is not None:
            return _LETTERS.get(bucket, "s")
        path, name = split_id(test_id)
        key = (sample.inventory, path)
        if key not in names:  # one file at a time: an inventory may have a hundred thousand tests
            names[key] = frozenset(load(sample.inventory)["files"].get(path, {}).get("ids", ()))
        return "p" if name in names[key] else ABSENT

    def rank(test_id: str) -> tuple[object, ...]:
        return (test_id not in flaky, last.get(test_id) not in FAILING, -failures[test_id], test_id)

    ranked = sorted(odd, key=rank)
    listed = ranked[:LISTED]
    now = [
        f"{path}::{name}" if name else path
        for path, file in sorted(load(shown[-1].inventory)["files"].items())
        for name in file["ids"]
    ]
    calm = [test_id for test_id in now if test_id not in odd]
    quiet = calm[min(_CALM_LISTED, LISTED - len(listed)) :]
    listed += calm[: len(calm) - len(quiet)]
    rows = tuple(
        TestRow(
            id=test_id,
            cells="".join(letter(each, test_id) for each in shown),
            is_flaky=test_id in flaky,
            is_failing=last.get(test_id) in FAILING,
            failures=failures[test_id],
        )
        for test_id in listed
    )
    return TestHistory(
        runs=tuple(each.number for each in shown),
        rows=rows,
        quiet=len(quiet),
        left_out=max(0, len(ranked) - LISTED),
    )


def _find_flaky(samples: Sequence[Sampled], load: Load) -> set[str]:
    """Return the tests that ended in two ways on one tree: one of them failing, or passed only by a rerun."""
    flaky: set[str] = set()
    by_tree: dict[str, list[Mapping[str, str]]] = {}
    for each in samples:
        outcomes = load(each.outcomes)
        flaky |= {test_id for test_id, bucket in outcomes.items() if bucket == "flaky"}
        by_tree.setdefault(each.tree, []).append(outcomes)
    for runs in by_tree.values():
        failing = [{test_id for test_id, bucket in outcomes.items() if bucket in FAILING} for outcomes in runs]
        flaky |= failing[0].union(*failing) - failing[0].intersection(*failing)
    return flaky
