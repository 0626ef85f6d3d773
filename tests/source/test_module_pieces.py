"""Pieces of tests in sources: what changes one, and what does not."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from phase_gate.source.module_code import hash_piece, is_under_test, lines_of
from phase_gate.source.tests import parse_source

SOURCE = """\
RATE = 10


def helper(value):
    return value


def check(value):
    def inner():
        assert value

    inner()


class Base:
    rate = RATE

    def setUp(self):
        self.price = 1

    def test_total(self):
        assert self.price
"""


def exchange(old: str, new: str) -> str:
    assert old in SOURCE
    return SOURCE.replace(old, new)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        pytest.param("check", f"{SOURCE}check = print\n", id="the-name-is-bound-again"),
        pytest.param("Base", exchange("rate =", "def assertEqual(*args): ...\n\n    rate ="), id="one-more-method"),
        pytest.param("Base.test_total", f"{SOURCE}Base = object\n", id="the-class-is-bound-again"),
        pytest.param("Base.test_total", exchange("test_total", "test_other"), id="gone"),
    ],
)
def test_what_changes_a_piece(name: str, changed: str) -> None:
    assert hash_piece(parse_source(changed), name) != hash_piece(parse_source(SOURCE), name) != ""


def test_a_test_is_no_part_of_its_class() -> None:
    changed = exchange("assert self.price", "pass")
    assert hash_piece(parse_source(changed), "Base") == hash_piece(parse_source(SOURCE), "Base") != ""


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        pytest.param("helper", {4, 5}, id="a-function"),
        pytest.param("Base", {16, 18, 19}, id="a-class-without-its-tests"),
        pytest.param("Base.test_total", {21, 22}, id="a-test"),
    ],
)
def test_lines(name: str, lines: set[int]) -> None:
    assert {line for each in lines_of(parse_source(SOURCE), name) for line in each} == lines


@pytest.mark.parametrize(
    ("file", "raised", "expected"),
    [
        pytest.param("shop/testing.py", {5}, True, id="it-raised"),
        pytest.param("shop/testing.py", {1, 7}, False, id="something-beside-it-raised"),
        pytest.param("shop/calc.py", (), True, id="a-file-of-tests-is-named-after-it"),
    ],
)
def test_what_may_be_under_test(file: str, raised: Collection[int], expected: bool) -> None:
    lines = lines_of(parse_source(SOURCE), "helper")
    assert is_under_test(file, lines, tests=["tests/test_calc.py"], raised=raised) is expected
