"""The answers to an agent's hooks: whether it may stop, and whether it may write a file.

The status of a task is worded as in `Task.standing`. A write is judged by its path alone. This only warns the agent
early, because the gate itself finds every change anyway. The formats of events and answers are in `agent`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from json import dumps
from pathlib import Path

from phase_gate.bound import sha256
from phase_gate.codec import to_json
from phase_gate.errors import PhaseGateError
from phase_gate.gate.freshness import CurrentStatus
from phase_gate.gate.measured import WEAKENED
from phase_gate.gate.state import State
from phase_gate.gate.verdict import Status, show_next, show_verdict
from phase_gate.storage.files import REAL, load_value, make_folder, write_atomically
from phase_gate.storage.root import PYTEST_FILES
from phase_gate.values import Literal, Value, replace
from phase_gate.visible import count, name_first, show_rows
from phase_gate.workflow.names import call_command, rewind_command, signal_command, status_command
from phase_gate.workflow.sections import Until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.gate.inventory import Frozen  # not needed for a stop

_Unknown = Literal[""]
Verdict = Literal["allow", "block", "ask", "deny"]

#: Statuses whose text already shows that it is no longer the agent's turn.
_OVER = frozenset({"halted", "stuck", "needs-person"})


class HookAnswer(Value):
    verdict: Verdict
    #: The task's status, as in every command; empty if it is unknown or not part of the question.
    status: Status | _Unknown = ""
    reason: str = ""
    #: An additional remark.
    note: str = ""
    next_command: str = ""
    next_hint: str = ""
    #: It may stop although the work is not done, because a person is needed.
    needs_person: bool = False

    @property
    def text(self) -> str:
        """The message for the agent or for a person; empty if there is none."""
        if not self.reason:
            return ""
        message = self.reason
        if self.status in _OVER:
            message = show_verdict(self.status, self.reason)
        elif self.status not in ("", "open"):
            message = f"not done: {self.reason}"
        step = show_next(self.next_command, self.next_hint, self.status)
        note = f"; {self.note}" if self.note else ""
        return show_rows((f"phase-gate: {message}{note}", *((f"Next: {step}",) if step else ())))


class Stop(Value):
    """An agent that is about to stop."""

    #: The agent's name for the session; empty if unknown.
    session: str = ""
    #: A person interrupted it, or it failed, so it can't continue.
    is_broken_off: bool = False
    #: The agent's helper ends, but the work itself continues.
    is_helper: bool = False


ALLOW = HookAnswer(verdict="allow")


def decide_stop(state: State, standing: CurrentStatus, stop: Stop, *, until: Until, may_end_cycle: bool) -> HookAnswer:
    """Return whether the agent may stop.

    :param until: the agent's goal: the end of the cycle, or of the phase.
    :param may_end_cycle: whether the present phase may end the cycle.
    """
    if state.phase is None or state.is_done or stop.is_broken_off or stop.is_helper:
        return ALLOW
    weakened = _name_weakened(state)
    may_stop = standing.is_open and (until == "phase" or may_end_cycle)
    if may_stop and not weakened:
        return ALLOW
    answer = HookAnswer(
        verdict="allow" if may_stop else "block",
        status=standing.status,
        reason=standing.reason,
        note=weakened,
        next_command=standing.next_command,
        next_hint=standing.next_hint,
    )
    if standing.status in _OVER:
        note = "a person is needed" if standing.status == "halted" else ""
        return replace(answer, verdict="allow", note="; ".join(filter(None, (weakened, note))), needs_person=True)
    if standing.is_open and not may_stop:
        answer = replace(answer, note="; ".join(filter(None, (weakened, "the cycle is not done"))))
    return answer


def _name_weakened(state: State) -> str:
    """Return a clause about older tests that RED weakened; empty if there are none."""
    last = state.evaluation
    findings = last.findings if last is not None and last.cycle == state.cycle else ()
    places = [finding.place for finding in findings if finding.slug in WEAKENED]
    return f"RED removed older tests, or changed what they use: {name_first(places)}" if places else ""


def decide_stop_in_doubt(problem: str, remedy: str, stop: Stop) -> HookAnswer:
    """Return the answer if the state can't be trusted: closed, and how to repair it."""
    if stop.is_broken_off or stop.is_helper:
        return ALLOW
    reason = f"the gate is closed, for its state can't be trusted: {problem}"
    return HookAnswer(verdict="block", reason=reason, next_hint=remedy)


# --- how often an agent was blocked, and what has to change before it is blocked again
#
# Some agents would continue forever, so the stop hook counts its blocks, in a small file for each session of an agent,
# in the state folder's cache. The count is not evidence, so it is not in the ledger, and may be lost at any time. Each
# session has its own file, so that two agents that ask at once do not overwrite each other's count.


#: Without a complete run on changed files, the total of blocks is limited to this many times the limit in a row.
PATIENCE = 5


class Progress(Value):
    """What has to change before an agent may be blocked again."""

    #: The files, and the recorded runs and phases.
    mark: str = ""
    #: The files that the last complete run tested, and its phase.
    tested: str = ""


class Blocks(Value):
    """How often an agent was blocked."""

    #: In a row, without a recorded run or a changed file.
    in_row: int = 0
    #: Without a complete run on changed files. This also limits an agent that only edits, or only runs tests.
    untested: int = 0
    progress: Progress = Progress()

    def after(self, now: Progress) -> Blocks:
        """Return the count after another block."""
        return Blocks(
            in_row=1 + (self.in_row if now.mark == self.progress.mark else 0),
            untested=1 + (self.untested if now.tested == self.progress.tested else 0),
            progress=now,
        )


#: Used if the task can't be read: then no progress can be recorded, whatever the agent changes.
NO_PROGRESS = Progress()


def progress_of(state: State, tree: str) -> Progress:
    """Return a task's progress. Signals and claims are only words, so they are not part of it."""
    seen = State(
        cycle=state.cycle,
        phase=state.phase,
        exited=state.exited,
        open_runs=state.open_runs,
        last_run=state.last_run,
        parts=state.parts,
    )
    tested = "" if state.measurement is None else state.measurement.tree
    return Progress(mark=digest([to_json(seen), tree]), tested=digest([state.cycle, state.phase, state.exited, tested]))


def digest(value: object) -> str:
    """Return a short digest of a JSON value."""
    return sha256(dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]


def block_file(state_folder: Path, *, agent: str, session: str, task: str) -> Path:
    """Return the file with the count of a session, or of the task if the agent does not name its session."""
    return state_folder / "cache" / f"stops-{digest([agent, session, task])}.json"


def count_block(file: Path, now: Progress) -> Blocks | None:
    """Count another block and return the count; None if it can't be saved."""
    if not file.parent.parent.is_dir():
        return None  # a hook does not create the state folder
    blocks = (load_value(Blocks, file) or Blocks()).after(now)
    try:
        make_folder(REAL, file.parent)
        write_atomically(REAL, file, dumps(to_json(blocks)).encode(), durable=False)
    except PhaseGateError:
        return None
    return blocks


def limit_blocks(answer: HookAnswer, blocks: Blocks | None, *, most: int) -> HookAnswer:
    """Return the answer that ends a loop after `most` blocks. The gate stays closed in any case.

    :param blocks: how often the agent was blocked, including now; None if uncountable. Then the agent may stop:
        it could be blocked forever, and if a count can't be written, no run can be recorded either.
    """
    if answer.verdict != "block":
        return answer
    if blocks is None:
        return let_go(answer, "there is no state folder that can be written, so no run can be recorded")
    if blocks.in_row > most:
        return let_go(
            answer, f"the agent was sent on {count(most, 'time')}, and neither ran the tests nor changed a file"
        )
    if blocks.untested > most * PATIENCE:
        times = count(most * PATIENCE, "time")
        return let_go(answer, f"the agent was sent on {times}, and no complete run has tested another change since")
    return answer


def let_go(answer: HookAnswer, why: str) -> HookAnswer:
    """Return the answer for an agent that is no longer blocked. The person who reads it has to act."""
    notes = [each for each in (answer.note, why, "a person is needed") if each]
    return replace(answer, verdict="allow", note="; ".join(notes), needs_person=True)


# --- about to write


class WriteContext(Value):
    """The input of the rules about writes."""

    #: As a path from the root.
    state_folder: str
    #: The answer file of a drive's agent, as a path from the root; empty if there is none.
    answer_file: str = ""
    task: str = "default"
    phase: str = ""
    #: The first phase, which a rewind returns to.
    first: str = ""
    #: The frozen tests and their support files; None if nothing is frozen.
    frozen: Frozen | None = None
    #: Our own configuration, and workflow files.
    rules: tuple[str, ...] = ()
    #: Files with agents' hooks; empty outside a cycle.
    hook_files: tuple[str, ...] = ()


def decide_writes(paths: Iterable[str], context: WriteContext) -> HookAnswer:
    """Return the strictest answer for all paths.

    :param paths: from the root, with slashes; from a shell also folders.
    """
    answers = {answer.verdict: answer for path in paths if (answer := _decide(path, context)) is not None}
    return answers.get("deny") or answers.get("ask") or ALLOW


def decide_writes_in_doubt(paths: Iterable[str], context: WriteContext, problem: str, remedy: str) -> HookAnswer:
    """Return the answer if the state can't be trusted: nothing in the project may be written until it is repaired."""
    for path in paths:
        if (ours := _decide_about_state(path, context)) is not None:
            return ours
        if not path.startswith(("/", "../")):
            reason = f"{path} is not written now, for the gate's state can't be trusted: {problem}"
            return HookAnswer(verdict="deny", reason=reason, next_hint=remedy)
    return ALLOW


def _decide(path: str, context: WriteContext) -> HookAnswer | None:
    """Return the objection to a write; None if there is none."""
    if "\0" in path:
        return HookAnswer(verdict="deny", reason=f"no file can be named {path!a}", next_hint="leave out the NUL")
    if (ours := _decide_about_state(path, context)) is not None:
        return ours
    if any(_covers(path, file) for file in context.hook_files):
        reason = f"{path} tells the agent to ask the gate; a person decides whether it changes"
        return HookAnswer(
            verdict="ask", reason=reason, next_hint="phase-gate doctor shows whether the hook still answers"
        )
    frozen = context.frozen
    if frozen is None:
        return None
    for file in (*context.rules, *((path,) if path in PYTEST_FILES else ())):
        if _covers(path, file):
            return _refuse(context, f"{file} sets the rules of this cycle, which began with others", answer="blocked")
    for file in (*frozen.inventory.files, *frozen.support):
        if _covers(path, file):
            why = "its tests were red before; put new ones in another file"
            return _refuse(
                context, f"{file} is frozen: {why if file in frozen.inventory.files else 'the tests use it'}"
            )
    if path.rpartition("/")[2] == "conftest.py" and _is_above_tests(path, frozen):
        return _refuse(context, f"{path} would be a new conftest.py above frozen tests")
    return None


def _decide_about_state(path: str, context: WriteContext) -> HookAnswer | None:
    if path == context.answer_file or not (_covers(context.state_folder, path) or _covers(path, context.state_folder)):
        return None
    return HookAnswer(
        verdict="deny",
        reason=f"{path} belongs to the gate's own record: only the gate writes it",
        next_hint=f"{signal_command(context.task)} --reason '...' gives a signal; {status_command(context.task)} looks",
    )


#: The signals with which an agent calls a person.
_Call = Literal["blocked", "test-wrong"]


def _refuse(context: WriteContext, reason: str, *, answer: _Call = "test-wrong") -> HookAnswer:
    """Refuse a write, and name the only thing that the agent can do about it: signal the problem, and stop."""
    return_command = f"a person goes back with: {rewind_command(context.first, context.task)}"
    cause = "it is wrong" if answer == "test-wrong" else "it has to change"
    return HookAnswer(
        verdict="deny",
        reason=f"{reason} ({context.phase})",
        next_hint=f"if {cause}: {call_command(answer, context.task)}, then stop: {return_command}",
    )


def _is_above_tests(conftest: str, frozen: Frozen) -> bool:
    home = conftest.rpartition("/")[0]
    return any(not home or file.startswith(f"{home}/") for file in frozen.inventory.files)


def _covers(written: str, file: str) -> bool:
    """Return whether writing a path affects a file: it is the file, or a folder above it."""
    written = posixpath.normpath(written)
    return written in (".", file) or file.startswith(f"{written}/")
