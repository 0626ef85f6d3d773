"""Rows 35 and 36: what looks odd is said and never closes the gate; what does not is not said."""

from __future__ import annotations

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.forks import FAST_CLOCK
from tests.integrity.rows import GOOD, PRICE, Attempt, Base

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
SEES_CALLER = (
    'import sys\n\n\ndef is_tested():\n    return sys._getframe(1).f_code.co_name.startswith("test_")\n\n\n' + GOOD
)
READS_TESTS = f'def rules():\n    return open("test_price.py").read()\n\n\n{GOOD}'
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
    "input-special-cased": Attempt(code=SPECIAL_CASED),
    "sees-pytest": Attempt(code=SEES_PYTEST),
    "always-equal": Attempt(code=ALWAYS_EQUAL),
    "sees-caller": Attempt(code=SEES_CALLER),
    "reads-tests": Attempt(code=READS_TESTS),
    "suite-too-fast": Attempt(environment=SLOW, runs=((),), then=Attempt()),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "slug", [pytest.param(slug, marks=pytest.mark.cheats(36 if slug == "suite-too-fast" else 35)) for slug in ODD]
)
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
