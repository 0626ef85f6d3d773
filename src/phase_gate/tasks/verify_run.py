"""Step 2 of a verify task: run the verify command, and record what it showed, whatever the executor reported.

A runner that exits with 0 but ran no test has proved nothing. The summaries of pytest and unittest are parsed. For any
other runner, a line counts that reports in plain words that no test ran. Without either, the exit code decides.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from phase_gate.errors import NotAllowedError
from phase_gate.evidence.process.run import Ended, run_process
from phase_gate.evidence.process.tree import Interrupts
from phase_gate.gate.inventory import bare_id
from phase_gate.storage.files import make_folder
from phase_gate.storage.fingerprint import Tree, changed_paths
from phase_gate.storage.lock import KernelLock, again_if_moved
from phase_gate.storage.opening import read_event
from phase_gate.storage.store import TaskStore
from phase_gate.tasks.board import Step, TaskSession, TaskStatus, task_environment
from phase_gate.tasks.rules import seconds_between
from phase_gate.tasks.verify_verdict import is_unlisted, require_status
from phase_gate.tasks.work import PHASE, Check, FailureType, Status
from phase_gate.values import Value, replace
from phase_gate.visible import count, cut, name_first
from phase_gate.workflow.sections import GATE_TIMEOUT

#: Bytes of output that are stored per file.
KEPT = 256 * 1024


class Display(Value):
    """How a run is shown while it is active."""

    #: Print a line.
    show: Callable[[str], None]
    #: Called with the elapsed seconds, and the limit.
    tick: Callable[[float, float], None]
    #: The target of the command's own output.
    stream: BinaryIO | None = None
    #: An existing handler of signals; None if the run has to handle them itself.
    interrupts: Interrupts | None = None


def run_verify(session: TaskSession, display: Display) -> tuple[TaskStatus, str]:
    """Run the verify command and record its result. Returns the file with the output; empty if it did not run."""
    verify = _VerifyRun(session, display)
    try:
        refused = verify.begin()
        if refused is not None:
            return refused, ""
        verify.execute()
        return verify.end(), verify.log_name
    finally:
        verify.release()


class _VerifyRun:
    """One run of the verify command, from its start record to its end record."""

    def __init__(self, session: TaskSession, display: Display) -> None:
        self.session, self.display = session, display
        self.spec = session.verification().spec
        self.before: Tree = session.tree(self.spec)
        self.check = Check(id=os.urandom(8).hex(), command=self.spec.verify, at="", tree=self.before.digest)
        self.log = session.store.folder / "verify" / f"{self.check.id}.log"
        self.log_name = os.path.relpath(self.log, session.project.root).replace(os.sep, "/")
        self.output = ""
        self._hold: KernelLock | None = None
        self._serial = 0

    @again_if_moved
    def begin(self) -> TaskStatus | None:
        """Write the start record; return the task's status if the run can't begin."""
        store, check = self.session.store, self.check
        with self.session.step() as step:
            step.tree = self.before
            current, at = step.current, step.change.at
            require_status(current, (Status.VERIFYING,), "there is no report to verify")
            step.refuse_halted()
            left = float("inf")
            if not current.untimed:
                left = GATE_TIMEOUT - seconds_between(current.began_at, at)
            if is_unlisted(step.change.state, step.changes, at=at):
                step.judge()  # so that a person can waive the finding
            elif left <= 0:
                step.fail(FailureType.TIMEOUT, f"the gate's {GATE_TIMEOUT:g} s are over")
                step.judge()
            else:
                self.check = check = replace(check, limit=min(current.limits["verify"], left), at=at)
                step.record_check(check)
                make_folder(store.files, self.log.parent)
                self.release()  # from an earlier try, if another machine was first
                self._hold = store.hold(check.id)
        self._serial = self.session.read().serial
        return None if step.evaluation is None else step.status

    def execute(self) -> None:
        """Run the command, and a second time if it failed and is declared flaky."""
        ended, flaky, flags = self._run_once(), self.spec.flaky, self.check.flags
        if ended.how == "ended" and ended.code != 0 and flaky:
            first = ended.code
            self.display.show(f"it ended with {first}; declared flaky ({flaky}), so it runs once more")
            # Do not count the records of the first run.
            self._serial = self.session.read().serial
            ended = self._run_once()
            if ended.how == "ended" and ended.code == 0:
                flags = (f"flaky: it ended with {first} first, and passed in a second run",)
        self.output = _read(ended.output)
        self.check = replace(
            self.check,
            how=ended.how,
            exit_code=ended.code if ended.how == "ended" else None,
            seconds=round(ended.seconds, 3),
            why=ended.problem or _WHY.get(ended.how, "").format(self.check.limit),
            output=self.session.store.keep(
                "output", {"output": self.output, "stdout": _read(ended.stdout), "stderr": _read(ended.stderr)}
            ),
            flags=flags,
        )

    def _run_once(self) -> Ended:
        check, project, show = self.check, self.session.project, self.display.show
        show(f"$ {check.command}  (at most {check.limit:g} s; {self.log_name})")
        environment = {**task_environment(project), "PHASE_GATE_PHASE": PHASE.lower()}
        ended = run_process(
            check.command,
            shell=True,
            cwd=project.root,
            environment=environment,
            timeout=check.limit,
            log=self.log,
            limit=KEPT,
            stream=self.display.stream,
            tick=lambda seconds: self.display.tick(seconds, check.limit),
            interrupts=self.display.interrupts,
        )
        code = "" if ended.code is None else f" with {ended.code}"
        show(f"{ended.how}{code} after {ended.seconds:.1f} s of {check.limit:g} s")
        return ended

    @again_if_moved
    def end(self) -> TaskStatus:
        """Write the end record, with the result and its evaluation."""
        session = self.session
        after = session.tree(self.spec)
        with session.transaction() as change:
            step = Step(session, change)
            step.tree = after
            current = step.current
            if current.check is None or current.check.id != self.check.id or current.status is not Status.VERIFYING:
                raise NotAllowedError(
                    f"{session.task} was changed while its verify command ran", remedy="phase-gate verify status"
                )
            check = self._weigh(after, known=current.known)
            step.record_check(replace(check, ended_at=step.change.at))
            self._fail(step, check)
            step.judge()
        session.board.refresh()
        return step.status

    def _weigh(self, after: Tree, *, known: str) -> Check:
        """Evaluate the run: the files that it changed, and the tests that it ran."""
        check = evaluate_output(self.check, self.session.store, self.output, since=self._serial, known=known)
        names = changed_paths(self.before.files, after.files)
        written = (f"files changed while it ran: {', '.join(names[:5])}",) if names else ()
        problems = check.problems if check.exit_code == 0 else ()
        return replace(check, after=after.digest, problems=problems, flags=(*check.flags, *written))

    def _fail(self, step: Step, check: Check) -> None:
        lines = first_failures(self.output)
        if check.how == "timed-out":
            step.fail(FailureType.TIMEOUT, check.why, lines=lines)
        elif check.problems:
            lines = tuple(text for _, text in check.problems)
            error = f"`{cut(check.command)}` ended with 0 and proves nothing: {lines[0]}"
            step.fail(FailureType.VERIFY_FAILURE, error, lines=lines, exit_code=0)
        elif check.how == "not-started" or (check.how == "ended" and check.exit_code != 0):
            first = f": {lines[0]}" if lines else ""
            ended = f"ended with {check.exit_code}" if check.how == "ended" else f"could not be started: {check.why}"
            error = f"`{cut(check.command)}` {ended}{first}"
            step.fail(FailureType.VERIFY_FAILURE, error, lines=lines, exit_code=check.exit_code)

    def release(self) -> None:
        if self._hold is not None:
            self._hold.release()


#: Why a run did not end by itself, with its time limit.
_WHY: Mapping[str, str] = {
    "timed-out": "the verify command took longer than {:g} s, and was ended with all of its processes",
    "interrupted": "it was interrupted",
}


def _read(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


# --- what a run showed: by the runs of pytest that were recorded during it, else by its output


#: Colors and other terminal sequences.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r(?=\n)")
#: Characters at the end of the output, more than any summary has; and characters of a line.
_LENGTH, _WIDTH = 1_000_000, 300

_PYTEST = re.compile(
    r"^=* ?(\d+ [a-z]+(?:, \d+ [a-z]+)*|no tests \w+.*) in \d[\d.]*s(?: \([\d:]+\))? ?=*$", re.MULTILINE
)
_RAN = re.compile(r"(?<!\d)(\d{1,9})\d*+ (?:passed|failed|xfailed|xpassed)")
#: The number includes skipped tests.
_UNITTEST = re.compile(r"^Ran (\d{1,9}) tests? in \d[\d.]*s\n+(?:.*\(.*skipped=(\d{1,9}))?", re.MULTILINE)

_NOUN = r"(?:tests?|specs?|examples?|scenarios?|items?)(?: (?:cases?|files?|suites?))?"
_END = r"(?=\W*$|[,.;:!(|/]| [(/|]| (?:in|for|matching) )"
#: No tests found in src; 0 tests passed; Ran 0 tests; Total tests: 0; Tests: 0 total
_REPORTS_NONE = re.compile(
    rf"(?i)\W*(?:\[\w+\] |[\w@/: ]{{1,40}}: )?(?:(?:there (?:are|were) |all )?(?:no|zero|0) {_NOUN}"
    rf"(?: (?:were )?(?:found|ran|run|executed|collected|selected|passed|available)| to run)?{_END}"
    rf"|(?:ran|running|executed|found|collected|collecting) 0 {_NOUN}{_END}"
    rf"|(?:total )?{_NOUN}(?: run)?[:=] *0(?: total\b|{_END}| \w+=)|0 (?:passed|passing){_END})"
)
_REPORTS_SOME = re.compile(
    rf"(?i)(?<![\d.])[1-9]\d{{0,8}} (?:{_NOUN}\b(?! (?:were )?(?:skipped|ignored|deselected))|pass|failed\b)"
    rf"|\b(?:{_NOUN}(?: run)?|passed)[:=] *[1-9]|^(?:not )?ok\b|^PASS\b|\.\.\. ?ok$"
)


def count_tests_in(output: str) -> int | None:
    """Return how many tests ran according to the output; None if it does not show that."""
    text = _CONTROL.sub("", output[-_LENGTH:])
    counts = [sum(map(int, _RAN.findall(summary))) for summary in _PYTEST.findall(text)]
    counts += [max(0, int(ran) - int(skipped or 0)) for ran, skipped in _UNITTEST.findall(text)]
    if counts:
        return sum(counts)
    return 0 if quote_none(output) else None


def quote_none(output: str) -> str:
    """Return the line that reports that no test ran; empty if another line reports tests that ran."""
    quote = ""
    for line in _CONTROL.sub("", output[-_LENGTH:]).splitlines():
        if _REPORTS_NONE.match(line[:_WIDTH]):
            quote = quote or line.strip()[:_WIDTH]
        elif _REPORTS_SOME.search(line[:_WIDTH]):
            return ""
    return quote


# --- failures in the output


#: Lines that are recorded: the rest is in the log.
_LINES = 10

#: Lines in which test runners and compilers report failures, best first.
_REPORTS_FAILURE = (
    # Not the number of them alone, as in `FAILED (failures=1)`.
    re.compile(r"^(?:FAILED|ERROR) [^\s(]"),
    re.compile(r"^\s*(?:--- FAIL|(?:FAIL|ERROR)[:\s]\s*\S|not ok |✕|✗|×|● )"),
    re.compile(r"^(?:E  |\S+(?:Error|Exception)\b)"),
    re.compile(r"(?:^|[\s:])(?:error|fatal|failed|failure|panicked|assertion)\b", re.IGNORECASE),
)


def first_failures(output: str) -> tuple[str, ...]:
    """Return the first lines that report failures, else the last lines."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    matching = (found for pattern in _REPORTS_FAILURE if (found := [line for line in lines if pattern.search(line)]))
    return tuple(dict.fromkeys(line.strip()[:_WIDTH] for line in next(matching, lines[-3:])))[:_LINES]


# --- the evidence of a verify run: the recorded runs of pytest in it, else its output


#: The fields of a run that are read. Only a complete run has the last two.
_RUN_FIELDS = ("run", "kind", "why", "metrics", "inventory", "outcomes")

#: Metrics that invalidate a run of pytest, whatever its exit code.
_FAULTS = (
    ("tests_failing", "tests-failing", "failed, and the exit code hides it"),
    ("tests_newly_skipped", "no-new-skips", "newly skipped"),
    ("tests_missing", "tests-kept", "known when the task was taken, and gone now"),
    ("outcomes_doubtful", "outcomes-genuine", "that an outcome is not the test's own"),
)


def evaluate_output(check: Check, store: TaskStore, output: str, *, since: int, known: str) -> Check:
    """Return the check with the evidence of the runs that were recorded since then; without any, of the output.

    :param since: the ledger's last line when the verify command was started.
    :param known: the object with the tests that were there when the task was taken.
    """
    runs, open_ones = _recorded(store, since)
    if not runs and not open_ones:
        tests, line = count_tests_in(output), quote_none(output)
        problems: tuple[tuple[str, str], ...] = ()
        if tests == 0:
            quoted = f": it printed {line!r}" if line else ""
            problems = (("no-tests", f"it ended with 0 and ran no test{quoted}"),)
        elif known:
            words = "pytest had our plugin when the task was taken, but this run was not recorded"
            problems = (("not-recorded", words),)
        return replace(check, tests=tests, problems=problems)
    found = [("run-lost", f"run {run[:8]} of pytest began and never ended") for run in open_ones]
    flags = list(check.flags)
    for run in runs:
        found += _faults(run)
        hidden, changed = _compare(store, run, known)
        if hidden and not run["metrics"].get("tests_newly_skipped"):
            found.append(("no-new-skips", f"{count(hidden, 'test')} newly skipped"))
        if changed:
            flags.append(f"changed since the task was taken: {name_first(changed)}")
        if run["metrics"].get("tests_flaky"):
            flags.append(f"flaky: {count(run['metrics']['tests_flaky'], 'test')} passed only after a rerun")
    counted = [run for run in runs if run["kind"] != "void"]
    if runs and not counted:
        found.append(("no-tests", "pytest was called, and ran no test"))
    return replace(
        check,
        tests=sum(int(run["metrics"].get("tests_total") or 0) for run in counted),
        runs=tuple(run["run"] for run in runs),
        problems=tuple(dict.fromkeys(found)),
        flags=tuple(dict.fromkeys(flags)),
    )


def _recorded(store: TaskStore, since: int) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Return the runs of pytest that ended since then, and those that began but did not end."""
    found: list[Mapping[str, Any]] = []
    began: dict[str, None] = {}
    for line in store.lines():
        if line.seq > since and line.event.kind == "run-started" and not line.event.data.get("nested"):
            began[read_event(line, lambda event: str(event.data["run"]))] = None
        elif line.seq > since and line.event.kind == "run-ended":
            data = read_event(line, lambda event: {name: event.data.get(name) for name in _RUN_FIELDS})
            began.pop(str(data["run"]), None)
            found += [data] if data["kind"] != "nested" else []
    return found, list(began)


def _compare(store: TaskStore, run: Mapping[str, Any], known: str) -> tuple[int, list[str]]:
    """Return the number of newly skipped tests among those that were known, and those of them that changed.

    A skipped test that was not changed since the task was taken is not newly skipped.
    """
    if not known or not run["inventory"]:
        return 0, []
    before, now = store.objects.load_inventory(known), store.objects.load_inventory(run["inventory"])
    changed = {bare_id(each) for each in now.ids() if before.body(each) not in ("", now.body(each))}
    hidden = 0
    for test_id, bucket in (store.objects.load(run["outcomes"]) if run["outcomes"] else {}).items():
        if bucket in ("skipped", "skipped-if") and before.body(test_id):
            path = test_id.partition("::")[0]
            file = now.files.get(path)
            is_as_before = file is not None and before.files[path].statements == file.statements
            hidden += bare_id(test_id) in changed or not is_as_before
    return hidden, sorted(changed)


def _faults(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    kind, metrics = run["kind"], run["metrics"]
    if kind in ("void", "empty"):
        yield from [("no-tests", f"no test ran: {run['why']}")] if kind == "empty" else []
        return
    if kind != "complete":
        yield f"{kind}-run", f"{kind} run: {run['why']}"
    for name, slug, words in _FAULTS:
        if metrics.get(name):
            yield slug, f"{count(int(metrics[name]), 'sign' if name == 'outcomes_doubtful' else 'test')} {words}"
