"""Targets that expect something else, in a proof: which of them still pass, and what the gate makes of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.stories import ADD, WRONG, prove, verdicts
from tests.support import Sample

pytestmark = pytest.mark.processes

#: The most ordinary RED: it makes every test fail that merely calls the function.
STUB = "def add(a, b):\n    raise NotImplementedError\n"

HEAD = "import contextlib\n\nimport pytest\n\nfrom calc import add\n\n\ndef test_add():\n"


def test_one_start_for_all_targets_and_advice_for_some(tmp_path: Path) -> None:
    tests = (
        f"{HEAD}    assert add(1, 2) == 3\n\n\ndef test_dead():\n    assert add(2, 2) > 3\n"
        "    with pytest.raises(TypeError):\n        add(1)\n        assert add(1, 2) == 4\n\n\n"
        "@pytest.mark.parametrize('a, expected', [(1, 3), (2, 4)])\ndef test_rows(a, expected):\n"
        "    with contextlib.suppress(AssertionError if a == 1 else TypeError):\n"
        "        assert add(a, 2) == expected\n\n\ndef test_kills():\n"
        "    with Strict():\n        assert add(1, 2) == 3\n\n\n"
        "class Strict:\n    def __enter__(self):\n        pass\n\n    def __exit__(self, kind, value, *rest):\n"
        "        if '1000012' in str(value):\n            __import__('os')._exit(3)\n"
    )
    names = ("add", "dead", "rows", "kills")
    proof = prove(
        tmp_path,
        {"test_calc.py": tests, "calc.py": WRONG},
        {"calc.py": ADD},
        [f"test_calc.py::test_{name}" for name in names],
    )
    assert verdicts(proof) == {f"test_{name}": "proven" for name in names}
    assert [(each.altered, bool(each.advice)) for each in proof.targets] == [
        ("fails", False),
        ("dead-assert", True),
        ("some-rows", True),
        ("not-tried", False),
    ]


@pytest.mark.usefixtures("with_proof")
def test_gate_names_the_check_and_the_waiver(sample: Sample) -> None:
    sample.write(test_calc=HEAD + "    assert add(1, 2) == 3 or True\n", calc=STUB)
    assert sample.pytest("--phase=red", "--exit-signal=red").code == 0
    sample.write(calc=ADD)
    sample.pytest("--phase=green")
    sample.pytest("--phase=green")
    ran = sample.gate("signal", "--reason", "done", "--json")
    assert ran.code == 10
    said = "test_calc.py:9 can't fail: expecting 1000012 instead of 3 passes as well"
    (finding,) = ran.document["findings"]
    assert (finding["slug"], finding["tier"], finding["line"]) == ("targets-proven", "hard", 9)
    assert said in finding["detail"]
    assert 'phase-gate waive targets-proven --reason "..." --by NAME' in ran.document["next_hint"]
    explained = sample.gate("explain", "targets-proven")
    explained.has("without  with     altered      emptied      target", said)
    explained.has("fails    passes   still passes not tried    test_calc.py::test_add")
