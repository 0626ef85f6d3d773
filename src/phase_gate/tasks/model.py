"""What verify tasks and pipelines share, a reviewer's word and a failure; and a verify task: where it stands, what each
of its three steps gave.

Pure: values, and the table of what may follow what. How an event changes them is `events`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, get_args

from phase_gate.gate.parts import VERIFICATION
from phase_gate.values import Value, field
from phase_gate.visible import cut

if TYPE_CHECKING:
    from phase_gate.gate.state import State


#: As many as a folder's name of ours may have.
_MAX_SLUG = 64
#: A task without a name of its own lives in the state folder itself.
_RESERVED = ("default",)


class TaskSpec(Value):
    """One task, as it stands in its file."""

    name: str
    #: Paths from the project's root, with `/`; a glob is allowed. The task may change these and no others.
    files: tuple[str, ...]
    action: str
    #: The command that proves it, as one would type it.
    verify: str
    #: What is the case when it is done.
    done: str
    #: Whether a shell runs the command.
    shell: bool = False
    #: Names of tasks that have to be approved before.
    depends_on: tuple[str, ...] = ()
    #: Why a verify command that fails may be run once more; empty where the task does not declare it.
    flaky: str = ""
    #: Seconds by step, where the task asks for others than the default ones.
    timeouts: Mapping[str, float] = field(default_factory=dict)
    #: The group of tasks that it runs with.
    wave: str = ""
    #: Where it stands in the plan that it comes from.
    phase: str = ""
    plan: str = ""

    @property
    def slug(self) -> str:
        return task_slug(self.name)


def task_slug(name: str) -> str:
    """Return the name of the task's folder: `Task 3: Create PlannerId` is kept in `task-3-create-plannerid`."""
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    is_whole = name.isascii() and slug not in _RESERVED and 0 < len(slug) <= _MAX_SLUG
    if is_whole:
        return slug
    # Letters that a folder can't have, or too many of them, would make one task of two.
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return "-".join(filter(None, (slug[: _MAX_SLUG - 9].strip("-") or "task", mark)))


#: Names of the workflow that is shipped for it, and of its one phase.
WORKFLOW = "verification"
PHASE = "VERIFICATION"

#: The document's number of attempts: the first one and two more.
MAX_ATTEMPTS = 3


#: What a reviewer may say.
Choice = Literal["approve", "conditional", "reject"]
CHOICES: tuple[Choice, ...] = get_args(Choice)


class Status(StrEnum):
    """Where a task stands."""

    PENDING = "PENDING"
    EXECUTING = "EXECUTING"
    VERIFYING = "VERIFYING"
    REVIEWING = "REVIEWING"
    APPROVED = "APPROVED"
    FAILED = "FAILED"
    REJECTED = "REJECTED"
    BLOCKED = "BLOCKED"
    SKIPPED = "SKIPPED"


#: What may follow what, and nothing else: a failure of step 1 or 2 is FAILED, one of step 3 is REJECTED.
TRANSITIONS: Mapping[Status, frozenset[Status]] = {
    Status.PENDING: frozenset({Status.EXECUTING, Status.SKIPPED}),
    Status.EXECUTING: frozenset({Status.VERIFYING, Status.FAILED, Status.BLOCKED, Status.SKIPPED}),
    Status.VERIFYING: frozenset({Status.REVIEWING, Status.FAILED, Status.SKIPPED}),
    Status.REVIEWING: frozenset({Status.APPROVED, Status.REJECTED, Status.SKIPPED}),
    Status.FAILED: frozenset({Status.EXECUTING, Status.SKIPPED}),
    Status.REJECTED: frozenset({Status.EXECUTING, Status.SKIPPED}),
    Status.BLOCKED: frozenset({Status.EXECUTING, Status.SKIPPED}),
    # Only where a user abandons it before its commit.
    Status.APPROVED: frozenset({Status.REJECTED}),
    Status.SKIPPED: frozenset(),
}

IN_PROGRESS = frozenset({Status.EXECUTING, Status.VERIFYING, Status.REVIEWING})
FINISHED = frozenset({Status.APPROVED, Status.SKIPPED})
NOT_PASSED = frozenset({Status.FAILED, Status.REJECTED})

#: The names of the three steps, by which limits are set.
STEPS: Mapping[int, str] = {1: "executor", 2: "verify", 3: "review"}


class FailureType(StrEnum):
    EXECUTION_FAILURE = "EXECUTION_FAILURE"
    VERIFY_FAILURE = "VERIFY_FAILURE"
    ARCHITECT_REJECTION = "ARCHITECT_REJECTION"
    #: The reviewer changed what was to be reviewed: it has to be verified again.
    REVIEWER_EDIT = "REVIEWER_EDIT"
    BLOCKED = "BLOCKED"
    TIMEOUT = "TIMEOUT"
    MALFORMED = "MALFORMED"
    #: The gate of a pipeline's phase.
    GATE_FAILURE = "GATE_FAILURE"


class Word(Value):
    """What one reviewer said of one version: a vote in a pipeline, a verdict on a verify task."""

    by: str
    answer: Choice
    #: How sure the reviewer is, from 0 to 1.
    confidence: float
    #: What was looked at: digests of artifacts, or of the files that were verified.
    about: Mapping[str, str]
    reason: str = ""
    at: str = ""
    #: All of it, where more was asked for.
    said: Mapping[str, Any] = field(default_factory=dict)
    #: What made the pass a weak one when it was given, beside the verdict itself.
    flags: tuple[str, ...] = ()


class Failure(Value):
    """A step of a task, or a gate of a pipeline, that did not pass."""

    error: str
    type: FailureType = FailureType.GATE_FAILURE
    at: str = ""
    #: Of a verify task; and the phase of a pipeline.
    attempt: int = 0
    step: int = 0
    phase: str = ""
    tree: str = ""
    #: The first lines that tell what failed; or guards and clauses that were not met.
    lines: tuple[str, ...] = ()
    #: What the verify command ended with; None where it did not end, or was not run.
    exit_code: int | None = None
    #: False for a verify command that could not even be started.
    started: bool = True
    #: False for what is no failure of the work: it waits for another task, or the files moved on.
    counts: bool = True
    #: True once a later attempt came past this step; and what mended it.
    recovered: bool = False
    resolution: str = ""
    #: Failing tests and checks; None if it failed for want of something else, and says nothing about them.
    failing: int | None = None
    #: What the root-cause record said of it, and what it asks of a person.
    root_cause: str = ""
    human_input: str = ""

    @property
    def first_line(self) -> str:
        return self.error.strip().partition("\n")[0]


class Report(Value):
    """Step 1: what the executor said, long texts cut; the whole is a stored object."""

    result: Mapping[str, Any]
    by: str
    at: str
    tree: str
    kept: str


class Check(Value):
    """Step 2: our run of the verify command."""

    id: str
    command: str
    at: str
    #: What the files were before, and what the run left; that is what its result speaks of.
    tree: str
    after: str = ""
    limit: float = 0.0
    ended_at: str = ""
    #: running, ended, timed-out, interrupted or not-started.
    how: str = "running"
    exit_code: int | None = None
    seconds: float = 0.0
    #: Object with what it printed; and its last line.
    output: str = ""
    summary: str = ""
    #: Tests that it ran, where that is known.
    tests: int | None = None
    #: Runs of pytest in it that our plugin recorded.
    runs: tuple[str, ...] = ()
    #: Why an exit code of 0 proves nothing, as pairs of slug and words; and what only makes the pass a weak one.
    problems: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    #: Tests that were there when the task was taken and are not what they were, as pairs of id and words.
    altered: tuple[tuple[str, str], ...] = ()
    #: Why it did not end by itself.
    why: str = ""

    @property
    def has_ended(self) -> bool:
        return self.how in ("ended", "timed-out")

    @property
    def passes(self) -> bool:
        return self.how == "ended" and self.exit_code == 0 and not self.problems


class Skip(Value):
    """A person took the task out of the gate."""

    #: unverified, or forced.
    mark: str
    #: unavailable, false-negative or time-pressure; empty where everything was overridden.
    kind: str
    reason: str
    by: str
    at: str


class Verification(Value):
    """One task, from `verify start` on."""

    spec: TaskSpec
    taken_at: str
    status: Status = Status.PENDING
    attempt: int = 0
    began_at: str = ""
    #: HEAD when the work began, where its begin was recorded.
    head: str = ""
    last_step_at: str = ""
    report: Report | None = None
    check: Check | None = None
    review: Word | None = None
    failures: tuple[Failure, ...] = ()
    #: What the agents of this attempt ended with, by role, where a drive started them.
    codes: Mapping[str, int] = field(default_factory=dict)
    #: Seconds by step; what an attempt after a time-out gets is more.
    limits: Mapping[str, float] = field(default_factory=dict)
    #: No time limit for executor and reviewer.
    untimed: bool = False
    #: Object with what git showed when the task was taken.
    memory: str = ""
    #: Object with the files as they were when the last attempt failed, and those of the tree then.
    files: str = ""
    #: What was said against the task when it was taken.
    flags: tuple[str, ...] = ()
    #: Files that were handed to us: task, results, verdicts. They are no work of the executor's.
    attachments: tuple[str, ...] = ()
    #: Who has the attempt, where a worker took it by name; and the work tree that `memory` speaks of, where tasks are
    #: shared.
    by: str = ""
    place: str = ""
    #: Why a person has to confirm what is on the record: an agent recorded it in its own turn.
    voided: str = ""
    #: What people said when they let the task go on, each with a name in front.
    guidance: tuple[str, ...] = ()
    #: How many of the failures were there when a person last let the task go on, or its wave.
    resumed_after: int = 0
    wave_resumed_after: int = 0
    skip: Skip | None = None
    commit: str = ""
    committed_at: str = ""

    @property
    def task(self) -> str:
        """The name of its folder."""
        return self.spec.slug

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def wave(self) -> str:
        return self.spec.wave

    @property
    def step(self) -> int:
        """The step that the task is in, or that it came to."""
        if self.status in (Status.REVIEWING, Status.APPROVED, Status.REJECTED):
            return 3
        if self.status is Status.VERIFYING:
            return 2
        if self.status is Status.FAILED and self.failures:
            return self.failures[-1].step
        return 1

    @property
    def last_failure(self) -> Failure | None:
        return self.failures[-1] if self.failures else None

    @property
    def verified_tree(self) -> str:
        """What the files were that the evidence speaks of; empty while there is none."""
        return "" if self.check is None else self.check.after

    @property
    def weak_because(self) -> tuple[str, ...]:
        """Why a pass is a weak one; nothing for a strong one."""
        said = [] if self.report is None else list(doubts(self.report.result, self.spec.verify))
        if self.review is not None:
            confidence = self.review.said["confidence"]
            said += [] if confidence == "HIGH" else [f"confidence is {confidence}"]
            said += [f"concern: {concern}" for concern in self.review.said.get("concerns", ())]
            said += self.review.flags
        failed = [f"the {role} ended with {code}" for role, code in self.codes.items() if code]
        return (*said, *failed, *(() if self.check is None else self.check.flags))

    @property
    def is_weak(self) -> bool:
        return self.status is Status.APPROVED and bool(self.weak_because)

    @property
    def word(self) -> str:
        """The status as it stands in a list of tasks."""
        if self.skip is not None:
            return f"complete ({self.skip.mark})"
        return str(self.status)


def find_verification(state: State) -> Verification | None:
    """Return what a verify task has; None for every other task."""
    verification: Verification | None = state.parts.get(VERIFICATION)
    return verification


# --- what an executor claims of the verify command: a claim that does not fit the task makes a pass a weak one


def doubts(result: Mapping[str, Any], command: str) -> tuple[str, ...]:
    """Return what speaks against a report of success: another command, or an exit code other than 0.

    :param command: the task's verify command.
    """
    claimed = result.get("verification")
    if result.get("status") != "success" or not claimed:
        return ()
    found = []
    if not is_same_command(claimed["command"], command):
        shown = " ".join(claimed["command"].split())
        found.append(f"the executor ran another command than the task's: `{cut(shown)}`")
    if claimed["exit_code"] != 0:
        found.append(f"the executor reports success, and claims exit code {claimed['exit_code']}")
    return tuple(found)


def is_same_command(claimed: str, command: str) -> bool:
    """Tell whether two texts are one command: spaces, quotes, a prompt and the marks around code make no other one."""
    claimed, command = _bare(claimed), _bare(command)
    return claimed.split() == command.split() or _words(claimed) == _words(command)


def _bare(text: str) -> str:
    return text.replace("\\\n", " ").strip().strip("`").strip().removeprefix("$ ").strip()


def _words(text: str) -> list[str]:
    # Only where they differ: a replay of the ledger need not load it.
    import shlex

    try:
        return shlex.split(text)
    except ValueError:
        return [text]
