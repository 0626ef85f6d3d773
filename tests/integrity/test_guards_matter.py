"""Each guard does the refusing: without it, the very cheat that it refuses opens Gate 1."""

from __future__ import annotations

import pytest

from phase_gate.values import replace
from tests.integrity.bench import Workbench
from tests.integrity.cheats_criteria import UNSHOWN
from tests.integrity.forks import WITHOUT
from tests.integrity.rows import BAD, CONFIGURATION, GOOD, PRICE, TEST_FILE, TESTS, Attempt, Base, edit
from tests.integrity.shared import NOTHING_TEST

_LAX_RULES = """\
phases:
  GREEN:
    condition: tests_total > 0 AND tests_failing == 0
    replace: true
"""

#: The clauses of GREEN refuse a skip, too; with these rules, there from the beginning, only the guard is left.
_LAX = Base(
    files=(
        *PRICE.files,
        ("phase-gate.yaml", _LAX_RULES),
    )
)

#: What is outside of the project can be imported, as it can be with a path in the environment.
_OUTSIDE = Base(files=(("pytest.ini", CONFIGURATION.replace("= .", "= . ../elsewhere")), (TEST_FILE, TESTS)))

CHEATS: dict[str, Attempt] = {
    # Green twice, as it should be; then the code breaks, and the run looks away.
    "complete-run": Attempt(then=Attempt(code=BAD, runs=(("-k", "not nothing"),))),
    "tests-kept": edit(NOTHING_TEST, "", code=BAD),
    "tests-unchanged": edit("total([]) == 0", "total([]) in (0, None)", code=BAD),
    "no-new-skips": Attempt(base=_LAX, code=f"import pytest\n\n\n{BAD.replace('else None', 'else pytest.skip()')}"),
    "rules-unchanged": Attempt(writes=(("pytest.ini", f"{CONFIGURATION}xfail_strict = true\n"),)),
    "criteria-covered": UNSHOWN,
    # The module that was missing in RED comes from outside of the project.
    "red-was-seen": Attempt(
        base=_OUTSIDE, code=None, writes=(("../elsewhere/price.py", GOOD),), after=(("rm", "-r", "../elsewhere"),)
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("guard", CHEATS)
def test_refuses_with_the_guard_and_opens_without(bench: Workbench, guard: str) -> None:
    cheat = CHEATS[guard]
    refused = bench.attempt(cheat)
    assert refused.status == 10, refused.output
    assert f"guard {guard}" in refused.output, refused.output
    without = replace(cheat, base=replace(cheat.base, environment=((WITHOUT, guard),)))
    opened = bench.attempt(without)
    # The status of the run, not what `check` says: that one wants a run that counts, which is a second line.
    assert opened.status == 0, opened.output
