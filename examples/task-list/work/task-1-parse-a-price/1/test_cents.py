import pytest

from cents import parse_price


def test_a_point():
    assert parse_price("12.50") == 1250


def test_a_comma():
    assert parse_price("12,50") == 1250


def test_anything_else():
    with pytest.raises(ValueError):
        parse_price("a lot")
