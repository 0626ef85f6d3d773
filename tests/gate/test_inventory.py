"""Ids that no two runs share."""

from __future__ import annotations

import pytest

from phase_gate.gate.inventory import find_renamed


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
