"""A short sample of the check in the wild: on a tiny suite, without a download."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from scripts.wild import Suite, find_problems

SUITE = """\
import unittest

import pytest


@pytest.mark.parametrize("number", range(4))
def test_number(number):
    assert number < 4


@pytest.mark.skip(reason="not today")
def test_skipped():
    pass


@pytest.mark.xfail(reason="a known bug")
def test_known():
    assert False


class OldTest(unittest.TestCase):
    def test_old(self):
        assert {works}
"""
COUNTS = {"passed": 5, "skipped": 1, "xfailed": 1}


@pytest.mark.parametrize(
    ("works", "problems"),
    [pytest.param(True, 0, id="clean"), pytest.param(False, 2, id="not-clean", marks=pytest.mark.sweep)],
)
def test_what_the_gate_makes_of_a_suite(tmp_path: Path, works: bool, problems: int) -> None:
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "test_sample.py").write_text(SUITE.format(works=works), encoding="utf-8")
    pytest_here = (sys.executable, "-m", "pytest", "-p", "phase_gate.plugin", "-p", "xdist")
    suite = Suite(tmp_path / "sample", pytest_here, (sys.executable, "-m", "phase_gate.cli"), os.environ)
    assert len(found := [*find_problems(suite, ("-n", "2"), COUNTS)]) == problems, found
