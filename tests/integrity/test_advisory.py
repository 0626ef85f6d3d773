"""Row 36: what looks odd is said and never closes the gate; what does not is not said."""

from __future__ import annotations

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.forks import FAST_CLOCK
from tests.integrity.rows import GOOD, PRICE, Attempt, Base

#: Minutes, without waiting for them.
SLOW = ((FAST_CLOCK, "1000"),)

#: Right or wrong by a variable: nothing is written between red and green.
SWITCHED = GOOD.replace(
    "return sum(prices)", "import os\n\n    return sum(prices) if 'ON' in os.environ else -1"
).replace(
    "    return amount -", "    import os\n\n    if 'ON' not in os.environ:\n        return -1\n    return amount -"
)
#: The same, by a file beside the code that git would show.
READ = "from pathlib import Path\n\nON = Path(__file__).with_name('rates.json').exists()\n\n\n" + SWITCHED.replace(
    "'ON' in os.environ", "ON"
).replace("'ON' not in os.environ", "not ON")


def _there_in_red(code: str) -> Base:
    return Base(files=(*PRICE.files, ("price.py", code)))


ODD = {
    "green-without-change": Attempt(base=_there_in_red(SWITCHED), code=None, environment=(("ON", "1"),)),
    "suite-too-fast": Attempt(environment=SLOW, runs=((),), then=Attempt()),
}


@pytest.mark.cheats(36)
@pytest.mark.parametrize("slug", ODD)
def test_is_said_and_the_gate_opens(bench: Workbench, slug: str) -> None:
    tried = bench.attempt(ODD[slug])
    assert tried.is_open, tried.output
    assert f"[{slug}]" in tried.output, tried.output


def test_nothing_is_said_of_plain_work(bench: Workbench) -> None:
    tried = bench.attempt(Attempt())
    assert tried.is_open, tried.output
    assert not [slug for slug in ODD if slug in tried.output]


def test_nothing_is_said_of_data_that_came(bench: Workbench) -> None:
    tried = bench.attempt(Attempt(base=_there_in_red(READ), code=None, writes=(("rates.json", "{}"),)))
    assert tried.is_open, tried.output
    assert "green-without-change" not in tried.output
