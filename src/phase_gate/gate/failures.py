"""RED for a reason: why a test failed, and whether that is a reason to write code.

Pure. The shell describes the exception, where it came from and what the test's source says; the class follows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from phase_gate.values import Value

if TYPE_CHECKING:
    from phase_gate.source.checks import Statement


class Reason(StrEnum):
    """Why a test failed. The first five are reasons to write code; the others are not."""

    ASSERTION = "assertion"
    RAISES_NOT_MET = "raises-not-met"
    PROJECT_ERROR = "project-error"
    #: An exception in the test, from using what project code gave or did.
    MISUSE = "misuse"
    STRUCTURAL = "structural"

    SYNTAX_ERROR = "syntax-error"
    MISSING_FIXTURE = "missing-fixture"
    FOREIGN_MODULE = "foreign-module"
    STUB = "stub"
    TIMEOUT = "timeout"
    CRASH = "crash"
    TEARDOWN_ONLY = "teardown-only"
    TEST_ERROR = "test-error"
    #: pytest itself refuses to run it: an argument that it does not take, a fixture that is called, no plugin for it.
    BROKEN_TEST = "broken-test"
    #: Reported as failed without an exception: a strict xpass, or a report that a plugin made.
    UNEXPLAINED = "unexplained"


ACCEPTED = frozenset({Reason.ASSERTION, Reason.RAISES_NOT_MET, Reason.PROJECT_ERROR, Reason.MISUSE, Reason.STRUCTURAL})

#: What to do about a refused one.
REMEDIES: Mapping[Reason, str] = {
    Reason.SYNTAX_ERROR: "mend the syntax",
    Reason.MISSING_FIXTURE: "write the fixture that it asks for",
    Reason.FOREIGN_MODULE: "install the module that it imports",
    Reason.STUB: "write the check: a stub fails whatever the code does",
    Reason.TIMEOUT: "let it fail by a check, not by waiting",
    Reason.CRASH: "let it fail by a check: a crash says nothing",
    Reason.TEARDOWN_ONLY: "its call passed: let the test itself fail",
    Reason.TEST_ERROR: "mend the test: the error comes from its own code",
    Reason.BROKEN_TEST: "mend the test: pytest can't run it as it stands",
    Reason.UNEXPLAINED: "let it fail by an exception: there was none",
}

Place = Literal["test", "project", "foreign"]
#: Whose a module is that could not be imported.
Owner = Literal["project", "standard library", "declared", "installed"]


class FailureFacts(Value):
    """What one failing stage showed."""

    stage: str
    #: Names of the exception's class and its bases, the class itself first.
    exception: tuple[str, ...]
    message: str = ""
    #: Whose code the innermost frame that is ours or the test's belongs to.
    place: Place = "foreign"
    #: What the statement there does.
    statement: Statement = "other"
    #: `pytest.fail` or `self.fail`, called by the test itself.
    is_explicit_fail: bool = False
    #: pytest failed it by itself, and not for a `pytest.raises` or `warns` that was not met.
    is_refused_by_pytest: bool = False
    #: Whether it counts depends on something: on an `if`, an `except`, a `return` that was not taken, on the context of
    #: a `with`.
    is_conditional: bool = False
    #: The name of a module that could not be imported, or that lacks a name; and whose it is.
    missing: str = ""
    missing_owner: Owner | None = None
    #: An attribute or name that an object of the project's does not have.
    lacks_attribute: bool = False
    #: The test's body fails by itself, whatever the code does.
    fails_anyway: bool = False
    file: str = ""
    line: int | None = None
    helpers: tuple[str, ...] = ()


class Failure(Value):
    reason: Reason
    detail: str = ""
    file: str = ""
    line: int | None = None
    #: For a structural one: the module that has to be found inside the root once the code is there.
    missing: str = ""
    #: An assertion, wherever it stands, and not code that went wrong.
    by_check: bool = False
    #: Functions of the sources that checked on the test's behalf, as `file::name`.
    helpers: tuple[str, ...] = ()

    @property
    def is_accepted(self) -> bool:
        return self.reason in ACCEPTED


def classify_failure(facts: FailureFacts) -> Failure:
    """Return the class of a failure."""
    message = facts.message.strip()
    return Failure(
        reason=_reason(facts),
        detail=_shorten(f"{facts.exception[0]}: {message}" if message else facts.exception[0]),
        file=facts.file,
        line=facts.line,
        missing=facts.missing if facts.missing_owner == "project" else "",
        by_check="AssertionError" in facts.exception or facts.exception[0] == "Failed",
        helpers=facts.helpers,
    )


def _reason(facts: FailureFacts) -> Reason:
    names = facts.exception
    if facts.stage == "crash":
        return Reason.CRASH
    if facts.stage == "teardown":
        return Reason.TEARDOWN_ONLY
    if "SyntaxError" in names:
        return Reason.SYNTAX_ERROR
    if "FixtureLookupError" in names:
        return Reason.MISSING_FIXTURE
    if facts.message.startswith("Timeout ") and names[0] in ("Failed", "TimeoutError"):
        return Reason.TIMEOUT
    if "ImportError" in names or (facts.lacks_attribute and facts.place != "project"):
        return _structural(facts)
    if facts.is_explicit_fail:
        # `if got != want: pytest.fail()` is a check, spelled out.
        return Reason.ASSERTION if facts.is_conditional else Reason.STUB
    if names[0] == "Failed":
        is_broken = facts.is_refused_by_pytest or facts.place == "foreign"
        return Reason.BROKEN_TEST if is_broken else Reason.RAISES_NOT_MET
    if facts.place == "project":
        return Reason.PROJECT_ERROR
    if facts.statement == "constant assert" or (facts.statement == "raise" and not facts.is_conditional):
        return Reason.STUB
    if "AssertionError" in names or "DocTestFailure" in names or "MultipleDoctestFailures" in names:
        return Reason.ASSERTION
    return Reason.TEST_ERROR if _is_own_mistake(facts) else Reason.MISUSE


def _is_own_mistake(facts: FailureFacts) -> bool:
    """Tell whether no code of the project's can make a difference. In doubt it can: what can't turn green is harmless.

    A command that ends with an error, a context that does not suppress, a codec that is not registered: all of it may
    be the code that is to be written, wherever it raises.
    """
    return facts.place == "foreign" or "NameError" in facts.exception


def _structural(facts: FailureFacts) -> Reason:
    if facts.missing_owner is not None and facts.missing_owner != "project":
        return Reason.FOREIGN_MODULE
    return Reason.STUB if facts.fails_anyway else Reason.STRUCTURAL


def _shorten(text: str) -> str:
    line = text.splitlines()[0]
    return line if len(line) <= 120 else f"{line[:117]}..."


# --- errors without what differs from run to run, so that the same error can be told again


#: Lines of one message that count: the rest is mostly a diff.
_LINES = 3

#: Compiled when the first error is seen: a green run pays nothing for them.
_BLANKS: tuple[tuple[str, str], ...] = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<id>"),
    (r"\b0x[0-9a-fA-F]+\b", "<address>"),
    (r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?", "<time>"),
    (r"\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b", "<time>"),
    (r"\b\d+(?:\.\d+)?\s?(?:s|ms|us|µs|ns|sec|secs|seconds|minutes)\b", "<time>"),
    # The last part of a path says what it is about, where it lies does not.
    (r"(?:[A-Za-z]:)?(?:[\\/][^\\/\s:'\",()<>]+)+[\\/]([^\\/\s:'\",()<>]+)", r"<path>/\1"),
    (r"(?i)\b(pid|process|thread|port|tid)(\s*+(?:[=:#]\s*+)?)\d+\b", r"\1\2<number>"),
    (r"\b(?:tmp|temp)[A-Za-z0-9_]{6,}\b", "<temporary>"),
    (r"\b[0-9a-f]{32,64}\b", "<id>"),
)


def blank(message: str) -> str:
    """Return the message without what differs from run to run."""
    text = "\n".join(message.strip().splitlines()[:_LINES])
    for pattern, stands_for in _BLANKS:
        text = re.sub(pattern, stands_for, text)
    return " ".join(text.split())


def fingerprint(messages: Iterable[str]) -> str:
    """Return one hash for all errors of a run; empty if there are none."""
    blanked = sorted({blank(message) for message in messages} - {""})
    return hashlib.sha256("\n".join(blanked).encode("utf-8", "surrogatepass")).hexdigest()[:16] if blanked else ""
