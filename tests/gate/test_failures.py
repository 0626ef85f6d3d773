"""RED for a reason: which class a failure gets from what is known of it."""

from __future__ import annotations

import pytest

from phase_gate.gate.failures import (
    ACCEPTED,
    REMEDIES,
    Failure,
    FailureFacts,
    Reason,
    blank,
    classify_failure,
    fingerprint,
)
from phase_gate.values import replace

ERROR = ("Exception", "BaseException", "object")
ASSERTION = ("AssertionError", *ERROR)
FAILED = ("Failed", "OutcomeException", "BaseException", "object")
IMPORT = ("ModuleNotFoundError", "ImportError", *ERROR)
ATTRIBUTE = ("AttributeError", *ERROR)


def facts(*exception: str, **more: object) -> FailureFacts:
    return replace(FailureFacts(stage="call", exception=exception, place="test"), **more)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        # Accepted: there is code to write.
        pytest.param(facts(*ASSERTION, statement="assert"), Reason.ASSERTION, id="an-assertion"),
        pytest.param(facts(*ASSERTION, stage="setup", statement="assert"), Reason.ASSERTION, id="in-a-fixture"),
        pytest.param(facts("DocTestFailure", *ERROR), Reason.ASSERTION, id="a-doctest"),
        pytest.param(
            facts(*FAILED, is_explicit_fail=True, is_conditional=True), Reason.ASSERTION, id="a-fail-under-a-condition"
        ),
        pytest.param(
            facts(*ASSERTION, statement="raise", is_conditional=True), Reason.ASSERTION, id="a-raise-under-a-condition"
        ),
        pytest.param(facts(*FAILED, message="DID NOT RAISE"), Reason.RAISES_NOT_MET, id="raises-not-met"),
        pytest.param(facts("KeyError", *ERROR, place="project"), Reason.PROJECT_ERROR, id="out-of-project-code"),
        pytest.param(
            facts("NotImplementedError", *ERROR, place="project", statement="raise"),
            Reason.PROJECT_ERROR,
            id="a-stub-in-the-code",
        ),
        pytest.param(
            facts(*ATTRIBUTE, place="project", lacks_attribute=True, fails_anyway=True),
            Reason.PROJECT_ERROR,
            id="project-code-misses-an-attribute-of-its-own",
        ),
        pytest.param(facts("TypeError", *ERROR), Reason.MISUSE, id="what-the-code-gave-is-used"),
        pytest.param(
            facts("KeyError", *ERROR, statement="raise", is_conditional=True), Reason.MISUSE, id="an-error-passed-on"
        ),
        pytest.param(facts("CalledProcessError", *ERROR), Reason.MISUSE, id="a-command-that-fails"),
        pytest.param(facts("TimeoutError", "OSError", *ERROR, message="timed out"), Reason.MISUSE, id="no-server-yet"),
        pytest.param(facts(*IMPORT, missing="basket", missing_owner="project"), Reason.STRUCTURAL, id="no-module-yet"),
        pytest.param(facts(*IMPORT), Reason.STRUCTURAL, id="an-import-error-without-a-name"),
        pytest.param(facts(*ATTRIBUTE, lacks_attribute=True), Reason.STRUCTURAL, id="no-method-yet"),
        pytest.param(
            facts(*IMPORT, place="project", missing="basket", missing_owner="project"),
            Reason.STRUCTURAL,
            id="the-code-imports-what-is-not-there-yet",
        ),
        # Refused: no code of the project's can make it pass, or none has to.
        pytest.param(facts("IndentationError", "SyntaxError", *ERROR), Reason.SYNTAX_ERROR, id="a-syntax-error"),
        pytest.param(
            facts("FixtureLookupError", "LookupError", *ERROR, stage="setup"), Reason.MISSING_FIXTURE, id="no-fixture"
        ),
        *(
            pytest.param(
                facts(*IMPORT, missing="x", missing_owner=owner), Reason.FOREIGN_MODULE, id=owner.replace(" ", "-")
            )
            for owner in ("standard library", "declared", "installed")
        ),
        pytest.param(
            facts(*IMPORT, missing="x", missing_owner="declared", fails_anyway=True),
            Reason.FOREIGN_MODULE,
            id="a-foreign-module-and-a-stub",
        ),
        pytest.param(facts(*FAILED, is_explicit_fail=True), Reason.STUB, id="pytest-fail"),
        pytest.param(facts(*ASSERTION, is_explicit_fail=True), Reason.STUB, id="self-fail"),
        pytest.param(facts("NotImplementedError", *ERROR, statement="raise"), Reason.STUB, id="a-raise"),
        pytest.param(facts(*ASSERTION, statement="constant assert"), Reason.STUB, id="assert-false"),
        pytest.param(
            facts(*IMPORT, missing="basket", missing_owner="project", fails_anyway=True),
            Reason.STUB,
            id="no-module-and-a-stub",
        ),
        pytest.param(
            facts(*ATTRIBUTE, lacks_attribute=True, fails_anyway=True), Reason.STUB, id="no-method-and-a-stub"
        ),
        pytest.param(facts(*FAILED, message="Timeout (>1.0s) from pytest-timeout."), Reason.TIMEOUT, id="a-time-out"),
        pytest.param(facts("Crash", stage="crash"), Reason.CRASH, id="a-crash"),
        pytest.param(facts(*ASSERTION, stage="teardown", statement="assert"), Reason.TEARDOWN_ONLY, id="a-teardown"),
        pytest.param(facts("NameError", *ERROR), Reason.TEST_ERROR, id="the-test-s-own-mistake"),
        pytest.param(facts("OSError", *ERROR, place="foreign"), Reason.TEST_ERROR, id="nobody-s-code"),
        pytest.param(facts(*FAILED, place="foreign"), Reason.BROKEN_TEST, id="pytest-can-t-run-it"),
        pytest.param(facts(*FAILED, is_refused_by_pytest=True), Reason.BROKEN_TEST, id="a-fixture-is-called"),
    ],
)
def test_class_of_a_failure(seen: FailureFacts, reason: Reason) -> None:
    assert classify_failure(seen).reason is reason


def test_every_class_is_accepted_or_has_a_remedy() -> None:
    assert set(Reason) - ACCEPTED == set(REMEDIES)
    assert [reason for reason in Reason if Failure(reason=reason).is_accepted] == [
        Reason.ASSERTION,
        Reason.RAISES_NOT_MET,
        Reason.PROJECT_ERROR,
        Reason.MISUSE,
        Reason.STRUCTURAL,
    ]


@pytest.mark.parametrize(
    ("message", "detail"),
    [
        pytest.param("", "KeyError", id="no-message"),
        pytest.param("'x'", "KeyError: 'x'", id="a-message"),
        pytest.param("one\ntwo\nthree", "KeyError: one", id="the-first-line"),
        pytest.param("\n\none", "KeyError: one", id="a-message-that-begins-later"),
        pytest.param("x" * 500, f"KeyError: {'x' * 107}...", id="a-long-one-is-cut"),
    ],
)
def test_detail(message: str, detail: str) -> None:
    found = classify_failure(facts("KeyError", *ERROR, message=message, file="tests/test_a.py", line=3))
    assert (found.detail, found.file, found.line) == (detail, "tests/test_a.py", 3)
    assert len(found.detail) <= 120


@pytest.mark.parametrize(
    ("owner", "missing"), [("project", "basket"), ("declared", ""), ("installed", ""), ("standard library", "")]
)
def test_only_a_module_of_the_project_has_to_be_found_later(owner: str, missing: str) -> None:
    assert classify_failure(facts(*IMPORT, missing="basket", missing_owner=owner)).missing == missing


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
