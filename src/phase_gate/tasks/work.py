"""Work beyond a run of the tests: a verify task of a list, or a pipeline. Both have the same structure.

A phase requires hand-ins, artifacts, checks and review results of one version. An attempt that does not pass is a
failure, and may be repeated. Pure values: `state_extension` applies events to them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from phase_gate.errors import NotAllowedError
from phase_gate.gate.state import WORK
from phase_gate.storage.root import DEFAULT_TASK
from phase_gate.values import Value, field
from phase_gate.workflow.sections import MAX_TIMEOUTS

if TYPE_CHECKING:
    from phase_gate.gate.state import State

# --- common to both: review results, and failures


#: The possible answers of a reviewer.
Choice = Literal["approve", "conditional", "reject"]


class Word(Value):
    """One reviewer's result for one version: a vote in a pipeline, a verdict on a verify task."""

    by: str
    answer: Choice
    #: How sure the reviewer is, from 0 to 1.
    confidence: float
    #: The reviewed version: digests of artifacts, or of the files that were verified.
    about: Mapping[str, str]
    reason: str = ""
    at: str = ""
    #: The complete hand-in of a verdict, with its other fields.
    said: Mapping[str, Any] = field(default_factory=dict)
    #: Why a pass with it is weak.
    flags: tuple[str, ...] = ()


class FailureType(StrEnum):
    EXECUTION_FAILURE = "EXECUTION_FAILURE"
    VERIFY_FAILURE = "VERIFY_FAILURE"
    ARCHITECT_REJECTION = "ARCHITECT_REJECTION"
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
    #: Attempt and step of a verify task; or the phase of a pipeline.
    attempt: int = 0
    step: int = 0
    phase: str = ""
    tree: str = ""
    #: The first lines that show what failed; or guards and clauses that were not met.
    lines: tuple[str, ...] = ()
    #: The exit code of the verify command; None if it did not end, or did not run.
    exit_code: int | None = None
    #: False if the work itself did not fail: it waits for another task, or files were changed meanwhile.
    counts: bool = True
    #: True once a later attempt has passed this step; and how the failure was fixed.
    recovered: bool = False
    resolution: str = ""

    @property
    def first_line(self) -> str:
        return self.error.strip().partition("\n")[0][:200]


class Work(Value):
    #: How often each phase was tried.
    attempts: Mapping[str, int] = field(default_factory=dict)
    #: The review results of the current attempt.
    words: tuple[Word, ...] = ()
    failures: tuple[Failure, ...] = ()
    #: The reasons of people who let it continue, each after a name.
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


#: Characters in the name of a task's folder.
_MAX_SLUG = 64


class TaskSpec(Value):
    """One task, as described in its file."""

    name: str = field(prose=True)
    #: Paths relative to the project's root, with `/`. Globs are allowed. The task may change only these files.
    files: tuple[str, ...] = field(or_one=True)
    action: str = field(strip=True)
    #: The command that proves it, as you would type it.
    verify: str = field(strip=True)
    #: The criteria for being done.
    done: str = field(strip=True)
    #: Names of tasks that have to be approved first.
    depends_on: tuple[str, ...] = field(default=(), or_one=True)
    #: Why a failing verify command may run once more; empty if the task does not declare it as flaky.
    flaky: str = ""
    #: Seconds by step, if they differ from the defaults.
    timeouts: Mapping[str, float] = field(default_factory=dict, minimum=1, most=MAX_TIMEOUTS)
    #: The group of tasks that it runs with.
    wave: str = ""
    #: Its place in the plan that it comes from.
    phase: str = ""
    plan: str = ""

    @property
    def slug(self) -> str:
        return task_slug(self.name)


def task_slug(name: str) -> str:
    """Return the name of the task's folder: `Task 3: Create PlannerId` is stored in `task-3-create-plannerid`."""
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    is_whole = name.isascii() and slug != DEFAULT_TASK and 0 < len(slug) <= _MAX_SLUG
    if is_whole:
        return slug
    # Two names could have the same slug if letters were replaced or cut, so add a hash.
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return "-".join(filter(None, (slug[: _MAX_SLUG - 9].strip("-") or "task", mark)))


#: Names of the shipped workflow for verify tasks, and of its only phase.
WORKFLOW = "verification"
PHASE = "VERIFICATION"


class Status(StrEnum):
    """The status of a task."""

    PENDING = "PENDING"
    EXECUTING = "EXECUTING"
    VERIFYING = "VERIFYING"
    REVIEWING = "REVIEWING"
    APPROVED = "APPROVED"
    FAILED = "FAILED"
    REJECTED = "REJECTED"
    BLOCKED = "BLOCKED"
    SKIPPED = "SKIPPED"


IN_PROGRESS = frozenset({Status.EXECUTING, Status.VERIFYING, Status.REVIEWING})
FINISHED = frozenset({Status.APPROVED, Status.SKIPPED})
NOT_PASSED = frozenset({Status.FAILED, Status.REJECTED})

#: The names of the three steps, as used for time limits.
STEPS: Mapping[int, str] = {1: "executor", 2: "verify", 3: "review"}


class Report(Value):
    """Step 1: the executor's report, with long texts cut."""

    result: Mapping[str, Any]
    by: str
    at: str
    tree: str
    #: Why a pass with it is weak: its claim about the verify command does not fit the task.
    flags: tuple[str, ...] = ()


class Check(Value):
    """Step 2: our run of the verify command."""

    id: str
    command: str
    at: str
    #: The files before the run, and after it. The result is about the files after it.
    tree: str
    after: str = ""
    limit: float = 0.0
    ended_at: str = ""
    #: running, ended, timed-out, interrupted or not-started.
    how: str = "running"
    exit_code: int | None = None
    seconds: float = 0.0
    #: Object with its output.
    output: str = ""
    #: Number of tests that it ran, if known.
    tests: int | None = None
    #: Runs of pytest in it that our plugin recorded.
    runs: tuple[str, ...] = ()
    #: Why an exit code of 0 is no proof, as pairs of slug and text; and reasons that only make the pass weak.
    problems: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
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

    #: unavailable, false-negative or time-pressure; empty if everything was overridden.
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
    #: Seconds by step. An attempt after a time-out gets more.
    limits: Mapping[str, float] = field(default_factory=dict)
    #: No time limit for executor and reviewer.
    untimed: bool = False
    #: Object with the commit and the files from when the task was taken.
    memory: str = ""
    #: Object with the tests that the verify command selected then; empty if that is unknown.
    known: str = ""
    #: Problems of the task's description when it was taken.
    flags: tuple[str, ...] = ()
    #: The worker that has the attempt, if it gave a name; and the work tree of `memory`, if tasks are shared.
    by: str = ""
    place: str = ""
    #: Why a person has to confirm the recorded steps: an agent recorded them in its own turn.
    voided: str = ""
    #: Number of failures when a person last resumed the task.
    resumed_after: int = 0
    skip: Skip | None = None
    commit: str = ""

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
        """The current step of the task, or the last one."""
        if self.status in (Status.REVIEWING, Status.APPROVED, Status.REJECTED):
            return 3
        if self.status is Status.VERIFYING:
            return 2
        if self.status is Status.FAILED and self.failures:
            return self.failures[-1].step
        return 1

    @property
    def verified_tree(self) -> str:
        """The tree that the evidence is about; empty while there is none."""
        return "" if self.check is None else self.check.after

    @property
    def weak_because(self) -> tuple[str, ...]:
        """Why a pass is weak; empty for a strong one."""
        return tuple(flag for each in (self.report, self.review, self.check) if each is not None for flag in each.flags)

    @property
    def is_weak(self) -> bool:
        return self.status is Status.APPROVED and bool(self.weak_because)

    @property
    def word(self) -> str:
        """The status as shown in a list of tasks."""
        if self.skip is None:
            return str(self.status)
        return "complete (unverified)" if self.skip.kind else "complete (forced)"


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
    #: A hash of its subject, so that no request is made twice. Empty if a person made it.
    fingerprint: str = ""
    decided_by: str = ""
    reason: str = ""


class Pipeline(Work):
    #: Recorded digests of the constitution's files; empty for a missing file.
    constitution: Mapping[str, str] = field(default_factory=dict)
    #: Object with the rules that the cycle began with.
    rules: str = ""
    #: Contents of artifacts that belong to earlier attempts, by artifact.
    old: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Artifacts when the recovery began. Artifacts that are made during the recovery belong to the next attempt.
    at_failure: Mapping[str, str] = field(default_factory=dict)
    #: Artifacts when the phase that requires them was left.
    made: Mapping[str, str] = field(default_factory=dict)
    #: The approved versions, by artifact.
    approved: Mapping[str, str] = field(default_factory=dict)
    requests: tuple[Request, ...] = ()
    failed_phase: str = ""
    recoveries: int = 0
    #: The phase that follows the exited one.
    leads_to: str = ""

    @property
    def pending(self) -> tuple[Request, ...]:
        return tuple(request for request in self.requests if request.status == "proposed")


# --- find the work of a task


def find_verification(state: State) -> Verification | None:
    """Return the work of a verify task; None for every other task."""
    work = state.parts.get(WORK)
    return work if isinstance(work, Verification) else None


def require_verification(state: State, task: str) -> Verification:
    verification = find_verification(state)
    if verification is None:
        raise NotAllowedError(f"{task} is not a verify task", remedy="phase-gate verify status  # lists them")
    return verification


def find_pipeline(state: State) -> Pipeline | None:
    """Return the pipeline of the current cycle; None in any other workflow."""
    work = state.parts.get(WORK)
    return work if isinstance(work, Pipeline) else None


def pipeline_of(state: State) -> Pipeline:
    """Return the pipeline of the current cycle. Raises NotAllowedError if there is none."""
    pipeline = find_pipeline(state)
    if pipeline is None:
        raise NotAllowedError(
            f"this cycle uses {state.workflow or 'no workflow yet'}, which is not a pipeline",
            remedy="begin one: workflow: pipeline in the settings, then phase-gate advance",
        )
    return pipeline
