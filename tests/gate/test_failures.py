"""RED for a reason: which reasons are refused, and how errors are told again. What gets which is in `e2e/failing`."""

from __future__ import annotations

from typing import get_args

import pytest

from phase_gate.gate.failures import REMEDIES, Failure, Reason, blank, fingerprint


def test_every_class_is_accepted_or_has_a_remedy() -> None:
    accepted = [reason for reason in get_args(Reason) if Failure(reason=reason).is_accepted]
    assert accepted == ["assertion", "structural"] == [each for each in get_args(Reason) if each not in REMEDIES]


# --- the same error is told again, and another one is another one

SAME = [
    pytest.param("<Basket object at 0x7f31a0>", "<Basket object at 0x10ffab20>", id="addresses"),
    pytest.param("at 2026-01-01T10:00:00Z", "at 2026-02-03 11:12:13.5", id="times"),
    pytest.param("took 12:00:01", "took 13:59:59.25", id="clock-times"),
    pytest.param("timed out after 1.25 s", "timed out after 2.5 s", id="durations"),
    pytest.param("'/tmp/pytest-1/a/out.txt' is missing", "'/var/x9/out.txt' is missing", id="paths"),
    pytest.param("pid 4711 died", "pid 12 died", id="processes"),
    pytest.param("port=50123 in use", "port=50999 in use", id="ports"),
    pytest.param("no tmpab12cd34", "no tmpzz98yy76", id="temporary-names"),
    pytest.param(
        "key 1b4e28ba-2fa1-11d2-883f-0016d3cca427", "key 00000000-2fa1-11d2-883f-0016d3cca427", id="universal-ids"
    ),
    pytest.param("\x1b[31mboom\x1b[0m", "boom", id="colours"),
    pytest.param("boom\nfirst\nsecond\nthird", "boom\nfirst\nsecond\nother", id="what-comes-late"),
]
DIFFERENT = [
    pytest.param("assert 3 == 4", "assert 3 == 5", id="numbers"),
    pytest.param("KeyError: 'a'", "KeyError: 'b'", id="names"),
    pytest.param("/x/a.py is missing", "/x/b.py is missing", id="the-end-of-a-path"),
    pytest.param("ValueError: boom", "TypeError: boom", id="kinds"),
    pytest.param("version 1.2", "version 1.3", id="versions"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_differs_from_run_to_run_is_blanked(one: str, other: str) -> None:
    assert blank(one) == blank(other)
    assert fingerprint([one]) == fingerprint([other])


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_means_something_stays(one: str, other: str) -> None:
    assert fingerprint([one]) != fingerprint([other])


def test_order_and_number_do_not_matter() -> None:
    assert fingerprint(["a", "b", "b"]) == fingerprint(["b", "a"])


def test_no_error_has_no_fingerprint() -> None:
    assert fingerprint([]) == fingerprint(["", "  "]) == ""
