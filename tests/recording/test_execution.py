"""The watch over tests' code ends with its session: the next one in the same process is as fast, and as free."""

from __future__ import annotations

import sys

from phase_gate.recording.tamper.execution import watch_code
from tests.support import Sample

HOOK = "def pytest_runtest_setup(item):\n    pass\n"


def watched() -> int:
    return 1


def test_tells_what_started_and_returned_until_it_is_stopped() -> None:
    watch = watch_code({watched.__code__})
    assert watch is not None
    watched()
    assert (watch.started, watch.returned) == ({watched.__code__}, {watched.__code__})
    watch.forget(watched.__code__)
    watch.stop()
    watched()
    assert (watch.started, watch.returned) == (set(), set())


def test_a_session_leaves_no_profile_function(sample: Sample) -> None:
    before = sys.getprofile()
    sample.write({"conftest.py": HOOK, "test_one.py": "def test_one():\n    assert 1\n"})
    assert sample.pytest("--phase=green").code == 10
    assert sys.getprofile() is before
