"""RED for a reason: why a test failed, and whether that is a reason to write code.

Pure. `recording.reasons` finds the reason, where the test runs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from phase_gate.values import Value


class Reason(StrEnum):
    """Why a test failed. The first two are reasons to write code; the others are not."""

    #: By a check, by code of the project's, or by what that code gave: in doubt it is the code.
    ASSERTION = "assertion"
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


#: What to do about a refused one.
REMEDIES: Mapping[Reason, str] = {
    Reason.SYNTAX_ERROR: "fix the syntax",
    Reason.MISSING_FIXTURE: "write the fixture that it asks for",
    Reason.FOREIGN_MODULE: "install the module that it imports",
    Reason.STUB: "write the check: a stub fails whatever the code does",
    Reason.TIMEOUT: "let it fail by a check, not by waiting",
    Reason.CRASH: "let it fail by a check: a crash says nothing",
    Reason.TEARDOWN_ONLY: "its call passed: let the test itself fail",
    Reason.TEST_ERROR: "fix the test: the error comes from its own code",
    Reason.BROKEN_TEST: "fix the test: pytest can't run it",
    Reason.UNEXPLAINED: "let it fail by an exception: there was none",
}


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
        return self.reason not in REMEDIES


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
