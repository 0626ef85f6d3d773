"""Whether an output says that no test ran, whichever runner wrote it.

Pure. For runners whose summaries `said_counts` does not know: it looks for a line that says so and nothing else, and
believes it only where no other line speaks of a test that ran. "0 tests failed" says nothing of the kind.
"""

from __future__ import annotations

import re

#: Characters of a line that are looked at: a summary is shorter.
_WIDTH = 300

_NOUN = (
    r"(?:(?:unit|integration|e2e) )?"
    r"(?:tests?(?: ?cases?| files?| suites?| specs?)?|spec(?:s| files?)|examples?|scenarios?)"
)
_NONE = r"(?:no|zero|0)"
_RAN = r"(?:found|ran|run|executed|collected|discovered|selected|matched|available|detected|passed|completed|succeeded)"
#: What may come before: ornaments, `[INFO] `, `web:test: `, `Test run summary: `.
_BEFORE = (
    r"^[ \t=\-*#>|!\u2022\u2139\u2713\u2714\u26a0]{0,40}+"
    r"(?:\[[\w .:-]{1,40}\][ \t]*)?(?:(?:[\w@/.:-]{1,40} ){0,3}[\w@/.:-]{1,40}: )?"
)
#: What may come behind: the end of the line, or more about it. After a verb that may be a whole sentence.
_END = r"[^\w\n]*$"
_AFTER_NOUN = rf"(?:{_END}|[,.;:!(|]|[ \t]+(?:[(|\-]|(?:in|for|matching)[ \t]+\S+{_END}))"
_AFTER_VERB = rf"(?:{_END}|[,.;:!(|/]|[ \t]+(?:[(/|\-]|(?:in|for|at|under|within|by|matching)[ \t]))"
_ZERO = rf"[ \t]?[:=][ \t]*0(?:{_END}|[ \t]*[,;|)]|[ \t]+\w+[ \t]?[:=])"

_SAYS_NONE = re.compile(
    f"{_BEFORE}(?:"
    + "|".join(
        (
            # No tests found in src; 0 tests passed; There are no tests to run
            rf"(?:there (?:are|were) |all )?{_NONE} {_NOUN} "
            rf"(?:(?:were |was |have been )?{_RAN}|to (?:be )?(?:run|execute)){_AFTER_VERB}",
            # no test files; 0 specs, 0 failures
            rf"{_NONE} {_NOUN}{_AFTER_NOUN}",
            # Ran 0 tests in 0.1s; collected 0 items
            rf"(?:ran|running|run|executed|executing|found|discovered|passed|completed) {_NONE} {_NOUN}{_AFTER_VERB}",
            rf"collect(?:ed|ing) {_NONE} (?:{_NOUN}|items?){_AFTER_VERB}",
            # Total tests: 0; Tests run: 0, Failures: 0; tests=0 failures=0; passed: 0
            rf"(?:total |number of )?(?:{_NOUN}(?: {_RAN}| total)?|passed){_ZERO}",
            # 0 passed, 0 failed; 0/0 tests passed
            rf"0 (?:passed|passing|succeeded)(?:{_END}|[ \t]*[,;|(])",
            rf"0 ?(?:/|of) ?\d{{1,9}} (?:{_NOUN} )?(?:passed|ran|run|executed){_AFTER_VERB}",
            # TAP's plan, and the summary of automake
            rf"1\.\.0(?:{_END}|[ \t]+#)",
            r"total:[ \t]+0$",
        )
    )
    + ")",
    re.IGNORECASE | re.MULTILINE,
)

_SKIPPED = r"(?:were |was |are )?(?:skipped|ignored|pending|todo|disabled|deselected|excluded|filtered|not )"
_SAYS_SOME = re.compile(
    "|".join(
        (
            rf"(?<![\d.])[1-9]\d{{0,8}} {_NOUN}\b(?![ \t]*{_SKIPPED})",
            r"(?<![\d.])[1-9]\d{0,8} (?:passed|passing|succeeded|failed|failing)\b",
            rf"\b(?:{_NOUN}(?: {_RAN}| total)?|passed|# total)[ \t]?[:=][ \t]*[1-9]",
            r"^[ \t]*(?:not )?ok \d",
            r"^ok[ \t]+\S+[ \t]+[\d.]+m?s",
            r"^[ \t]*--- (?:PASS|FAIL): ",
            r"^PASS(?:ED)?:?[ \t]+\S",
            r"\.\.\. ?ok$",
        )
    ),
    re.IGNORECASE,
)


def line_saying_none(text: str) -> str:
    """Return the line that says that no test ran; empty where none does, or another one speaks of tests that ran."""
    if _SAYS_NONE.search(text) is None:
        return ""
    said = ""
    for line in text.splitlines():
        if _SAYS_NONE.match(line[:_WIDTH]):
            said = said or line.strip()[:_WIDTH]
        elif _SAYS_SOME.search(line[:_WIDTH]):
            return ""
    return said
