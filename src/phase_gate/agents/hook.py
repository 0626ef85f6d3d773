"""What an agent's hook is told: may it stop, may it write this file?

Where a task stands is said as `Task.standing` says it, in the same words. What is written is judged by its path alone;
that is a courtesy to the agent, for the gate itself finds every change that is made anyway. How an agent asks and is
answered is `agent`.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Iterable
from json import dumps, loads
from pathlib import Path

from phase_gate.codec import from_json, to_json
from phase_gate.errors import PhaseGateError
from phase_gate.gate.measured import WEAKENED
from phase_gate.gate.standing import Standing
from phase_gate.gate.state import State
from phase_gate.gate.verdict import Status, show_next, show_verdict
from phase_gate.hashing import sha256
from phase_gate.storage.files import REAL, make_folder, read_bytes, remove_file, write_atomically
from phase_gate.values import Literal, Value, replace
from phase_gate.visible import count, name_first, show_rows
from phase_gate.workflow.names import call_command, signal_command
from phase_gate.workflow.settings import Until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.gate.freeze import Frozen  # a stop looks at nothing that is frozen

_Unknown = Literal[""]
Verdict = Literal["allow", "block", "ask", "deny"]

#: Statuses whose sentence says by itself that it is no longer the agent's turn.
_OVER = frozenset({"halted", "stuck", "needs-person"})


class HookAnswer(Value):
    verdict: Verdict
    #: Where the task stands, as every command says it; empty where that is not what was asked, or not known.
    status: Status | _Unknown = ""
    reason: str = ""
    #: What there is to say beside it.
    note: str = ""
    next_command: str = ""
    next_hint: str = ""
    #: It may stop, though nothing is done: a person has to look.
    needs_person: bool = False

    @property
    def text(self) -> str:
        """What to say, to the agent or to a person; empty if there is nothing to say."""
        if not self.reason:
            return ""
        said = self.reason
        if self.status in _OVER:
            said = show_verdict(self.status, self.reason)
        elif self.status not in ("", "open"):
            said = f"not done: {self.reason}"
        step = show_next(self.next_command, self.next_hint, self.status)
        note = f"; {self.note}" if self.note else ""
        return show_rows((f"phase-gate: {said}{note}", *((f"Next: {step}",) if step else ())))


class Stop(Value):
    """An agent that is about to stop."""

    #: What the agent calls the session; empty where it does not tell.
    session: str = ""
    #: How often it was sent on, and how often its own rules allow that; None where it does not tell.
    sent_on: int | None = None
    limit: int | None = None
    #: A person interrupted it, or it failed: it can't be sent on.
    is_broken_off: bool = False
    #: A helper that the agent started ends: the work itself goes on.
    is_helper: bool = False

    @property
    def is_near_limit(self) -> bool:
        return self.sent_on is not None and self.limit is not None and self.sent_on >= self.limit - 1


ALLOW = HookAnswer(verdict="allow")


def decide_stop(state: State, standing: Standing, stop: Stop, *, until: Until, may_end_cycle: bool) -> HookAnswer:
    """Return whether the agent may stop.

    :param until: what it works towards: the end of the cycle, or of the phase.
    :param may_end_cycle: the present phase is one that may end the cycle.
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
    if stop.is_near_limit and not may_stop:
        return let_go(answer, "the agent was sent on as often as it lets itself be sent on")
    return answer


def _name_weakened(state: State) -> str:
    """Say what RED did to older tests, in a clause; empty: nothing."""
    last = state.evaluation
    findings = last.findings if last is not None and last.subject.cycle == state.cycle else ()
    places = [finding.place for finding in findings if finding.slug in WEAKENED]
    return f"RED removed older tests, or changed what they use: {name_first(places)}" if places else ""


def decide_stop_in_doubt(problem: str, remedy: str, stop: Stop) -> HookAnswer:
    """Return the answer where the state can't be trusted: closed, with the way to repair it."""
    if stop.is_broken_off or stop.is_helper:
        return ALLOW
    reason = f"the gate is closed, for its state can't be trusted: {problem}"
    answer = HookAnswer(verdict="block", reason=reason, next_hint=remedy)
    return (
        let_go(answer, "the agent was sent on as often as it lets itself be sent on") if stop.is_near_limit else answer
    )


# --- how often an agent was held up, and what has to change before it is held up again
#
# Some agents would be sent on for ever, so the stop hook counts: in a small file for each session of an agent, in the
# state folder's cache. It is evidence of nothing, so it is no part of the ledger and may be lost at any time. One file
# each, so that two agents that ask at once do not undo each other's count.


#: So many times the blocks that are allowed in a row, if no complete run tests anything new.
PATIENCE = 5


class Progress(Value):
    """What has to change before an agent may be held up again."""

    #: The files, and what is recorded of runs and phases.
    mark: str = ""
    #: The files that the last complete run tested, and the phase that it was in.
    tested: str = ""


class Blocks(Value):
    """How often an agent was held up."""

    #: In a row, with no run recorded and no file changed.
    in_row: int = 0
    #: With no complete run on changed files: one that only ever edits, or only ever runs, comes to an end, too.
    untested: int = 0
    progress: Progress = Progress()

    def after(self, now: Progress) -> Blocks:
        """Return the count with one more."""
        return Blocks(
            in_row=1 + (self.in_row if now.mark == self.progress.mark else 0),
            untested=1 + (self.untested if now.tested == self.progress.tested else 0),
            progress=now,
        )


#: Where nothing of the task can be read: then nothing can be recorded either, whatever the agent changes.
NO_PROGRESS = Progress()


def progress_of(state: State, tree: str) -> Progress:
    """Return how far a task is. Signals and claims are words, so they are no part of it."""
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
    """Return a short name for a value that JSON has."""
    return sha256(dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]


#: Sessions that are remembered at once; the oldest are forgotten first.
MOST_SESSIONS = 32
_MAX_BYTES = 4096


def block_file(state_folder: Path, *, agent: str, session: str, task: str) -> Path:
    """Return where the count of a session is kept; of the task, where the agent does not name its session."""
    return state_folder / "cache" / f"stops-{digest([agent, session, task])}.json"


def count_block(file: Path, now: Progress) -> Blocks | None:
    """Count one more block and return how many there are; None if that can't be kept."""
    if not file.parent.parent.is_dir():
        return None  # a hook makes no state folder
    blocks = _load(file).after(now)
    try:
        make_folder(REAL, file.parent)
        write_atomically(REAL, file, dumps(to_json(blocks)).encode(), durable=False)
    except PhaseGateError:
        return None
    _forget_oldest(file)
    return blocks


def _load(file: Path) -> Blocks:
    with contextlib.suppress(PhaseGateError, ValueError, TypeError, LookupError, RecursionError):
        blocks = from_json(Blocks, loads(read_bytes(file, limit=_MAX_BYTES) or b"{}"))
        if min(blocks.in_row, blocks.untested) >= 0:
            return blocks
    return Blocks()


def _forget_oldest(file: Path) -> None:
    with contextlib.suppress(OSError):
        others = [each for each in os.scandir(file.parent) if each.name.startswith("stops-") and each.name != file.name]
        others.sort(key=lambda each: each.stat().st_mtime_ns)
        for each in others[: len(others) + 1 - MOST_SESSIONS] if len(others) >= MOST_SESSIONS else ():
            remove_file(Path(each.path))


def limit_blocks(answer: HookAnswer, blocks: Blocks | None, *, most: int) -> HookAnswer:
    """Return the answer that ends a loop: so many blocks and no more. The gate stays closed, whatever is said here.

    :param blocks: how often the agent was held up, this time among them; None if that can't be counted. Then it is let
        go: sending it on could go on for ever, and where a count can't be written, no run can be recorded either.
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
    """Return the answer for an agent that is not sent on any more: the person who reads it has to act."""
    notes = [each for each in (answer.note, why, "a person is needed") if each]
    return replace(answer, verdict="allow", note="; ".join(notes), needs_person=True)


# --- about to write


#: pytest reads these and nothing else does.
PYTEST_FILES = frozenset({"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})


class WriteContext(Value):
    """What the rules look at."""

    #: From the root.
    state_folder: str
    #: Where the agent of a drive answers, from the root; empty: nowhere.
    answer_file: str = ""
    task: str = "default"
    phase: str = ""
    #: The phase that comes first, which is the way back.
    first: str = ""
    #: What may not change now; None if nothing is frozen.
    frozen: Frozen | None = None
    #: Our own configuration, and files of workflows.
    rules: tuple[str, ...] = ()
    #: Files that agents' hooks stand in; none outside a cycle.
    hook_files: tuple[str, ...] = ()


def decide_writes(paths: Iterable[str], context: WriteContext) -> HookAnswer:
    """Return the strictest answer of all.

    :param paths: from the root, with slashes; from a shell also folders.
    """
    answers = {answer.verdict: answer for path in paths if (answer := _decide(path, context)) is not None}
    return answers.get("deny") or answers.get("ask") or ALLOW


def decide_writes_in_doubt(paths: Iterable[str], context: WriteContext, problem: str, remedy: str) -> HookAnswer:
    """Return the answer where the state can't be trusted: nothing in the project is written until it is."""
    for path in paths:
        if (ours := _decide_about_state(path, context)) is not None:
            return ours
        if not path.startswith(("/", "../")):
            reason = f"{path} is not written now, for the gate's state can't be trusted: {problem}"
            return HookAnswer(verdict="deny", reason=reason, next_hint=remedy)
    return ALLOW


def _decide(path: str, context: WriteContext) -> HookAnswer | None:
    """Return what speaks against writing it; None: nothing."""
    if path == context.answer_file:
        return None
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
            why = "its tests were red before; new ones belong into another file"
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
        next_hint=f"{signal_command(context.task)} --reason '...' gives a signal; phase-gate status looks",
    )


#: How an agent calls a person.
_Call = Literal["blocked", "test-wrong"]


def _refuse(context: WriteContext, reason: str, *, answer: _Call = "test-wrong") -> HookAnswer:
    """Return that it is not written, and the one thing that an agent may do about it by itself: say so, and stop."""
    way_back = f'a person goes back with: phase-gate rewind {context.first.lower()} --reason "..."'
    cause = "it is wrong" if answer == "test-wrong" else "it has to change"
    return HookAnswer(
        verdict="deny",
        reason=f"{reason} ({context.phase})",
        next_hint=f"if {cause}: {call_command(answer, context.task)}, then stop: {way_back}",
    )


def _is_above_tests(conftest: str, frozen: Frozen) -> bool:
    home = conftest.rpartition("/")[0]
    return any(not home or file.startswith(f"{home}/") for file in frozen.inventory.files)


def _covers(written: str, file: str) -> bool:
    """Tell whether writing a path touches a file: it is the file, or a folder above it."""
    written = posixpath.normpath(written)
    return written in (".", file) or file.startswith(f"{written}/")
