"""Which sources make us look at every test: those with words of code that reaches into pytest."""

from __future__ import annotations

import pytest

from pytest_phase_gate.recording.genuine import reaches_in


@pytest.mark.parametrize(
    "source",
    [
        b"from _pytest import runner",
        b"import pluggy",
        b"sys.modules['pytest_phase_gate.plugin']",
        b"request.config.pluginmanager.register(x)",
        b"pytest.TestReport.outcome = 'passed'",
        b"CallInfo.from_call",
        b"item.runtest = lambda: None",
        b"pyfuncitem.obj()",
        b"test_it.__code__ = other.__code__",
        b"request.node.add_marker(m)",
        b"pytest.Function.runtest",
        b"pytest.Session",
        b"unittest.TestCase.assertEqual = print",
        b"unittest.case.fail=print",
    ],
)
def test_it_is_seen(source: bytes) -> None:
    assert reaches_in(b"import shop\n" + source + b"\n")


@pytest.mark.parametrize(
    "source",
    [
        b"import pytest\n\n@pytest.mark.parametrize('x', [1])\ndef test_it(x): assert x\n",
        b"class Cart(unittest.TestCase): pass\n",
        b"tree.nodes == []",
        b"with pytest.raises(ValueError): f()",
    ],
)
def test_plain_tests_are_not(source: bytes) -> None:
    assert not reaches_in(source)
