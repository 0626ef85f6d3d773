"""Fixtures in the source: what is asked for, and what is provided."""

from __future__ import annotations

import pytest

from phase_gate.source.syntax_names import provided_name, requested_names
from phase_gate.source.tests import parse_source


@pytest.mark.parametrize(
    ("source", "names"),
    [
        pytest.param("def test_a(cart, *, till): ...", {"cart", "till"}, id="arguments-of-a-test"),
        pytest.param("class TestA:\n    def test_a(self, cart): ...", {"cart"}, id="arguments-of-a-method"),
        pytest.param("async def test_a(cart): ...", {"cart"}, id="arguments-of-an-async-test"),
        pytest.param("@pytest.fixture\ndef cart(request, till): ...", {"till"}, id="arguments-of-a-fixture"),
        pytest.param("@pytest.mark.usefixtures('cart', 'till')\ndef test_a(): ...", {"cart", "till"}, id="a-mark"),
        pytest.param("pytestmark = pytest.mark.usefixtures('cart')", {"cart"}, id="a-mark-for-all"),
        pytest.param("def test_a(request): request.getfixturevalue('cart')", {"cart"}, id="a-call"),
        pytest.param("def helper(cart): ...", set(), id="arguments-of-a-helper-are-its-own"),
    ],
)
def test_requested_names(source: str, names: set[str]) -> None:
    assert requested_names(parse_source(source), tests=("test_a", "TestA::test_a")) == names


@pytest.mark.parametrize(
    ("source", "name"),
    [
        pytest.param("@pytest.fixture\ndef cart(): ...", "cart", id="by-the-name-of-the-function"),
        pytest.param("@fixture(scope='module')\ndef cart(): ...", "cart", id="with-arguments"),
        pytest.param("@pytest.fixture(name='till')\ndef cart(): ...", "till", id="by-a-name-of-its-own"),
        pytest.param("@pytest_asyncio.fixture\nasync def cart(): ...", "cart", id="of-another-library"),
        pytest.param("@pytest.mark.slow\ndef cart(): ...", "", id="no-fixture"),
        pytest.param("cart = 1", "", id="no-function"),
    ],
)
def test_provided_name(source: str, name: str) -> None:
    assert provided_name(parse_source(source).body[0]) == name
