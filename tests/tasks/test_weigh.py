"""What became of tests, by their texts."""

from __future__ import annotations

import pytest

from phase_gate.tasks.changes import TextChange
from phase_gate.tasks.weighing import find_altered_tests

BEFORE = """\
import pytest
from it import add


def check_sum(got):
    assert got == 3


def test_add():
    assert add(1, 2) == 3


def test_helped():
    check_sum(add(1, 2))


class Cases:
    def test_deep(self):
        assert add(0, 0) == 0


def test_smoke():
    add(1, 1)
"""


def altered(old: str, new: str) -> list[tuple[str, str]]:
    assert old in BEFORE
    change = TextChange(path="test_it.py", before=BEFORE, now=BEFORE.replace(old, new))
    return [(each.kind, each.id.removeprefix("test_it.py::")) for each in find_altered_tests([change])]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        pytest.param("assert add(1, 2) == 3", "assert True", [("emptied", "test_add")], id="assert-true"),
        pytest.param("assert add(1, 2) == 3", "pass", [("emptied", "test_add")], id="pass"),
        pytest.param("assert add(1, 2) == 3", "add(1, 2)", [("emptied", "test_add")], id="no-assert"),
        pytest.param("assert add(0, 0) == 0", "assert 1 == 1", [("emptied", "Cases::test_deep")], id="in-a-class"),
        pytest.param("assert got == 3", "pass", [("around", "test_it.py")], id="a-helper"),
        pytest.param("import pytest", "import pytest\nimport os", [], id="one-more-import"),
        pytest.param("assert add(1, 2) == 3", "assert add(1, 2)", [("changed", "test_add")], id="loosened"),
        pytest.param("def test_add", "@pytest.mark.skip\ndef test_add", [("changed", "test_add")], id="skipped"),
        pytest.param("    add(1, 1)", "    pass", [("changed", "test_smoke")], id="nothing-was-checked-before"),
        pytest.param("def test_add", "def no_add", [("gone", "test_add")], id="no-test-any-more"),
        pytest.param("def test_add", "def test_sum", [], id="renamed"),
        pytest.param("assert add(1, 2) == 3", "assert (add(1, 2)\n            == 3)  # so", [], id="reformatted"),
        pytest.param("def test_smoke", "def test_new():\n    pass\n\n\ndef test_smoke", [], id="a-new-one"),
        pytest.param(
            "import pytest",
            "import (",
            [("gone", name) for name in ("Cases::test_deep", "test_add", "test_helped", "test_smoke")],
            id="no-python-any-more",
        ),
    ],
)
def test_what_became_of_them(old: str, new: str, found: list[tuple[str, str]]) -> None:
    assert altered(old, new) == found


def test_a_moved_test_is_still_there() -> None:
    test = "def test_add():\n    assert add(1, 2) == 3\n"
    changes = [TextChange(path="test_a.py", before=test), TextChange(path="test_b.py", now=test)]
    assert find_altered_tests(changes) == ()
    assert [each.text for each in find_altered_tests(changes[:1])] == ["test_a.py::test_add: it is gone"]


def test_the_worst_comes_first_and_other_files_say_nothing() -> None:
    changes = [
        TextChange(
            path="test_a.py", before="def test_a():\n    assert f() == 1\n", now="def test_a():\n    assert f()\n"
        ),
        TextChange(path="test_b.py", before="def test_b():\n    assert f()\n", now="def test_b():\n    pass\n"),
        TextChange(path="c.js", before="test('c')", now=""),
        TextChange(path="test_d.py", problem="it is no text"),
    ]
    assert [each.kind for each in find_altered_tests(changes)] == ["emptied", "changed"]
