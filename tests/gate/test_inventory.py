"""Old tests that are gone in the next cycle: named, unless they only moved; and ids that no two runs share."""

from __future__ import annotations

import pytest

from phase_gate.gate.inventory import Inventory, TestFile, bare_name, find_gone, find_renamed


def inventory(**files: dict[str, str]) -> Inventory:
    """Return tests with their bodies, by file; '' for one whose source does not show it."""
    return Inventory(
        {
            f"{path}.py": TestFile(
                content=path,
                ids=tuple(tests),
                bodies={bare_name(name): body for name, body in tests.items() if body},
            )
            for path, tests in files.items()
        }
    )


BEFORE = inventory(test_a={"test_one": "1", "test_two": "2", "test_rows[1]": "3", "test_rows[2]": "3"})
ONE, TWO, ROWS = "test_a.py::test_one", "test_a.py::test_two", "test_a.py::test_rows"


@pytest.mark.parametrize(
    ("now", "missing", "expected"),
    [
        pytest.param(inventory(test_a={"test_two": "2"}), (ONE,), [ONE], id="one-is-deleted"),
        pytest.param(
            inventory(), (ONE, TWO, f"{ROWS}[1]", f"{ROWS}[2]"), [ONE, ROWS, TWO], id="a-whole-file-is-deleted"
        ),
        pytest.param(inventory(test_a={"test_rows[1]": "4"}), (f"{ROWS}[2]",), [], id="a-row-less-is-another-body"),
        pytest.param(inventory(test_b={"test_one": "1"}), (ONE,), [], id="moved-to-another-file"),
        pytest.param(inventory(test_a={"test_first": "1"}), (ONE,), [], id="renamed"),
        pytest.param(inventory(test_b={"test_one": "other"}), (ONE,), [ONE], id="only-its-name-lives-on"),
    ],
)
def test_what_is_gone(now: Inventory, missing: tuple[str, ...], expected: list[str]) -> None:
    assert find_gone(BEFORE, missing, now) == expected


def test_one_copy_does_not_stand_for_many() -> None:
    before = inventory(test_a={"test_one": "1", "test_same": "1"})
    gone = find_gone(before, list(before.ids()), inventory(test_b={"test_one": "1"}))
    assert gone == ["test_a.py::test_same"]


@pytest.mark.parametrize(
    ("missing", "present", "is_renamed"),
    [
        pytest.param("t.py::test_a[{'x', 'y'}]", "t.py::test_a[{'y', 'x'}]", True, id="a-set"),
        pytest.param("t.py::test_a[<X at 0x7f00>]", "t.py::test_a[<X at 0x7fab12>]", True, id="an-address"),
        pytest.param("t.py::test_a[-2345678901234567]", "t.py::test_a[1234567890123456789]", True, id="a-hash"),
        pytest.param("t.py::test_a[{'x', 'y'}]", "t.py::test_a[{'y', 'z'}]", False, id="another-value"),
        pytest.param("t.py::test_a[12]", "t.py::test_b[21]", False, id="another-function"),
    ],
)
def test_ids_that_no_two_runs_share(missing: str, present: str, is_renamed: bool) -> None:
    assert find_renamed([missing], [present]) == ({missing} if is_renamed else frozenset())
