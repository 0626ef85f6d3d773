"""Names are compared as people read them."""

from __future__ import annotations

import pytest

from pytest_phase_gate.core.names import name_key, same_name


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        pytest.param("eve", "eve", True, id="the-same"),
        pytest.param("eve", " EVE\t", True, id="capitals-and-spaces"),
        pytest.param("Eve Adams", "eve  adams", True, id="two-spaces"),
        pytest.param("eve", "\uff45\uff56\uff45", True, id="full-width"),
        pytest.param("Stra\u00dfe", "STRASSE", True, id="sharp-s"),
        pytest.param("jose\u0301", "jos\u00e9", True, id="composed-and-decomposed"),
        pytest.param("eve", "e\u200bve", True, id="a-zero-width-space"),
        pytest.param("eve", "ev\u202ee", True, id="another-direction"),
        pytest.param("eve", "ann", False, id="another-name"),
        pytest.param("eve", "eve-2", False, id="a-longer-name"),
        pytest.param("ren\u00e9", "rene", False, id="an-accent-is-another-letter"),
    ],
)
def test_which_names_are_one(a: str, b: str, same: bool) -> None:
    assert same_name(a, b) is same
    assert same_name(b, a) is same


@pytest.mark.parametrize("name", ["\u0345\u0301", "\u1fb3", "\u0390", "\u1e9e"], ids=ascii)
def test_the_key_of_a_key_is_the_key(name: str) -> None:
    assert name_key(name_key(name)) == name_key(name)
