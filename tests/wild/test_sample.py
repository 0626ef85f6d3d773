"""A short sample of the check in the wild: on a tiny suite, without a download."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from scripts.wild.projects import Project
from scripts.wild.running import Tools, run_alone, run_gated
from scripts.wild.table import Row, count_clean, render

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
        pass
"""

COUNTS = {"passed": 5, "skipped": 1, "xfailed": 1}
PROJECT = Project(name="sample", version="1.0")


def make_tools(*, plugins: tuple[str, ...]) -> Tools:
    words = [word for name in ("phase_gate.plugin", *plugins) for word in ("-p", name)]
    return Tools(
        pytest=(sys.executable, "-m", "pytest", *words),
        gate=(sys.executable, "-m", "phase_gate.cli"),
        environment=dict(os.environ),
    )


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sample-1.0"
    folder.mkdir()
    (folder / "test_sample.py").write_text(SUITE, encoding="utf-8")
    return folder


def test_an_honest_suite_is_clean(sources: Path, tmp_path: Path) -> None:
    alone = run_alone(make_tools(plugins=()), sources, (), home=tmp_path / "home")
    evidence = run_gated(make_tools(plugins=("xdist",)), sources, ("-n", "2"), home=tmp_path / "gated-home")
    row = Row(project=PROJECT, workers=2, alone=alone, evidence=evidence)
    assert alone.summary == COUNTS
    assert row.problems == ()
    assert [each.code for each in evidence.said] == [10, 0]
    assert render([row]).splitlines()[-1] == "| sample | 1.0 | 2 | 7 | 1 | 1 | yes | 2 | 0 |"
    assert count_clean([row]) == 1
