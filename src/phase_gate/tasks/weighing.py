"""What the output of a verify command says: how many tests ran, and which failed.

Pure. A count of 0 is what we look for: a runner that ends with 0 and ran nothing has shown nothing. Tests that were
skipped did not run. pytest and unittest are known by their summaries; of any other runner a line is believed that says
in plain words that no test ran. What says neither is judged by its exit code.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from phase_gate.gate.inventory import join_id
from phase_gate.gate.outcomes import Bucket
from phase_gate.gate.runs import Kind
from phase_gate.source.checks import find_function, has_check
from phase_gate.source.module_code import find_changes, module_code
from phase_gate.source.tests import SourceTest, find_tests, parse_source
from phase_gate.storage.opening import read_event
from phase_gate.storage.store import TaskStore
from phase_gate.tasks.changes import TextChange
from phase_gate.values import Value
from phase_gate.visible import count

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


# --- What a verify run is worth: the runs of pytest in it that were recorded, else what its output says


class Weighed(Value):
    tests: int | None = None
    runs: tuple[str, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()


#: What is asked of a run; only a complete one has the last two.
_TOLD = ("run", "kind", "why", "metrics", "inventory", "outcomes")

#: What makes a run of pytest prove nothing, whatever its exit code.
_FAULTS = (
    ("tests_failing", "tests-failing", "failed, and the exit code hides it"),
    ("tests_newly_skipped", "no-new-skips", "newly skipped"),
    ("tests_missing", "tests-kept", "known when the task was taken, and gone now"),
    ("outcomes_doubtful", "outcomes-genuine", "that an outcome is not the test's own"),
)


def weigh(store: TaskStore, output: str, *, since: int) -> Weighed:
    """Return what the runs that were recorded since then tell; without any, what a runner's last lines tell.

    :param since: the ledger's last line when the verify command was started.
    """
    known, runs, open_ones = _recorded(store, since)
    if not runs and not open_ones:
        tests = count_tests_said(output)
        said = quote_none(output) if tests == 0 else ""
        quoted = f": it printed {said!r}" if said else ""
        problems = [("no-tests", f"it ended with 0 and ran no test{quoted}")] if tests == 0 else []
        if known is not None and not problems:
            problems = [("not-recorded", "pytest knew us when the task was taken, and its run was not recorded now")]
        return Weighed(tests=tests, problems=tuple(problems))
    found = [("run-lost", f"run {run[:8]} of pytest began and never ended") for run in open_ones]
    flags: list[str] = []
    for run in runs:
        found += _faults(run)
        hidden, unseen = _skips(store, run, known)
        if hidden and not run["metrics"].get("tests_newly_skipped"):
            found.append(("no-new-skips", f"{count(hidden, 'test')} newly skipped"))
        if unseen:
            flags.append(f"{count(unseen, 'new test')} skipped")
        if run["metrics"].get("tests_flaky"):
            flags.append(f"flaky: {count(run['metrics']['tests_flaky'], 'test')} passed only after a rerun")
    counted = [run for run in runs if run["kind"] != Kind.VOID]
    if runs and not counted:
        found.append(("no-tests", "pytest was called, and ran no test"))
    return Weighed(
        tests=sum(int(run["metrics"].get("tests_total") or 0) for run in counted),
        runs=tuple(run["run"] for run in runs),
        problems=tuple(dict.fromkeys(found)),
        flags=tuple(dict.fromkeys(flags)),
    )


def _recorded(store: TaskStore, since: int) -> tuple[str | None, list[Mapping[str, Any]], list[str]]:
    """Return what the task knew when it was taken, the runs that ended since, and those that began and did not end."""
    known: str | None = None
    found: list[Mapping[str, Any]] = []
    began: dict[str, None] = {}
    for line in store.lines():
        if line.event.kind == "known-taken":
            known = read_event(line, lambda event: str(event.data["known"]))
        elif line.seq > since and line.event.kind == "run-started":
            if not line.event.data.get("nested"):
                began[read_event(line, lambda event: str(event.data["run"]))] = None
        elif line.seq > since and line.event.kind == "run-ended":
            data = read_event(line, lambda event: {name: event.data.get(name) for name in _TOLD})
            began.pop(str(data["run"]), None)
            if data["kind"] != Kind.NESTED:
                found.append(data)
    return known, found, list(began)


def _skips(store: TaskStore, run: Mapping[str, Any], known: str | None) -> tuple[int, int]:
    """Return how many tests are newly skipped: of tests that were known otherwise, and of tests that are new.

    A test that is skipped as it was written when the task was taken has been so before.
    """
    if known is None or not run["outcomes"]:
        return 0, 0
    before, now = store.objects.load_inventory(known), store.objects.load_inventory(run["inventory"])
    hidden = unseen = 0
    for test_id, bucket in store.objects.load(run["outcomes"]).items():
        if bucket not in (Bucket.SKIPPED, Bucket.SKIPPED_IF):
            continue
        path = test_id.partition("::")[0]
        then, file = before.files.get(path), now.files.get(path)
        if then is None or not before.body(test_id):
            unseen += 1
        elif file is None or before.body(test_id) != now.body(test_id) or then.statements != file.statements:
            hidden += 1
    return hidden, unseen


def _faults(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    kind, metrics = run["kind"], run["metrics"]
    if kind == Kind.VOID:
        return []
    found = [] if kind == Kind.COMPLETE else [(f"{kind}-run", f"{kind} run: {run['why']}")]
    if kind == Kind.EMPTY:
        return [("no-tests", f"no test ran: {run['why']}")]
    found += [
        (slug, f"{count(int(metrics[name]), 'sign' if name == 'outcomes_doubtful' else 'test')} {words}")
        for name, slug, words in _FAULTS
        if metrics.get(name)
    ]
    return found


# --- what became of the tests that were there; one is told by its body, so that a moved or renamed one is still there


#: emptied: it checked something, and checks nothing now. gone: neither it nor its body is there. changed: it has
#: another body, which may be right. around: helpers, fixtures or constants of its file are not what they were.
Alteration = Literal["emptied", "gone", "changed", "around"]

WORDS: Mapping[Alteration, str] = {
    "emptied": "it checks nothing any more",
    "gone": "it is gone",
    "changed": "it has another body",
    "around": "the code around its tests changed",
}

#: Those that make a pass a weak one. What is only changed is the reviewer's to judge.
DOUBTFUL: frozenset[Alteration] = frozenset({"emptied", "gone"})


class AlteredTest(Value):
    kind: Alteration
    #: Of the test; for what is around several, the file.
    id: str

    @property
    def text(self) -> str:
        return f"{self.id}: {WORDS[self.kind]}"


def find_altered_tests(changes: Iterable[TextChange]) -> tuple[AlteredTest, ...]:
    """Return what became of the tests in files that changed, the worst first."""
    files = [each for each in changes if each.path.endswith(".py") and not each.problem]
    then = {each.path: _Module(each.before) for each in files}
    there = {each.path: _Module(each.now) for each in files}
    new = {
        test.body
        for path, module in there.items()
        for name, test in module.tests.items()
        if name not in then[path].tests
    }
    found = []
    for path, before in then.items():
        now = there[path]
        for name, test in before.tests.items():
            kind = _kind(test, before, now, new)
            if kind is not None:
                found.append(AlteredTest(kind=kind, id=join_id(path, name)))
        if _is_changed_around(path, before, now):
            found.append(AlteredTest(kind="around", id=path))
    return tuple(sorted(found, key=lambda each: (list(WORDS).index(each.kind), each.id)))


class _Module:
    """The tests of one text; none of what is no Python."""

    def __init__(self, text: str | None) -> None:
        self.tree = ast.Module([], [])
        if text is not None:
            with contextlib.suppress(SyntaxError):
                self.tree = parse_source(text)
        # Any class: which names are tests is the project's to say.
        self.tests: dict[str, SourceTest] = {test.name: test for test in find_tests(self.tree, classes=("*",))}

    def checks(self, name: str) -> bool:
        function = find_function(self.tree, name)
        return function is None or has_check(function, self.tree)


def _is_changed_around(path: str, before: _Module, now: _Module) -> bool:
    if not now.tree.body or not (before.tests or path.endswith("conftest.py")):
        return False
    names = {*before.tests, *now.tests}
    then = [statement.hash for statement in module_code(before.tree, tests=names)]
    return bool(find_changes(then, module_code(now.tree, tests=names)))


def _kind(test: SourceTest, before: _Module, now: _Module, new: set[str]) -> Alteration | None:
    found = now.tests.get(test.name)
    if found is None:
        return None if test.body in new else "gone"
    if not before.checks(test.name) or now.checks(test.name):
        return None if found.body == test.body else "changed"
    # Its own body, or that of a helper in the file which it leaves the checking to.
    return "emptied"
