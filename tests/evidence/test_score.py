"""Points and places from numbers: one table a rule."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.evidence.quality.score import (
    NAMED_AT_MOST,
    Copy,
    FileNumbers,
    FileScore,
    Function,
    Lint,
    Place,
    add_scores,
    count_hidden,
    describe_worse,
    find_copies,
    find_places,
    quality_table,
    score_file,
    unhide,
)
from phase_gate.workflow.settings import QualitySettings

LIMITS = QualitySettings()


def function(name: str = "f", line: int = 1, **numbers: Any) -> Function:
    return Function(
        **{"name": name, "line": line, "cyclomatic": 1, "cognitive": 0, "length": 1, "nesting": 0, **numbers}
    )


def body(*marks: int, line: int = 1) -> Function:
    return function(line=line, marks=marks, lines=tuple(range(line + 1, line + 1 + len(marks))))


def points(*functions: Function, **more: Any) -> int:
    return score_file(FileNumbers(functions=functions, **more), (), LIMITS).points


@pytest.mark.parametrize(
    ("functions", "more", "expected"),
    [
        pytest.param((), {}, 0, id="nothing-costs-nothing"),
        pytest.param((function(cyclomatic=10, length=50, nesting=4),), {}, 0, id="at-the-limits"),
        pytest.param((function(cognitive=7),), {}, 7, id="all-cognitive-complexity-counts"),
        pytest.param((function(cyclomatic=13),), {}, 3, id="cyclomatic-above-its-limit"),
        pytest.param((function(length=61),), {}, 11, id="length-above-its-limit"),
        pytest.param((function(nesting=6),), {}, 2, id="nesting-above-its-limit"),
        pytest.param((), {"outside": 4}, 4, id="code-outside-of-functions-counts"),
        pytest.param((), {"lint": (Lint(1, "F401", "x"), Lint(2, "F401", "y"))}, 2, id="one-a-lint-finding"),
        pytest.param((), {"hidden": (Lint(1, "F401", "x"),)}, 0, id="what-was-hidden-before-stays-so"),
        pytest.param((function(cognitive=30), function(cognitive=5)), {}, 35, id="functions-add-up"),
    ],
)
def test_points(functions: tuple[Function, ...], more: dict[str, Any], expected: int) -> None:
    assert points(*functions, **more) == expected


def test_cutting_a_function_in_two_saves_nothing_that_it_does_not_make_easier() -> None:
    assert points(function(cognitive=30)) == points(function(cognitive=15), function(cognitive=15))


def test_a_file_shows_its_worst_function_and_its_sums() -> None:
    numbers = FileNumbers(
        functions=(function(cyclomatic=12, cognitive=9, length=4), function(cognitive=1, length=8, nesting=3)),
        lint=(Lint(1, "F401", "x"),),
    )
    copies = [Copy(file="a.py", line=2, length=6, other_file="b.py", other_line=1)]
    assert score_file(numbers, copies, LIMITS) == FileScore(
        points=10 + 2 + 6 + 1, cyclomatic=12, cognitive=10, length=8, nesting=3, copied=6, lint=1
    )


def test_files_add_up() -> None:
    one = FileScore(points=3, cyclomatic=4, cognitive=3, length=9, nesting=1, copied=6, lint=1)
    other = FileScore(points=5, cyclomatic=2, cognitive=5, length=4, nesting=3, copied=0, lint=2)
    assert add_scores([one, other]) == FileScore(
        points=8, cyclomatic=4, cognitive=8, length=9, nesting=3, copied=6, lint=3
    )
    assert add_scores([]) == FileScore()


# Copies


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param((1, 2, 3), (1, 2, 3), {"a.py": [3], "b.py": [3]}, id="the-whole-body"),
        pytest.param((9, 1, 2, 3, 4, 8), (1, 2, 3, 4), {"a.py": [4], "b.py": [4]}, id="in-the-middle"),
        pytest.param((1, 2, 3), (1, 2, 4), {}, id="too-short"),
        pytest.param((1, 2, 3, 0, 1, 2, 3), (7,), {"a.py": [3, 3]}, id="twice-in-one-function"),
        pytest.param((1, 2, 3, 1, 2, 3), (7,), {"a.py": [6]}, id="right-after-each-other"),
        pytest.param((1, 1, 1, 1, 1), (7,), {}, id="overlapping-itself-is-no-copy"),
        pytest.param((1, 2, 3, 9, 4, 5, 6), (1, 2, 3, 4, 5, 6), {"a.py": [3, 3], "b.py": [6]}, id="with-a-gap"),
    ],
)
def test_copies(one: tuple[int, ...], other: tuple[int, ...], expected: dict[str, list[int]]) -> None:
    files = {"a.py": FileNumbers(functions=(body(*one),)), "b.py": FileNumbers(functions=(body(*other),))}
    found = {path: [copy.length for copy in copies] for path, copies in find_copies(files, 3).items()}
    assert found == expected


def test_a_copy_does_not_reach_from_one_function_into_the_next() -> None:
    files = {"a.py": FileNumbers(functions=(body(1, 2), body(3, 4), body(1, 2), body(3, 4)))}
    assert find_copies(files, 3) == {}


def test_a_copy_says_where_the_other_one_stands() -> None:
    files = {"a.py": FileNumbers(functions=(body(1, 2, 3, line=10),)), "b.py": FileNumbers(functions=(body(1, 2, 3),))}
    assert find_copies(files, 3)["b.py"] == [
        Copy(file="b.py", line=2, length=3, other_file="a.py", other_line=11),
    ]


# Places


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param({}, "", id="nothing"),
        pytest.param({"cyclomatic": 11}, "f: cyclomatic 11 > 10", id="cyclomatic"),
        pytest.param({"cognitive": 16}, "f: cognitive 16 > 15", id="cognitive"),
        pytest.param({"length": 51}, "f: length 51 > 50", id="length"),
        pytest.param({"nesting": 5}, "f: nesting 5 > 4", id="nesting"),
        pytest.param(
            {"cyclomatic": 20, "cognitive": 30}, "f: cyclomatic 20 > 10, cognitive 30 > 15", id="one-place-a-function"
        ),
        pytest.param({"cyclomatic": 10, "cognitive": 15, "length": 50, "nesting": 4}, "", id="at-the-limits"),
    ],
)
def test_a_function_above_a_limit_could_be_better(numbers: dict[str, Any], expected: str) -> None:
    files = {"a.py": FileNumbers(functions=(function(line=7, **numbers),))}
    assert find_places(files, {}, ["a.py"], LIMITS) == ([Place("a.py", 7, expected)] if expected else [])


def test_of_two_copies_the_second_is_named_and_one_outside_of_the_scope_is_no_excuse() -> None:
    files = {name: FileNumbers(functions=(body(1, 2, 3),)) for name in ("a.py", "b.py")}
    copies = find_copies(files, 3)
    assert find_places(files, copies, ["a.py", "b.py"], LIMITS) == [
        Place("b.py", 2, "3 statements stand at a.py:2, too")
    ]
    assert find_places(files, copies, ["a.py"], LIMITS) == [Place("a.py", 2, "3 statements stand at b.py:2, too")]


def test_places_follow_the_scope_and_then_the_lines() -> None:
    rows = (Lint(9, "F841", "late"), Lint(2, "F401", "early"))
    files = {"a.py": FileNumbers(lint=rows), "b.py": FileNumbers(lint=rows), "c.py": FileNumbers(lint=rows)}
    found = [(place.file, place.line) for place in find_places(files, {}, ["b.py", "a.py"], LIMITS)]
    assert found == [("b.py", 2), ("b.py", 9), ("a.py", 2), ("a.py", 9)]


# What comments hide


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param({}, {"a.py": "F"}, {"a.py": 1}, id="a-new-comment-hides-nothing"),
        pytest.param({"a.py": "F"}, {"a.py": "F"}, {}, id="an-old-one-does"),
        pytest.param({"a.py": "F"}, {"b.py": "F"}, {}, id="a-line-may-move-with-its-comment"),
        pytest.param({"a.py": "F"}, {"a.py": "F", "b.py": "F"}, {"b.py": 1}, id="but-not-multiply"),
        pytest.param({"a.py": "F"}, {"a.py": "E"}, {"a.py": 1}, id="nor-change-what-it-hides"),
        pytest.param({"a.py": "FF"}, {"a.py": "F"}, {}, id="one-less-is-fine"),
    ],
)
def test_hiding(before: dict[str, str], now: dict[str, str], expected: dict[str, int]) -> None:
    earlier = {path: hiding(codes) for path, codes in before.items()}
    found = unhide({path: hiding(codes) for path, codes in now.items()}, count_hidden(earlier))
    assert {path: len(file.lint) for path, file in found.items() if file.lint} == expected


def hiding(codes: str) -> FileNumbers:
    return FileNumbers(hidden=tuple(Lint(line, code, "x") for line, code in enumerate(codes, start=1)))


# What became worse


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param({}, {}, "", id="the-same"),
        pytest.param({"points": 3, "cognitive": 3}, {"points": 1, "cognitive": 1}, "", id="better"),
        pytest.param({"points": 3}, {"points": 5}, "these are worse: points 3 -> 5", id="worse"),
        pytest.param(
            {"points": 3, "cognitive": 3, "copied": 6},
            {"points": 9, "cognitive": 9, "copied": 0},
            "",
            id="worse-in-one-way-and-better-in-another",
        ),
        pytest.param({"cyclomatic": 2}, {"cyclomatic": 5}, "", id="below-the-limits-it-is-no-complaint"),
    ],
)
def test_worse(before: dict[str, int], now: dict[str, int], expected: str) -> None:
    said = describe_worse(FileScore(**before), FileScore(**now))
    assert said.endswith(expected) if expected else said == ""


# The table


def test_the_table_has_the_worst_first_and_all_together() -> None:
    before = {"a.py": FileScore(points=4), "b.py": FileScore(points=9), "gone.py": FileScore(points=1)}
    now = {"a.py": FileScore(points=2), "b.py": FileScore(points=9), "new.py": FileScore(points=3, lint=3)}
    (table,) = quality_table(
        before, now, {*before, *now}, totals=(add_scores(before.values()), add_scores(now.values()))
    )
    assert [row[:2] for row in table.rows] == [
        ("b.py", "9"),
        ("a.py", "4->2"),
        ("new.py", "0->3"),
        ("gone.py", "1->0"),
        ("all 3 files", "14"),
    ]
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_a_long_table_counts_the_rest() -> None:
    scores = {f"{number:02}.py": FileScore(points=number) for number in range(20)}
    (table,) = quality_table(None, scores, scores, totals=(FileScore(), FileScore()))
    assert [row[0] for row in table.rows[-2:]] == [f"and {20 - NAMED_AT_MOST} more", "all 20 files"]
    assert len(table.rows) == NAMED_AT_MOST + 2


def test_a_single_file_is_not_added_up() -> None:
    scores = {"a.py": FileScore(points=1)}
    (table,) = quality_table(scores, scores, scores, totals=(FileScore(), FileScore()))
    assert [row[0] for row in table.rows] == ["a.py"]


def test_no_file_no_table() -> None:
    assert quality_table({}, {}, set(), totals=(FileScore(), FileScore())) == ()
