"""A change that only adds stubs, and one that adds code."""

from __future__ import annotations

import pytest

from phase_gate.agents.stubs import only_adds_stubs

CODE = '''\
"""Calc."""

import os


def add(a, b):
    return a + b


class Calc:
    def add(self, a, b):
        return a + b
'''


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(CODE, True, id="nothing-changes"),
        pytest.param(CODE + "\n\ndef sub(a, b):\n    raise NotImplementedError\n", True, id="a-stub-that-raises"),
        pytest.param(CODE + '\n\nasync def sub(a, b):\n    """Subtract."""\n', True, id="a-stub-with-a-text"),
        pytest.param(CODE + "\n\ndef sub(a, b):\n    raise NotImplementedError('later')\n", True, id="and-a-reason"),
        pytest.param(CODE + "\n\ndef sub(a, b): ...\n", True, id="an-ellipsis"),
        pytest.param(
            CODE + "\n\nclass Other(Calc):\n    size: int\n\n    def sub(self): pass\n", True, id="a-class-of-stubs"
        ),
        pytest.param(CODE + "    def sub(self):\n        raise NotImplementedError\n", True, id="a-method"),
        pytest.param(CODE.replace("import os", "import os\nimport sys"), True, id="an-import"),
        pytest.param(CODE + "\n\n# a remark\n", True, id="a-remark"),
        pytest.param(CODE + "\n\ndef sub(a, b):\n    return a - b\n", False, id="code"),
        pytest.param(CODE + "\n\nLIMIT = 3\n", False, id="a-constant"),
        pytest.param(CODE.replace("return a + b", "return b + a", 1), False, id="another-body"),
        pytest.param(CODE.replace("return a + b", "raise NotImplementedError", 1), False, id="a-body-taken-out"),
        pytest.param(CODE.replace("class Calc", "class Calc(dict)"), False, id="another-base"),
        pytest.param(CODE + "    def sub(self, a, b):\n        return a - b\n", False, id="a-method-with-code"),
        pytest.param(CODE.replace("import os\n", ""), False, id="something-is-gone"),
        pytest.param("def add(:\n", False, id="no-python"),
        pytest.param(CODE + "\n\ndef add(a, b):\n    pass\n", False, id="a-stub-that-hides-code"),
    ],
)
def test_only_stubs(after: str, expected: bool) -> None:
    assert only_adds_stubs(CODE, after) is expected


def test_a_stub_may_get_another_head() -> None:
    assert only_adds_stubs("def sub(a):\n    ...\n", "def sub(a, b):\n    raise NotImplementedError\n")
    assert only_adds_stubs("class A:\n    pass\n", "class A:\n    def sub(self): ...\n")
