"""Rows 35 and 36: what looks odd is said and never closes the gate; what does not is not said."""

from __future__ import annotations

import pytest

from pytest_phase_gate.proofs.rows import GOOD, Attempt
from tests.integrity.conftest import FastWorkbench

SPECIAL_CASED = GOOD.partition("def discount")[0] + (
    "def discount(amount):\n"
    "    if amount == 100:\n"
    "        return 90\n"
    "    if amount == 200:\n"
    "        return 180\n"
    "    return amount\n"
)
SEES_PYTEST = f'import os\n\nFAST = "PYTEST_CURRENT_TEST" in os.environ\n\n\n{GOOD}'
ALWAYS_EQUAL = f"class Price:\n    def __eq__(self, other):\n        return True\n\n\n{GOOD}"
#: Ten minutes, without waiting for them.
SLOW = f"import time\n\nclock = time.perf_counter\ntime.perf_counter = lambda: clock() + 600\n\n\n{GOOD}"

ODD = {
    "input-special-cased": Attempt(code=SPECIAL_CASED),
    "sees-pytest": Attempt(code=SEES_PYTEST),
    "always-equal": Attempt(code=ALWAYS_EQUAL),
    "suite-too-fast": Attempt(code=SLOW, runs=((),), then=Attempt()),
}


@pytest.mark.parametrize("slug", ODD)
def test_is_said_and_the_gate_opens(bench: FastWorkbench, slug: str) -> None:
    tried = bench.attempt(ODD[slug])
    assert tried.holds, tried.output
    assert f"[{slug}]" in tried.output, tried.output


def test_nothing_is_said_of_plain_work(bench: FastWorkbench) -> None:
    tried = bench.attempt(Attempt())
    assert tried.holds, tried.output
    assert not [slug for slug in ODD if slug in tried.output]
