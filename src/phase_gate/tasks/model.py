"""Work beyond a run of the tests: a verify task of a list, or a pipeline. Both are one shape.

A phase requires hand-ins, artifacts, checks and words of reviewers about one version; what does not pass is a failure,
and may be tried again. What only a list has is in `Verification`, what only a pipeline has in `Pipeline`.
Pure: values, and the table of what may follow what. How an event changes them is `events`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, get_args

from phase_gate.errors import NotAllowedError
from phase_gate.gate.parts import WORK
from phase_gate.names import name_key
from phase_gate.values import Value, field
from phase_gate.visible import cut

if TYPE_CHECKING:
    from phase_gate.gate.state import State

# --- what both have: words of reviewers, and failures


#: What a reviewer may say.
Choice = Literal["approve", "conditional", "reject"]
CHOICES: tuple[Choice, ...] = get_args(Choice)


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


#: What a vote weighs, times how sure the reviewer is.
WEIGHTS: Mapping[Choice, float] = {"approve": 1.0, "conditional": 0.5, "reject": 0.0}


class Tally(Value):
    """What the votes on the present version come to."""

    #: None without a vote: no score is not a score of nothing.
    score: float | None
    counted: tuple[Word, ...] = ()
    #: Votes on another version: they do not count.
    outdated: tuple[Word, ...] = ()


def count_votes(votes: Iterable[Word], on: Mapping[str, str]) -> Tally:
    """Return what the votes come to.

    :param on: digests of what has to be agreed on, as it is now; none of them empty, or nothing is there to vote on.
    """
    last = {name_key(vote.by): vote for vote in votes}.values()
    counted = tuple(vote for vote in last if dict(vote.about) == dict(on) and all(on.values()))
    outdated = tuple(vote for vote in last if vote not in counted)
    score = sum(WEIGHTS[vote.answer] * vote.confidence for vote in counted) / len(counted) if counted else None
    return Tally(score=None if score is None else round(score, 6), counted=counted, outdated=outdated)


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


class Failure(Value):
    """An attempt of a phase that did not pass."""

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


class Work(Value):
    #: How often each phase was tried.
    attempts: Mapping[str, int] = field(default_factory=dict)
    #: What the reviewers said of the present attempt.
    words: tuple[Word, ...] = ()
    failures: tuple[Failure, ...] = ()
    #: What people said when they let it go on, each with a name in front.
    guidance: tuple[str, ...] = ()
    #: The commit that the work began on, or that the plan was approved on.
    base: str = ""

    @property
    def is_pipeline(self) -> bool:
        return isinstance(self, Pipeline)

    @property
    def last_failure(self) -> Failure | None:
        return self.failures[-1] if self.failures else None


# --- a verify task


#: As many as a folder's name of ours may have.
_MAX_SLUG = 64
#: A task without a name of its own lives in the state folder itself.
_RESERVED = ("default",)


class TaskSpec(Value):
    """One task, as it stands in its file."""

    name: str = field(prose=True)
    #: Paths from the project's root, with `/`; a glob is allowed. The task may change these and no others.
    files: tuple[str, ...] = field(or_one=True)
    action: str = field(strip=True)
    #: The command that proves it, as one would type it.
    verify: str = field(strip=True)
    #: What is the case when it is done.
    done: str = field(strip=True)
    #: Whether a shell runs the command.
    shell: bool = False
    #: Names of tasks that have to be approved before.
    depends_on: tuple[str, ...] = field(default=(), or_one=True)
    #: Why a verify command that fails may be run once more; empty where the task does not declare it.
    flaky: str = ""
    #: Seconds by step, where the task asks for others than the default ones.
    timeouts: Mapping[str, float] = field(default_factory=dict, minimum=1)
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


class Verification(Work):
    """One task, from `verify start` on."""

    spec: TaskSpec
    taken_at: str
    status: Status = Status.PENDING
    began_at: str = ""
    last_step_at: str = ""
    report: Report | None = None
    check: Check | None = None
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
    #: How many of the failures were there when a person last let the task go on, or its wave.
    resumed_after: int = 0
    wave_resumed_after: int = 0
    skip: Skip | None = None
    commit: str = ""
    committed_at: str = ""

    @property
    def attempt(self) -> int:
        return self.attempts.get(PHASE, 0)

    @property
    def review(self) -> Word | None:
        return self.words[-1] if self.words else None

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


# --- a pipeline


RequestStatus = Literal["proposed", "approved", "rejected"]


class Request(Value):
    """A change that a person, an agent or a phase asks for."""

    id: str
    type: str
    title: str
    #: The phase that it leads to.
    target: str
    status: RequestStatus = "proposed"
    by: str = ""
    at: str = ""
    #: Closes every gate until a person decides.
    blocking: bool = False
    #: What it is about, as a hash: the same one is never made twice. Empty: a person made it.
    fingerprint: str = ""
    decided_by: str = ""
    reason: str = ""


class Step(Value, kw_only=False):
    """A phase that was entered, and how."""

    phase: str
    how: str


class Pipeline(Work):
    #: Digests of the constitution's files, as they were recorded; empty for one that was missing.
    constitution: Mapping[str, str] = field(default_factory=dict)
    #: Object with the rules that the cycle began with.
    rules: str = ""
    #: Commands of checks that were added since, by the names of their rules: from then on they are rules, too.
    commands: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    #: Contents of artifacts that belong to earlier attempts, by artifact.
    old: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: What artifacts were when the recovery began: what is made in it belongs to the attempt that follows.
    at_failure: Mapping[str, str] = field(default_factory=dict)
    #: What artifacts were when the phase was left that asked for them.
    made: Mapping[str, str] = field(default_factory=dict)
    #: What the reviewers agreed on, by artifact.
    approved: Mapping[str, str] = field(default_factory=dict)
    requests: tuple[Request, ...] = ()
    failed_phase: str = ""
    recoveries: int = 0
    #: Rewinds that were taken, each with the failure that it was for.
    rewinds: tuple[str, ...] = ()
    #: Where the phase leads that has exited.
    leads_to: str = ""

    @property
    def pending(self) -> tuple[Request, ...]:
        return tuple(request for request in self.requests if request.status == "proposed")

    def request(self, name: str) -> Request | None:
        return next((each for each in self.requests if each.id.upper() == name.upper()), None)

    def knows(self, fingerprint: str) -> bool:
        """Tell whether a request about the very same thing was made before, whatever became of it."""
        return any(each.fingerprint == fingerprint for each in self.requests)


# --- which of the two a task has


def find_verification(state: State) -> Verification | None:
    """Return what a verify task has; None for every other task."""
    work = state.parts.get(WORK)
    return work if isinstance(work, Verification) else None


def find_pipeline(state: State) -> Pipeline | None:
    """Return the pipeline that the present cycle runs through; None in any other workflow."""
    work = state.parts.get(WORK)
    return work if isinstance(work, Pipeline) else None


def require_verification(state: State, task: str) -> Verification:
    verification = find_verification(state)
    if verification is None:
        raise NotAllowedError(f"{task} is not a verify task", remedy="phase-gate verify status lists them")
    return verification


def pipeline_of(state: State) -> Pipeline:
    """Return the pipeline of the present cycle. Raises NotAllowedError where there is none."""
    pipeline = find_pipeline(state)
    if pipeline is None:
        raise NotAllowedError(
            f"this cycle runs through {state.workflow or 'no workflow yet'}, which is no pipeline",
            remedy="begin one: workflow: pipeline in the settings, then phase-gate advance",
        )
    return pipeline


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
    """Tell whether two texts are one command: spaces, needless quotes, a prompt and marks around code make no other."""
    return _words(claimed) == _words(command)


def _words(text: str) -> list[str]:
    import shlex  # here: a replay of the ledger need not load it

    text = text.replace("\\\n", " ").strip().strip("`").strip().removeprefix("$ ")
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
