"""What the output of a verify command says: how many tests ran, and which failed.

Pure. A count of 0 is what we look for: a runner that ends with 0 and ran nothing has shown nothing. Tests that were
skipped did not run. What no pattern fits is unknown, and says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

#: Colours and other orders to a terminal.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r(?=\n)")

#: More than the summaries of any runner; what is longer is cut to its end, where they stand.
_MAX_LENGTH = 1_000_000


def count_tests_said(output: str) -> int | None:
    """Return how many tests all runners in an output say that they ran; None where none says anything."""
    text = _plain(output)
    counts = [count for reader in _READERS for count in reader(text)]
    if counts:
        return sum(counts)
    # A runner that we do not know may still say that there was nothing.
    return 0 if line_saying_none(text) else None


def quote_none(output: str) -> str:
    """Return the line by which an output says that no test ran, where one says it in plain words."""
    return line_saying_none(_plain(output))


def _plain(output: str) -> str:
    return _CONTROL.sub("", output[-_MAX_LENGTH:])


def _number(digits: str) -> int:
    # More digits than Python converts are no count, but not 0, either.
    return int(digits[:9])


def _sum(pattern: str, *, minus: tuple[str, ...] = ()) -> Callable[[str], Iterator[int]]:
    """Return a reader that adds the groups of each match, without those that are named in `minus`."""
    compiled = re.compile(pattern, re.MULTILINE)

    def read(text: str) -> Iterator[int]:
        for found in compiled.finditer(text):
            groups = found.groupdict(default="0")
            less = sum(_number(groups[name]) for name in minus)
            yield max(0, sum(_number(value) for value in groups.values()) - 2 * less)

    return read


def _none(pattern: str) -> Callable[[str], Iterator[int]]:
    """Return a reader that takes each match for a count of 0."""
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda text: (0 for _ in compiled.finditer(text))


_RAN = frozenset({"passed", "failed", "xfailed", "xpassed"})
_PYTEST = re.compile(r"^=* ?(?P<counts>\d+ [a-z]+(?:, \d+ [a-z]+)*) in \d[\d.]*s(?: \([\d:]+\))? ?=*$", re.MULTILINE)
_JEST = re.compile(r"^Tests: +(?P<counts>(?:\d+ [a-z]+, )*\d+ total)$", re.MULTILINE)
_VITEST = re.compile(r"^ *Tests +(?P<counts>\d+ [a-z ]+(?: \| \d+ [a-z ]+)*)\(\d+\)$", re.MULTILINE)


def _worded(pattern: re.Pattern[str]) -> Callable[[str], Iterator[int]]:
    """Return a reader of `3 passed, 1 skipped`."""

    def read(text: str) -> Iterator[int]:
        for found in pattern.finditer(text):
            pairs = (part.split() for part in re.split(r"[,|]", found["counts"]))
            yield sum(_number(pair[0]) for pair in pairs if pair[1] in _RAN)

    return read


def _go(text: str) -> Iterator[int]:
    """Read `go test`: without -v it names packages, and no number."""
    ran = len(re.findall(r"^ *--- (?:PASS|FAIL): ", text, re.MULTILINE))
    if ran:
        yield ran
        return
    packages = re.findall(r"^(?:ok  |FAIL|\?   )\t\S+.*$", text, re.MULTILINE)
    empty = [each for each in packages if "[no test files]" in each or "[no tests to run]" in each]
    if packages and len(empty) == len(packages):
        yield 0


def _mocha(text: str) -> Iterator[int]:
    passing = re.findall(r"^ *(\d+) passing(?: \(.*\))?$", text, re.MULTILINE)
    if passing:
        failing = re.findall(r"^ *(\d+) failing$", text, re.MULTILINE)
        yield sum(map(_number, [*passing, *failing]))


def _node(text: str) -> Iterator[int]:
    """Read `node --test`, as TAP or as a list."""
    for _, passed, failed in re.findall(
        r"^[#\u2139] tests (\d+)\n(?:[#\u2139] suites \d+\n)?[#\u2139] pass (\d+)\n[#\u2139] fail (\d+)$",
        text,
        re.MULTILINE,
    ):
        yield _number(passed) + _number(failed)


_READERS: tuple[Callable[[str], Iterator[int]], ...] = (
    _worded(_PYTEST),
    _none(r"^=* ?no tests (?:ran|collected)\b.* in \d[\d.]*s ?=*$"),
    # unittest; its skipped tests are in the number.
    _sum(
        r"^Ran (?P<ran>\d+) tests? in \d[\d.]*s\n+"
        r"(?:OK|FAILED|NO TESTS RAN)?(?: \((?:[a-z ]+=\d+, )*?skipped=(?P<skipped>\d+))?",
        minus=("skipped",),
    ),
    _worded(_JEST),
    _none(r"^No tests found, exiting with code \d"),
    _worded(_VITEST),
    _none(r"^No test files found, exiting with code \d"),
    _mocha,
    _node,
    _go,
    # cargo test, cargo nextest
    _sum(r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed;"),
    _sum(r"^ *Summary \[.*\] +(?P<ran>\d+) tests? run:"),
    # dotnet test, MSTest
    _sum(r"^(?:Passed|Failed)! +- +Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+), Skipped: +\d+"),
    _none(r"^No test (?:is available in|matches the given testcase filter)"),
    # Maven: the lines of single classes say how long they took.
    _sum(
        r"^(?:\[\w+\] )?Tests run: (?P<ran>\d+), Failures: \d+, Errors: \d+, Skipped: (?P<skipped>\d+) *$",
        minus=("skipped",),
    ),
    _none(r"^(?:\[\w+\] )?No tests (?:to run|were executed)"),
    # Gradle says nothing of tests that pass.
    _sum(r"^(?P<ran>\d+) tests? completed"),
    _none(r"^> Task \S*:test NO-SOURCE$"),
    # RSpec, minitest, PHPUnit
    _sum(r"^(?P<ran>\d+) examples?, \d+ failures?(?:, (?P<pending>\d+) pending)?", minus=("pending",)),
    _sum(r"^(?P<ran>\d+) runs, \d+ assertions, \d+ failures, \d+ errors, (?P<skips>\d+) skips$", minus=("skips",)),
    _sum(r"^OK \((?P<ran>\d+) tests?, \d+ assertions?\)$"),
    _sum(r"^Tests: (?P<ran>\d+), Assertions: \d+(?:, [A-Z][A-Za-z ]+: \d+)*\.$"),
    _none(r"^No tests executed!$"),
    # ctest, GoogleTest
    _sum(r"^\d+% tests passed, \d+ tests failed out of (?P<ran>\d+)$"),
    _none(r"^No tests were found!!!$"),
    _sum(r"^\[=+\] (?P<ran>\d+) tests? from \d+ test (?:suite|case)s? ran\."),
    # Swift, Deno, bun, Playwright, ExUnit and bats, prove
    _sum(r"^[ \t]*Executed (?P<ran>\d+) tests?, with \d+ failures?"),
    _sum(r"^(?:ok|FAILED) \| (?P<passed>\d+) passed(?: \(\d+ steps?\))? \| (?P<failed>\d+) failed"),
    _sum(r"^Ran (?P<ran>\d+) tests? across \d+ files?\."),
    _sum(r"^ +(?P<passed>\d+) passed \([\d.]+m?s\)$"),
    _sum(r"^(?P<ran>\d+) tests, \d+ failures?(?:, (?P<skipped>\d+) skipped)?(?:, \d+ excluded)?$", minus=("skipped",)),
    _sum(r"^Files=\d+, Tests=(?P<ran>\d+),"),
)


# --- whether an output says that no test ran, whichever runner wrote it


#: Characters of a line that are looked at: a summary is shorter.
_WIDTH = 300

_NOUN = (
    r"(?:(?:unit|integration|e2e) )?"
    r"(?:tests?(?: ?cases?| files?| suites?| specs?)?|spec(?:s| files?)|examples?|scenarios?)"
)
_NONE = r"(?:no|zero|0)"
_HAPPENED = (
    r"(?:found|ran|run|executed|collected|discovered|selected|matched|available|detected|passed|completed|succeeded)"
)
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
            rf"(?:(?:were |was |have been )?{_HAPPENED}|to (?:be )?(?:run|execute)){_AFTER_VERB}",
            # no test files; 0 specs, 0 failures
            rf"{_NONE} {_NOUN}{_AFTER_NOUN}",
            # Ran 0 tests in 0.1s; collected 0 items
            rf"(?:ran|running|run|executed|executing|found|discovered|passed|completed) {_NONE} {_NOUN}{_AFTER_VERB}",
            rf"collect(?:ed|ing) {_NONE} (?:{_NOUN}|items?){_AFTER_VERB}",
            # Total tests: 0; Tests run: 0, Failures: 0; tests=0 failures=0; passed: 0
            rf"(?:total |number of )?(?:{_NOUN}(?: {_HAPPENED}| total)?|passed){_ZERO}",
            # 0 passed, 0 failed; 0/0 tests passed
            rf"0 (?:passed|passing|succeeded)(?:{_END}|[ \t]*[,;|(])",
            rf"0 ?(?:/|of) ?\d{{1,9}} (?:{_NOUN} )?(?:passed|ran|run|executed){_AFTER_VERB}",
            # 0 total tests; Test count: 0; All tests passed (0 assertions in 0 test cases)
            rf"0 total {_NOUN}{_AFTER_NOUN}",
            rf"{_NOUN} count{_ZERO}",
            rf"all {_NOUN} passed \((?:0 assertions? in )?0 {_NOUN}\)",
            # Karma, behind the browser's name; how far it has come, too
            r"(?:[^\n]{0,80}: )?executed 0 of \d{1,9} (?:\(skipped \d{1,9}\) )?success\b",
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
            rf"\b(?:{_NOUN}(?: {_HAPPENED}| total)?|passed|# total)[ \t]?[:=][ \t]*[1-9]",
            r"\bexecuted [1-9]\d{0,8} of \d",
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


# --- what an output names as failed: tests by their names where a runner says them, else the lines that say it


#: Lines that are kept: the rest is in the log.
LINES = 10
_LONGEST = 300

#: `FAIL: test_f (test_a.T.test_f)`, as unittest heads each failure; before Python 3.11 the method is not in brackets.
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (\S+) \(([\w.]+)\)(.*)$")
#: `--- FAIL: TestAdd/negative (0.00s)`
_GO = re.compile(r"^\s*--- FAIL: (\S+) \([\d.]+m?s\)")
_GO_SAYS = re.compile(r"^\s+\S+\.go:\d+: (.*)$")
_RULE = re.compile(r"^[=-]{10,}$")

#: Lines in which test runners and compilers say what failed, best first.
_SAYS_FAILURE = (
    # Not the number of them alone, as in `FAILED (failures=1)`.
    re.compile(r"^(?:FAILED|ERROR) [^\s(]"),
    re.compile(r"^\s*(?:--- FAIL|FAIL[:\s]\s*\S|not ok |✕|✗|×|● )"),
    re.compile(r"^(?:E  |\S+(?:Error|Exception)\b)"),
    re.compile(r"(?:^|[\s:])(?:error|fatal|failed|failure|panicked|assertion)\b", re.IGNORECASE),
)


def first_failures(output: str, limit: int = LINES) -> tuple[str, ...]:
    """Return the first failures by name, else the first lines that say what failed, else the last lines."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    named = dict.fromkeys((*_of_unittest(lines), *_of_go(lines)))
    if named:
        return tuple(line[:_LONGEST] for line in named)[:limit]
    for pattern in _SAYS_FAILURE:
        found = [line.strip() for line in lines if pattern.search(line)]
        if found:
            return tuple(line[:_LONGEST] for line in dict.fromkeys(found))[:limit]
    return tuple(line.strip()[:_LONGEST] for line in lines[-3:])


def _of_unittest(lines: list[str]) -> Iterator[str]:
    """Yield each test that unittest names, with the last line of its traceback."""
    for at, line in enumerate(lines):
        found = _UNITTEST.match(line)
        if found is None or not at or not _RULE.match(lines[at - 1]):
            continue
        test, place, more = found.groups()
        name = place if place.endswith(f".{test}") else f"{place}.{test}"
        why = ""
        for following in lines[at + 2 :]:
            if _RULE.match(following):
                break
            # The error itself is not indented, and the first line of it says most.
            if not following.startswith((" ", "Traceback ")) and not why:
                why = following
        yield f"{name}{more.rstrip()}" + (f": {why}" if why else "")


def _of_go(lines: list[str]) -> Iterator[str]:
    """Yield each test that `go test` names, with the first line that it logged; of subtests only those inside."""
    found = [(at, match.group(1)) for at, line in enumerate(lines) if (match := _GO.match(line)) is not None]
    for at, name in found:
        if any(other.startswith(f"{name}/") for _, other in found):
            continue
        said = _GO_SAYS.match(lines[at + 1]) if at + 1 < len(lines) else None
        yield name if said is None else f"{name}: {said.group(1)}"
