"""What the output of a verify command says: how many tests ran, and which failed.

Pure. A count of 0 is what we look for: a runner that ends with 0 and ran nothing has shown nothing. Tests that were
skipped did not run. pytest and unittest are known by their summaries; of any other runner a line is believed that says
in plain words that no test ran. What says neither is judged by its exit code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: Colours and other orders to a terminal.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r(?=\n)")
#: More than any summary; what is longer is cut to its end, where they stand.
_MAX_LENGTH = 1_000_000
#: Characters of a line that are looked at.
_WIDTH = 300

_PYTEST = re.compile(r"^=* ?(?P<counts>\d+ [a-z]+(?:, \d+ [a-z]+)*) in \d[\d.]*s(?: \([\d:]+\))? ?=*$", re.MULTILINE)
_PYTEST_NONE = re.compile(r"^=* ?no tests (?:ran|collected)\b.* in \d[\d.]*s ?=*$", re.MULTILINE)
_RAN = frozenset({"passed", "failed", "xfailed", "xpassed"})
#: Its skipped tests are in the number.
_UNITTEST = re.compile(
    r"^Ran (?P<ran>\d+) tests? in \d[\d.]*s\n+"
    r"(?:OK|FAILED|NO TESTS RAN)?(?: \((?:[a-z ]+=\d+, )*?skipped=(?P<skipped>\d+))?",
    re.MULTILINE,
)

_NOUN = r"(?:tests?|specs?|examples?|scenarios?|items?)(?: (?:cases?|files?|suites?))?"
_END = r"(?=\W*$|[,.;:!(|/]| [(/|]| (?:in|for|matching) )"
#: No tests found in src; 0 tests passed; Ran 0 tests; Total tests: 0; Tests: 0 total
_SAYS_NONE = re.compile(
    r"\W*(?:\[\w+\] |[\w@/: ]{1,40}: )?(?:"
    rf"(?:there (?:are|were) |all )?(?:no|zero|0) {_NOUN}"
    rf"(?: (?:were )?(?:found|ran|run|executed|collected|selected|passed|available)| to run)?{_END}"
    rf"|(?:ran|running|executed|found|collected|collecting) 0 {_NOUN}{_END}"
    rf"|(?:total )?{_NOUN}(?: run)?[:=] *0(?: total\b|{_END}| \w+=)"
    rf"|0 (?:passed|passing){_END}"
    r")",
    re.IGNORECASE,
)
_SAYS_SOME = re.compile(
    rf"(?<![\d.])[1-9]\d{{0,8}} (?:{_NOUN}\b(?! (?:were )?(?:skipped|ignored|deselected))|(?:passed|passing|failed)\b)"
    rf"|\b(?:{_NOUN}(?: run)?|passed)[:=] *[1-9]|^(?:not )?ok\b|^PASS\b|\.\.\. ?ok$",
    re.IGNORECASE,
)


def count_tests_said(output: str) -> int | None:
    """Return how many tests an output says that ran; None where it says nothing."""
    text = _plain(output)
    counts = [*_read_pytest(text), *_read_unittest(text)]
    if counts:
        return sum(counts)
    return 0 if _line_saying_none(text) else None


def quote_none(output: str) -> str:
    """Return the line by which an output says that no test ran, where one says it in plain words."""
    return _line_saying_none(_plain(output))


def _plain(output: str) -> str:
    return _CONTROL.sub("", output[-_MAX_LENGTH:])


def _read_pytest(text: str) -> Iterator[int]:
    for found in _PYTEST.finditer(text):
        pairs = (part.split() for part in found["counts"].split(","))
        yield sum(_number(many) for many, word in pairs if word in _RAN)
    yield from (0 for _ in _PYTEST_NONE.finditer(text))


def _read_unittest(text: str) -> Iterator[int]:
    for found in _UNITTEST.finditer(text):
        yield max(0, _number(found["ran"]) - _number(found["skipped"] or "0"))


def _number(digits: str) -> int:
    # More digits than Python converts are no count, but not 0, either.
    return int(digits[:9])


def _line_saying_none(text: str) -> str:
    """Return the line that says that no test ran; empty where none does, or another one speaks of tests that ran."""
    said = ""
    for line in text.splitlines():
        if _SAYS_NONE.match(line[:_WIDTH]):
            said = said or line.strip()[:_WIDTH]
        elif _SAYS_SOME.search(line[:_WIDTH]):
            return ""
    return said


# --- what an output names as failed


#: Lines that are kept: the rest is in the log.
LINES = 10

#: Lines in which test runners and compilers say what failed, best first.
_SAYS_FAILURE = (
    # Not the number of them alone, as in `FAILED (failures=1)`.
    re.compile(r"^(?:FAILED|ERROR) [^\s(]"),
    re.compile(r"^\s*(?:--- FAIL|(?:FAIL|ERROR)[:\s]\s*\S|not ok |✕|✗|×|● )"),
    re.compile(r"^(?:E  |\S+(?:Error|Exception)\b)"),
    re.compile(r"(?:^|[\s:])(?:error|fatal|failed|failure|panicked|assertion)\b", re.IGNORECASE),
)


def first_failures(output: str, limit: int = LINES) -> tuple[str, ...]:
    """Return the first lines that say what failed, else the last lines."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    said = (found for pattern in _SAYS_FAILURE if (found := [line for line in lines if pattern.search(line)]))
    return tuple(dict.fromkeys(line.strip()[:_WIDTH] for line in next(said, lines[-3:])))[:limit]
