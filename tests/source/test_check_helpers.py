"""Which function of the sources checks on behalf of a test, and which is the code under test itself."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.source.check_helpers import Called, Raised, find_helpers, has_assertion, is_namesake
from phase_gate.source.tests import parse_source


def called(name: str, file: str = "shop/comparing.py", *, is_statement: bool = True, arguments: int = 2) -> Called:
    return Called(name=name, file=file, is_statement=is_statement, arguments=arguments)


def raised(*chain: Called, **more: Any) -> Raised:
    given = {"is_check": True, "looks_at_others": True, "test_file": "tests/test_price.py", **more}
    return Raised(chain=chain, **given)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(raised(called("assert_total")), id="by-its-name"),
        pytest.param(raised(called("assertTotal")), id="by-its-name-in-capitals"),
        pytest.param(raised(called("assert_empty", arguments=1)), id="by-its-name-with-one-argument"),
        pytest.param(raised(called("Checks.compare")), id="a-method"),
        pytest.param(raised(called("check_all"), called("_one")), id="through-another"),
        pytest.param(raised(called("same", "shop/testing.py")), id="by-its-place"),
        pytest.param(raised(called("same", "shop/tests_support/same.py")), id="by-its-folder"),
    ],
)
def test_helpers(case: Raised) -> None:
    assert find_helpers(case) == case.chain


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(raised(), id="nothing-of-the-sources"),
        pytest.param(raised(called("total")), id="the-name-says-nothing"),
        pytest.param(raised(called("checkout")), id="a-word-that-begins-alike"),
        pytest.param(raised(called("check_total", is_statement=False)), id="its-value-is-used"),
        pytest.param(raised(called("check_total"), called("total", is_statement=False)), id="the-code-raised-inside"),
        pytest.param(raised(called("verify_token"), is_check=False), id="an-error-and-no-check"),
        pytest.param(raised(called("ensure_positive"), looks_at_others=False), id="it-is-under-test-itself"),
        pytest.param(raised(called("verify_order", arguments=1)), id="it-has-nothing-to-compare-with"),
        pytest.param(raised(called("assert_total"), test_file="tests/test_comparing.py"), id="its-own-tests"),
    ],
)
def test_code_under_test(case: Raised) -> None:
    assert find_helpers(case) == ()


@pytest.mark.parametrize(
    ("body", "asserts"),
    [
        pytest.param("assert one == two", True, id="plainly"),
        pytest.param("if one != two:\n        raise AssertionError(one)", True, id="by-its-exception"),
        pytest.param("case.assertEqual(one, two)", True, id="by-unittest"),
        pytest.param("if one != two:\n        pytest.fail('no')", True, id="by-pytest"),
        pytest.param("raise ValueError", False, id="another-exception"),
        pytest.param("return one == two", False, id="it-says-and-does-not-check"),
    ],
)
def test_assertions(body: str, asserts: bool) -> None:
    assert has_assertion(parse_source(f"def same(one, two):\n    {body}\n")) is asserts


@pytest.mark.parametrize(
    ("file", "test_file", "is_one"),
    [
        ("shop/testing.py", "tests/test_testing.py", True),
        ("shop/testing.py", "tests/testing_test.py", True),
        ("shop/_testing.py", "test_testing.py", True),
        ("shop/testing/__init__.py", "tests/test_testing.py", True),
        ("shop/testing.py", "tests/test_shop.py", False),
        ("shop/testing.py", "tests/test_price.py", False),
    ],
)
def test_namesakes(file: str, test_file: str, is_one: bool) -> None:
    assert is_namesake(file, test_file) is is_one
