"""What a command's output names as failed: tests by their names where a runner says them, else the lines that say it.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
