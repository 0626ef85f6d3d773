"""What is new in a project, by a table: what was written for a reason, and the twins that are no new code."""

from __future__ import annotations

import pytest

from phase_gate.source.functions import find_changed, find_functions, find_new

BEFORE = '''\
"""A module."""
import math

LIMIT = 10


def area(r):
    return math.pi * r**2


def cut(text):
    if len(text) > LIMIT:
        return text[:LIMIT]
    return text
'''


AREA = "def area(r):\n    return math.pi * r**2\n"


def new_lines(before: dict[str, str], after: dict[str, str]) -> dict[str, list[int]]:
    return {path: [each.line for each in code] for path, code in find_new(before, after).items()}


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        pytest.param(BEFORE + "\n\ndef twice(x):\n    return 2 * x\n", [17, 18], id="a-function"),
        pytest.param(
            BEFORE.replace("    return text\n", "    text = text.strip()\n    return text\n"), [14], id="a-line"
        ),
        pytest.param(BEFORE.replace("LIMIT = 10", "LIMIT = 20"), [4], id="a-value"),
        pytest.param(BEFORE.replace("return text[:LIMIT]", "return text[:LIMIT] + '...'"), [13], id="a-changed-line"),
        pytest.param(BEFORE.replace("def area(r):", "def area(r, n=1):"), [7], id="a-signature"),
        pytest.param(
            BEFORE + "\n\ntry:\n    import numpy\nexcept ImportError:\n    numpy = None\n", [17, 18, 20], id="a-try"
        ),
        pytest.param(BEFORE + "\n\nmatch LIMIT:\n    case 1:\n        A = 1\n", [17, 19], id="a-match"),
    ],
)
def test_what_was_written_is_new(after: str, lines: list[int]) -> None:
    assert new_lines({"a.py": BEFORE}, {"a.py": after}) == {"a.py": lines}


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(BEFORE, id="the-same"),
        pytest.param(
            BEFORE.replace("    if len(text) > LIMIT:", "    if (\n        len(text)\n        > LIMIT\n    ):"),
            id="layout",
        ),
        pytest.param(BEFORE.replace("LIMIT = 10", "# More is too much.\nLIMIT = 10"), id="a-comment"),
        pytest.param(BEFORE + "\n\n\n", id="blank-lines"),
        pytest.param(
            BEFORE.replace(AREA, "") + "\n\n" + AREA,
            id="functions-in-another-order",
        ),
        pytest.param("def broken(:\n", id="what-can-not-be-parsed"),
    ],
)
def test_what_only_looks_different_is_not_new(after: str) -> None:
    assert new_lines({"a.py": BEFORE}, {"a.py": after}) == {}


def test_what_was_moved_to_another_file_is_not_new() -> None:
    kept, moved = BEFORE.split("\n\n\ndef cut")
    after = {"a.py": kept + "\n", "b.py": "LIMIT_OF_B = 10\n\n\ndef cut" + moved}
    assert new_lines({"a.py": BEFORE}, after) == {"b.py": [1]}


def test_a_copy_is_new_the_second_time() -> None:
    _, moved = BEFORE.split("\n\n\ndef cut")
    assert new_lines({"a.py": BEFORE}, {"a.py": BEFORE, "b.py": "def cut" + moved}) == {"b.py": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param(None, "def f(): return 1", ["f"], id="a-new-file"),
        pytest.param("def f(): return 1", "def f(): return 2", ["f"], id="another-body"),
        pytest.param("def f(): return 1", "def f():\n    # why\n    return 1", [], id="reformatted"),
        pytest.param("def f(): return 1", "def f(): return 1\ndef g(): return 2", ["g"], id="one-more"),
        pytest.param("def g(): return 2\ndef f(): return 1", "def f(): return 1\ndef g(): return 2", [], id="moved"),
        pytest.param("class A:\n  def f(self): return 1", "class A:\n  def f(self): return 2", ["A.f"], id="a-method"),
        pytest.param("if X:\n  def f(): return 1", "if X:\n  def f(): return 2", ["f"], id="under-a-condition"),
        pytest.param("def f(): return 1", "def f(: return 2", [], id="no-python"),
        pytest.param("def f(:", "def f(): return 2", ["f"], id="was-no-python"),
    ],
)
def test_changed_functions(before: str | None, now: str, expected: list[str]) -> None:
    assert [each.name for each in find_changed(before, now)] == expected


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import abc\nclass A:\n  @abc.abstractmethod\n  def f(self): return 1", id="abstract"),
        pytest.param("import typing\nclass A(typing.Protocol):\n  def f(self): return 1", id="a-protocol"),
        pytest.param("from typing import overload\n@overload\ndef f(x: int) -> int: ...", id="an-overload"),
        pytest.param("import pytest\n@pytest.fixture\ndef f(): return 1", id="a-fixture"),
        pytest.param("def f():\n  '''Nothing yet.'''", id="only-a-docstring"),
        pytest.param("def f(): raise NotImplementedError", id="not-implemented"),
        pytest.param("class A:\n  def __repr__(self): return 'A'", id="repr"),
    ],
)
def test_some_are_left_out_and_say_why(source: str) -> None:
    (function,) = find_functions(source).values()
    assert function.left_out


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "source",
    [
        pytest.param('def digits():\n    return "\\d"\n', id="an-escape-that-warns"),
        pytest.param("def digits():\n    return 1 is 1\n", id="a-comparison-that-warns"),
    ],
)
def test_warnings_hide_no_function(source: str) -> None:
    assert [*find_functions(source)] == ["digits"]
    assert new_lines({}, {"a.py": source}) == {"a.py": [1, 2]}


def test_a_source_that_is_too_deep_has_no_functions() -> None:
    deep = f"x = {'-' * 100_000}1\n"
    assert find_functions(deep) == {}
    assert new_lines({}, {"a.py": deep}) == {}


def test_a_form_feed_ends_no_line() -> None:
    (found,) = find_new({}, {"a.py": "\n# one\x0cline\nLIMIT = 3\n"})["a.py"]
    assert (found.line, found.text) == (3, "LIMIT = 3")
