"""RED for a reason: which class a failure gets from what is known of it."""

from __future__ import annotations

import json

import pytest

from phase_gate.codec import from_json, spell_out
from phase_gate.gate.failures import (
    ACCEPTED,
    REMEDIES,
    Failure,
    FailureFacts,
    Reason,
    classify_failure,
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
        pytest.param(facts(*ASSERTION, place="foreign"), Reason.ASSERTION, id="an-assertion-of-a-library"),
        pytest.param(facts(*ASSERTION, stage="setup", statement="assert"), Reason.ASSERTION, id="in-a-fixture"),
        pytest.param(facts("DocTestFailure", *ERROR), Reason.ASSERTION, id="a-doctest"),
        pytest.param(facts("MultipleDoctestFailures", *ERROR), Reason.ASSERTION, id="a-doctest-with-several"),
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
            facts(*ASSERTION, place="project", statement="constant assert"),
            Reason.PROJECT_ERROR,
            id="a-constant-assertion-in-the-code",
        ),
        pytest.param(
            facts(*ATTRIBUTE, place="project", lacks_attribute=True, fails_anyway=True),
            Reason.PROJECT_ERROR,
            id="project-code-misses-an-attribute-of-its-own",
        ),
        pytest.param(facts("TypeError", *ERROR), Reason.MISUSE, id="what-the-code-gave-is-used"),
        pytest.param(facts("TypeError", *ERROR, stage="setup"), Reason.MISUSE, id="a-fixture-uses-it"),
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
            facts("SyntaxError", *ERROR, place="project"), Reason.SYNTAX_ERROR, id="a-syntax-error-in-the-code"
        ),
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
        pytest.param(facts(*ASSERTION, statement="raise"), Reason.STUB, id="a-raised-assertion"),
        pytest.param(facts(*ASSERTION, statement="constant assert"), Reason.STUB, id="assert-false"),
        pytest.param(
            facts(*ASSERTION, statement="constant assert", is_conditional=True),
            Reason.STUB,
            id="assert-false-somewhere",
        ),
        pytest.param(
            facts(*IMPORT, missing="basket", missing_owner="project", fails_anyway=True),
            Reason.STUB,
            id="no-module-and-a-stub",
        ),
        pytest.param(
            facts(*ATTRIBUTE, lacks_attribute=True, fails_anyway=True), Reason.STUB, id="no-method-and-a-stub"
        ),
        pytest.param(facts(*FAILED, message="Timeout (>1.0s) from pytest-timeout."), Reason.TIMEOUT, id="a-time-out"),
        pytest.param(
            facts(*FAILED, message="Timeout >1.0s", place="project"), Reason.TIMEOUT, id="a-time-out-in-the-code"
        ),
        pytest.param(facts("Crash", stage="crash"), Reason.CRASH, id="a-crash"),
        pytest.param(facts(*ASSERTION, stage="teardown", statement="assert"), Reason.TEARDOWN_ONLY, id="a-teardown"),
        pytest.param(
            facts("KeyError", *ERROR, stage="teardown", place="project"), Reason.TEARDOWN_ONLY, id="a-teardown-of-code"
        ),
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


@pytest.mark.parametrize("reason", Reason)
def test_through_json(reason: Reason) -> None:
    failure = Failure(reason=reason, detail="d", file="f.py", line=7, missing="m")
    assert from_json(Failure, json.loads(json.dumps(spell_out(failure)))) == failure
    bare = Failure(reason=reason)
    assert from_json(Failure, json.loads(json.dumps(spell_out(bare)))) == bare


def test_a_class_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError):
        from_json(Failure, {**spell_out(Failure(reason=Reason.STUB)), "reason": "mood"})
