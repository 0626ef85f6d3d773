"""RED for a reason: why a test failed, and whether that is a reason to write code.

Pure. `recording.reasons` determines the reason in the process of the test.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from phase_gate.values import Literal, Value

#: Why a test failed. The first two are reasons to write code; the others are not.
Reason = Literal[
    # A failed check, or an error in the project's code or with its results: in doubt, blame the code.
    "assertion",
    "structural",
    "syntax-error",
    "missing-fixture",
    "foreign-module",
    "stub",
    "timeout",
    "crash",
    "teardown-only",
    "test-error",
    # pytest refuses to run it: an unknown argument, a fixture called directly, a missing plugin.
    "broken-test",
    # Reported as failed without an exception: a strict xpass, or a report made by a plugin.
    "unexplained",
]


#: Remedies for a refused failure.
REMEDIES: Mapping[Reason, str] = {
    "syntax-error": "fix the syntax",
    "missing-fixture": "write the fixture that it asks for",
    "foreign-module": "install the module that it imports",
    "stub": "write the check: a stub fails whatever the code does",
    "timeout": "let it fail by a check, not by waiting",
    "crash": "let it fail by a check: a crash proves nothing",
    "teardown-only": "its call passed: let the test itself fail",
    "test-error": "fix the test: the error comes from its own code",
    "broken-test": "fix the test: pytest can't run it",
    "unexplained": "let it fail by an exception: there was none",
}


class Failure(Value):
    reason: Reason
    detail: str = ""
    file: str = ""
    line: int | None = None
    #: For a structural failure: the module that must be inside the root once the code is written.
    missing: str = ""
    #: An assertion in any file, in contrast to an error in the code.
    by_check: bool = False
    #: Functions of the sources that checked on the test's behalf, as `file::name`.
    helpers: tuple[str, ...] = ()

    @property
    def is_accepted(self) -> bool:
        return self.reason not in REMEDIES


# --- errors without details that differ from run to run, so that the same error can be recognized


#: Number of lines of a message that count: the rest is usually a diff.
_LINES = 3

#: Compiled for the first error, so that a green run does not pay for it.
_BLANKS: tuple[tuple[str, str], ...] = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<id>"),
    (r"\b0x[0-9a-fA-F]+\b", "<address>"),
    (r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?", "<time>"),
    (r"\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b", "<time>"),
    (r"\b\d+(?:\.\d+)?\s?(?:s|ms|us|µs|ns|sec|secs|seconds|minutes)\b", "<time>"),
    # The last part of a path identifies the file, its folder does not.
    (r"(?:[A-Za-z]:)?(?:[\\/][^\\/\s:'\",()<>]+)+[\\/]([^\\/\s:'\",()<>]+)", r"<path>/\1"),
    (r"(?i)\b(pid|process|thread|port|tid)(\s*+(?:[=:#]\s*+)?)\d+\b", r"\1\2<number>"),
    (r"\b(?:tmp|temp)[A-Za-z0-9_]{6,}\b", "<temporary>"),
    (r"\b[0-9a-f]{32,64}\b", "<id>"),
)


def blank(message: str) -> str:
    """Return the message without details that differ from run to run."""
    text = "\n".join(message.strip().splitlines()[:_LINES])
    for pattern, stands_for in _BLANKS:
        text = re.sub(pattern, stands_for, text)
    return " ".join(text.split())


def fingerprint(messages: Iterable[str]) -> str:
    """Return one hash for all errors of a run; empty if there are none."""
    blanked = sorted({blank(message) for message in messages} - {""})
    return hashlib.sha256("\n".join(blanked).encode("utf-8", "surrogatepass")).hexdigest()[:16] if blanked else ""
