"""What is left out of the suite, and what never is."""

from __future__ import annotations

import pytest

from tests.clause_report import load_criteria
from tests.conftest import ROOT
from tests.integrity.player import EXPERIMENTS
from tests.sweeps import KEPT, shown_by

#: Has a table of seven, in which the fifth alone shows something; a module's table; two outcomes; and a long test.
TESTS = """\
import pytest

pytestmark = pytest.mark.sampled(2)
FIFTH = pytest.param(5, marks=[pytest.mark.cheats(5), pytest.mark.criterion("AC-5")])

@pytest.mark.sampled(3)
@pytest.mark.cheats(1)
@pytest.mark.parametrize("number", [1, 2, 3, 4, FIFTH, 6, 7])
def test_table(number):
    pass

class TestOthers:
    @pytest.mark.parametrize("number", ["1", "2", "3::4"])
    def test_table_of_the_module(self, number):
        pass

    def test_single(self):
        pass

@pytest.mark.sampled(9)
@pytest.mark.parametrize(("number", "expected"), [(1, "yes"), (2, "yes"), (3, "no"), (4, "no")])
def test_outcomes(number, expected):
    pass

@pytest.mark.sweep
def test_long():
    pass
"""

CONFTEST = """\
from tests.sweeps import keep_sample

def pytest_collection_modifyitems(config, items):
    keep_sample(config, items)
"""

SAMPLE = ["test_table[1]", "test_table[4]", "test_table[5]", "test_table[7]"]
OTHERS = ["test_table_of_the_module[1]", "test_table_of_the_module[3::4]", "test_single"]
OUTCOMES = ["test_outcomes[1-yes]", "test_outcomes[3-no]"]
TABLE = [f"test_table[{number}]" for number in range(1, 8)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param((), [*SAMPLE, *OTHERS, *OUTCOMES], id="a-sample"),
        pytest.param(("test_it.py::test_table",), TABLE, id="a-table-by-its-id"),
        pytest.param(("test_it.py::test_long",), ["test_long"], id="a-long-one-by-its-id"),
    ],
)
def test_what_is_kept(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: list[str]
) -> None:
    monkeypatch.setattr("tests.sweeps.IS_WHOLE", False)
    pytester.makeini("[pytest]\nmarkers =\n    sampled\n    sweep\n    cheats\n    criterion\n")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_it=TESTS)
    reports = pytester.inline_run(*words).getreports("pytest_runtest_logreport")
    ran = [report.location[2].removeprefix("TestOthers.") for report in reports if report.when == "call"]
    assert ran == expected


@pytest.mark.parametrize(
    ("folders", "mark", "wanted"),
    [
        pytest.param(["cli", "drive", "e2e", "tasks"], "criterion", set(load_criteria()), id="clauses"),
        pytest.param(["integrity"], "cheats", set(range(1, 60)), id="false-greens"),
        pytest.param(["integrity"], "shows", {*EXPERIMENTS.values()}, id="experiments"),
    ],
)
def test_none_is_lost(request: pytest.FixtureRequest, folders: list[str], mark: str, wanted: set[object]) -> None:
    """In a run of the whole suite, or of these folders."""
    config = request.config
    given = {(config.invocation_params.dir / argument).resolve() for argument in config.args}
    if all(given & {folder, *folder.parents} for folder in map((ROOT / "tests").joinpath, folders)):
        shown = {each for item in config.stash[KEPT] for name, each in shown_by(item) if name == mark}
        assert wanted - shown == set()
