"""Which mutant comes first, with which tests, and for how long."""

from __future__ import annotations

import pytest

from phase_gate.mutation.choosing import choose_tests, limit_of, order_mutants
from phase_gate.mutation.model import Baseline, Mutant, Mutation, Tried, Verdict
from phase_gate.mutation.task import metrics_of
from phase_gate.mutation.trying import judge_run
from phase_gate.rooms.testing import Report, Reports, RoomRun


def mutant(line: int, *, file: str = "calc.py", text: str = "0", last: int | None = None) -> Mutant:
    return Mutant(
        file=file,
        line=line,
        column=0,
        end_line=line,
        end_column=1,
        was="1",
        text=text,
        first=line,
        last=line if last is None else last,
    )


BASELINE = Baseline(
    lines={
        "calc.py": {
            "1": ("",),
            "2": ("test_a.py::test_one", "test_a.py::test_two"),
            "3": ("test_b.py::test_three",),
            "5": ("test_a.py::test_broken",),
        }
    },
    tests={
        "test_a.py::test_one": 0.5,
        "test_a.py::test_two": 0.25,
        "test_b.py::test_three": 1.0,
        "test_c.py::test_x": 0,
    },
    overhead=0.5,
)
ONE, TWO, THREE, OTHER = BASELINE.tests


@pytest.mark.parametrize(
    ("line", "last", "targets", "expected"),
    [
        pytest.param(2, 2, [THREE], [ONE, TWO], id="those-that-reach-the-line"),
        pytest.param(2, 3, [], [ONE, TWO, THREE], id="those-that-reach-a-line-of-the-statement"),
        pytest.param(1, 1, [OTHER], [ONE, TWO, THREE, OTHER], id="at-import-all-that-use-the-module-and-targets"),
        pytest.param(4, 4, [THREE], [THREE], id="targets-where-no-test-was-seen"),
        pytest.param(4, 4, [], [ONE, TWO, THREE, OTHER], id="all-where-there-are-no-targets"),
        pytest.param(5, 5, [ONE], [ONE], id="one-that-does-not-pass-anyway-can-not-tell"),
        pytest.param(4, 4, ["gone.py::test"], [ONE, TWO, THREE, OTHER], id="all-where-the-targets-do-not-pass"),
    ],
)
def test_tests_of_a_mutant(line: int, last: int, targets: list[str], expected: list[str]) -> None:
    assert choose_tests(mutant(line, last=last), BASELINE, targets) == tuple(expected)


def test_every_statement_has_its_first_mutant_before_any_has_its_second() -> None:
    given = [mutant(2, text="a"), mutant(2, text="b"), mutant(2, text="c"), mutant(5), mutant(1, file="b.py")]
    order = [(each.file, each.line, each.text) for each in order_mutants(reversed(given))]
    assert order == [
        ("b.py", 1, "0"),
        ("calc.py", 2, "a"),
        ("calc.py", 5, "0"),
        ("calc.py", 2, "b"),
        ("calc.py", 2, "c"),
    ]


def test_the_limit_comes_from_what_the_same_tests_took_without_it() -> None:
    short, long = limit_of([TWO], BASELINE), limit_of([ONE, TWO, THREE], BASELINE)
    assert short > 2 * (0.5 + 0.25)
    assert long - short == pytest.approx(4 * (0.5 + 1.0))


PASSED, FAILED = Report(has_passed=True), Report(has_passed=False, message="assert 1 == 2")


@pytest.mark.parametrize(
    ("reports", "changes", "expected"),
    [
        pytest.param({"t::a": PASSED}, {}, "survived", id="all-pass"),
        pytest.param({"t::a": PASSED, "t::b": FAILED}, {}, "killed", id="one-fails"),
        pytest.param({"t.py": FAILED}, {}, "killed", id="a-module-can-not-be-imported"),
        pytest.param({}, {"is_late": True, "problem": "late", "has_ended": False}, "timeout", id="they-do-not-end"),
        pytest.param({"t::b": FAILED}, {"is_late": True, "problem": "late"}, "killed", id="one-failed-before-the-end"),
        pytest.param({}, {"has_ended": False, "problem": "ended too early"}, "killed", id="pytest-crashes"),
        pytest.param({"t::a": PASSED}, {"problem": "not from the room"}, "unknown", id="code-from-elsewhere"),
        pytest.param({}, {}, "killed", id="no-test-is-left"),
    ],
)
def test_what_a_run_says(reports: dict[str, Report], changes: dict[str, bool | str], expected: Verdict) -> None:
    given = {"has_ended": True, **changes}
    run = RoomRun(kind="mounted", seconds=1.0, reports=Reports(reports), **given)  # type: ignore[arg-type]
    assert judge_run(mutant(1), ("t::a",), run, diff="").verdict == expected


@pytest.mark.parametrize(
    ("verdicts", "left", "problem", "survived"),
    [
        pytest.param(["killed", "survived", "timeout"], 0, "", 1, id="every-mutant-has-an-answer"),
        pytest.param([], 0, "", 0, id="no-mutant-at-all"),
        pytest.param(["killed"], 1, "", None, id="one-was-not-tried"),
        pytest.param(["killed", "unknown"], 0, "", None, id="one-could-not-be-tried"),
        pytest.param(["killed"], 0, "the baseline fails", None, id="a-problem"),
    ],
)
def test_metrics_are_unknown_until_every_mutant_has_an_answer(
    verdicts: list[Verdict], left: int, problem: str, survived: int | None
) -> None:
    tried = tuple(Tried(mutant=mutant(number), verdict=each) for number, each in enumerate(verdicts, 1))
    metrics = metrics_of(Mutation(tried=tried, left=left, problem=problem))
    assert metrics.get("mutants_survived") == survived
    if survived is not None:
        counted = ("mutants_killed", "mutants_survived", "mutants_timeout")
        assert metrics["mutants_total"] == sum(int(metrics[name] or 0) for name in counted) == len(verdicts)
