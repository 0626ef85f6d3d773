"""What an iteration brought: the agent's answer, our own run of the tests, the claim, the signal, the decision."""

from __future__ import annotations

import secrets
from pathlib import Path

from phase_gate.claims.blocks import read_blocks
from phase_gate.claims.decision import Decision as ClaimDecision
from phase_gate.claims.decision import own_threshold
from phase_gate.claims.text import read_claim_text, sentences
from phase_gate.codec import to_json
from phase_gate.decisions.advancing import advance
from phase_gate.decisions.claiming import Claim, decide_claim
from phase_gate.decisions.signalling import give_signal
from phase_gate.drive.agent import Played, run_suite
from phase_gate.drive.chain import Decision, Outcome, Seen, decide
from phase_gate.drive.clients import Client, Roles, read_said
from phase_gate.drive.loop import call_person
from phase_gate.drive.model import DriveState, Iteration, require_drive
from phase_gate.drive.pipelines import begin_recovery, complete_phase, progress_in, tests_of_recovery
from phase_gate.drive.session import Question, Session, Working
from phase_gate.errors import NotAllowedError, PhaseGateError, StorageError
from phase_gate.exit_codes import NOT_TRUSTED
from phase_gate.gate.signals import Signal
from phase_gate.gate.state import Event, Fact
from phase_gate.project import who_am_i
from phase_gate.storage.signal_file import parse_signal, read_signal_file, remove_signal_file
from phase_gate.storage.store import TaskStore
from phase_gate.task import Task
from phase_gate.tasks.pipeline import find_pipeline
from phase_gate.values import Value, replace
from phase_gate.workflow.model import Phase
from phase_gate.workflow.names import DONE, of_task, show_duration

#: What only a person does, or only the drive while its agent works.
_OUTSIDE = frozenset(
    {"phase-exited", "overridden", "waived", "breaker-reset", "rollback-accepted", "repaired"}
    | {"voted", "request-decided"}
)


class Mark(Value):
    """What an agent that works changes."""

    tree: str
    phase: str | None
    exited: bool
    cycle: int
    facts: tuple[Fact, ...]
    #: The documents of a pipeline.
    documents: str


def progress_of(task: Task) -> Mark:
    """Return how far the work has come; the same twice: nothing was done."""
    state = task.state
    return Mark(
        tree=task.tree.digest,
        phase=state.phase,
        exited=state.exited,
        cycle=state.cycle,
        facts=state.facts,
        documents=progress_in(task),
    )


class Turn:
    """An iteration while it goes on."""

    def __init__(
        self,
        *,
        roles: Roles,
        client: Client,
        phase: Phase,
        drive: DriveState,
        before: Mark,
        last_run: str | None,
        signal_before: str,
    ) -> None:
        self.roles, self.client, self.phase = roles, client, phase
        self.drive, self.number = drive.id, drive.number + 1
        self.mark = secrets.token_hex(16)
        self.before, self.last_run, self.signal_before = before, last_run, signal_before
        self.at = ""
        self.idle, self.spent = drive.idle, drive.seconds
        self.suite_seconds = self.waited = 0.0
        #: For the next prompt.
        self.notes: list[str] = []
        self.played: Played | None = None

    def folder(self, store: TaskStore) -> Path:
        """Each drive has a folder of its own."""
        return store.drive_folder / self.drive

    def file(self, store: TaskStore, name: str) -> Path:
        return self.folder(store) / f"{self.number:04}.{name}"

    def note(self, text: str) -> None:
        """Keep something for the next prompt."""
        self.notes += [text] if text else []

    def end_event(self, outcome: str, reason: str) -> Event:
        played = self.played
        assert played is not None, "the agent has ended"
        row = Iteration(
            drive=self.drive,
            number=self.number,
            phase=self.phase.name,
            at=self.at,
            how="waits" if played.is_busy else played.how,
            code=played.code,
            agent_seconds=played.seconds,
            suite_seconds=self.suite_seconds,
            waited_seconds=self.waited,
            outcome=outcome,
            reason=reason,
            counts=not played.is_busy,
        )
        idle = 0 if played.is_busy else self.idle
        return Event(kind="iteration-ended", data={"drive": self.drive, "iteration": to_json(row), "idle": idle})


def judge_turn(session: Session, turn: Turn, played: Played) -> Decision:
    """Judge what the agent left, and return what follows."""
    turn.spent += played.seconds + played.waited
    turn.waited = played.waited
    if played.how == "timed-out":
        turn.note(f"you were stopped after {show_duration(played.seconds)}: do less in one iteration")
    elif played.code != 0:
        turn.note(f"you {played.shown} last time")
    if session.is_cut_off() or played.how == "interrupted":
        return decide(_see(session, session.task(), turn, played))
    outside = _find_outside(session, played)
    task = _record_agent(session, turn, played)
    task, answer = _take_answer(session, task, turn, played)
    if outside or played.is_busy or played.trouble:
        return decide(_see(session, task, turn, played, outside=outside))
    done = complete_phase(session, task, turn)
    turn.notes += done.notes
    task = session.task() if find_pipeline(task.state) is not None else task
    if done.trouble:
        return Decision(outcome=Outcome.PERSON, reason=done.trouble)
    if answer is not None and answer.answer == "done" and not done.is_agreed:
        # A plan that is not agreed on is written again: it is no gate that failed.
        turn.note("your signal waits until the reviewers agree")
        answer = None
    task = _run_tests(session, task, turn, has_answer=answer is not None)
    if session.is_cut_off():
        return decide(_see(session, task, turn, played))
    claim = _weigh_claim(session, task, turn, played)
    if claim is not None:
        task = session.task()
    if answer is not None:
        note, task = give_answer(session, task, answer)
        turn.note(note)
    if note := begin_recovery(session, task, turn.phase):
        turn.note(note)
        task = session.task()
    return _decide(session, task, turn, played, claim)


# --- the agent's answer to Gate 2, and what was done beside the drive while it worked


def waiting_signal(task: Task) -> str:
    """Return which signal waits in the task's folder, before the agent is started; empty: none does."""
    waiting = read_signal_file(task.store.signal_file, spent=task.state.spent_signal)
    return "" if waiting is None else waiting.identity


def _find_outside(session: Session, played: Played) -> str:
    """Return what was recorded meanwhile, and is not an agent's to do; empty: nothing."""
    for kind in played.recorded:
        if kind in _OUTSIDE:
            what = f"{kind} was recorded while the agent worked, and not by the drive"
            return f"{what}: read {of_task('phase-gate history --events', session.project.task)}, then resume"
    return ""


def _record_agent(session: Session, turn: Turn, played: Played) -> Task:
    """Record that the agent is at work no more: signals are taken again."""
    data = {"drive": turn.drive, "number": turn.number, "how": played.how, "code": played.code}
    return session.task().record(Event(kind="agent-ended", data={**data, "seconds": played.seconds}))


def _take_answer(session: Session, task: Task, turn: Turn, played: Played) -> tuple[Task, Signal | None]:
    """Return what the agent answered, if it may; a signal that it left elsewhere is taken away."""
    signal: Signal | None = None
    #: The answer, why it is refused, and the file that it stands in, if that is not the agent's own.
    refused: list[tuple[str, str, str]] = []
    if played.data is not None:
        try:
            signal = parse_signal(played.data, name="the answer")
        except PhaseGateError as error:
            refused.append(("malformed", error.problem, ""))
    if signal is not None and signal.answer == "done" and session.settings.signal == "ask":
        refused.append(("done", "a person gives the signal in this drive", ""))
        signal = None
    beside = read_signal_file(task.store.signal_file, spent=task.state.spent_signal)
    is_new = beside is not None and beside.identity != turn.signal_before
    if beside is not None and is_new and beside.signal is not None and beside.signal.answer == "done":
        refused.append(("done", "exit-signal.yaml was made while the agent worked", beside.identity))
        remove_signal_file(task.store.signal_file)
    for answer, problem, file in refused:
        data = {"answer": answer, "problem": problem, **({"file": file} if file else {})}
        task = task.record(Event(kind="signal-refused", data=data))
        session.note(f"the agent's answer is refused: {problem}")
        turn.note(f"your answer was refused: {problem}")
    if signal is None:
        return task, None
    session.tell("answer", number=turn.number, answer=signal.answer, reason=signal.reason)
    # Whatever name it gives: the record says that an agent did.
    return task, replace(signal, by=turn.client.name)


def give_answer(session: Session, task: Task, signal: Signal) -> tuple[str, Task]:
    """Give a signal about the last run; return what there is to say of it in the next prompt, and the task after it."""
    try:
        evaluation, task = give_signal(task, signal, show=session.note, show_progress=session.note)
    except NotAllowedError as error:
        session.note(f"the signal is refused: {error.problem}")
        return f"the signal was refused: {error.problem}", session.task()
    if signal.answer == "not-done":
        return f"{signal.by} says that it is not done: {signal.reason}", task
    if signal.answer == "done" and not evaluation.can_exit:
        return f"the signal came too early: {evaluation.reason}", task
    return "", task


# --- our own run of the tests


def _run_tests(session: Session, task: Task, turn: Turn, *, has_answer: bool) -> Task:
    """Run the tests where the phase takes any, or look at it; return the task after that."""
    phase = task.rules.phase(task.state.phase or "") or turn.phase
    if phase.tests != "none" or tests_of_recovery(task, phase):
        if _is_tested(task, turn):
            session.note("nothing has changed: the last run stands")
        else:
            task = _run_suite(session, task, turn, phase)
    if phase.tests == "none" and not has_answer and not session.is_cut_off():
        advance(task, template=False, show=session.note)
        task = session.task()
    return task


def _is_tested(task: Task, turn: Turn) -> bool:
    """Tell whether our own last run speaks of the files as they are."""
    last = task.state.last_run
    return (
        last is not None
        and last.id == turn.last_run
        and progress_of(task) == turn.before
        and task.standing().status in ("closed", "early", "waiting", "open")
    )


def _run_suite(session: Session, task: Task, turn: Turn, phase: Phase) -> Task:
    limit, log = session.settings.test_time_limit, turn.file(task.store, "tests.log")
    working = Working(role="tests", where=phase.name, number=turn.number, limit=limit, spent=turn.spent)
    suite = run_suite(session, phase, log, working)
    turn.suite_seconds = round(suite.seconds, 3)
    turn.spent += suite.seconds
    task = session.task()
    standing, last = task.standing(), task.state.last_run
    turn.last_run = None if last is None else last.id
    session.tell(
        "tests-ended",
        number=turn.number,
        phase=phase.name,
        how=suite.how,
        code=suite.code,
        seconds=turn.suite_seconds,
        status=standing.status,
        reason=standing.reason if phase.tests != "none" else f"pytest ended with {suite.code}",
        log=session.relative(log),
    )
    if suite.code == NOT_TRUSTED:
        raise StorageError("the run could not be recorded", remedy=f"read {session.relative(log)}")
    if suite.how == "timed-out":
        turn.note(f"the tests did not end within {show_duration(limit)}")
    return task


# --- the claim


def _weigh_claim(session: Session, task: Task, turn: Turn, played: Played) -> ClaimDecision | None:
    """Record what the agent claims and what that is worth; None: it says nothing, or there is nothing left to claim."""
    state = task.state
    texts = read_said(played.said)
    if not any(text.strip() for text in texts) or state.phase is None or state.exited or state.is_done:
        return None
    text = read_claim_text(texts)
    blocks = read_blocks(text)
    threshold = own_threshold(task.project.configuration.exit_gate)
    claim = Claim(
        said=blocks,
        prose=sentences(text, blocks.reasons),
        file=played.transcript,
        handed=(),
        threshold=threshold,
        own_threshold=threshold,
        kind=None,
        by=turn.client.name,
        # Its output is never searched for a signal, whatever else the project allows.
        as_signal=False,
    )
    try:
        decided = decide_claim(task, claim, show=session.note, show_progress=session.note).decision
    except NotAllowedError as error:
        session.note(f"the claim was not weighed: {error.problem}")
        return None
    turn.notes += [f"what you said is not what was measured: {each}" for each in decided.contradictions]
    if decided.is_claim:
        session.tell("claim-weighed", number=turn.number, outcome=str(decided.outcome), reason=decided.reason)
        turn.note("" if decided.passed else f"you said that it is done: {decided.reason}")
        turn.note(decided.missing)
    return decided


# --- the decision


def _decide(session: Session, task: Task, turn: Turn, played: Played, claim: ClaimDecision | None) -> Decision:
    seen = _see(session, task, turn, played, claim)
    signal = ask_for_signal(session, seen)
    if signal is None:
        return decide(replace(seen, is_interrupted=seen.is_interrupted or session.is_asked_to_end))
    note, task = give_answer(session, task, signal)
    turn.note(note)
    # The person has answered, so that is no reason to wait any more: what follows is said by the rest.
    return decide(replace(_see(session, task, turn, played, claim), signal="agent"))


def see(session: Session, task: Task) -> Seen:
    """Return where the task and its drive stand, whatever an agent did."""
    settings, state, standing = session.settings, task.state, task.standing()
    drive = require_drive(state)
    return Seen(
        is_interrupted=session.is_asked_to_end,
        status=standing.status,
        reason=standing.reason,
        phase=str(state.phase),
        has_exited=state.exited,
        is_done=state.exited and standing.is_open and state.phase == settings.until,
        gate_1_open=standing.status == "waiting",
        signal=settings.signal,
        idle_limit=settings.idle_limit,
        iterations=drive.counted,
        seconds=drive.seconds,
        budget=settings.budget,
    )


def _see(
    session: Session, task: Task, turn: Turn, played: Played, claim: ClaimDecision | None = None, *, outside: str = ""
) -> Seen:
    seen, state, standing = see(session, task), task.state, task.standing()
    turn.idle = 0 if progress_of(task) != turn.before else require_drive(state).idle + 1
    # The cycle that is done is the one of this drive, and not the one before it.
    is_over = state.is_done and (turn.before.phase != DONE or state.cycle != turn.before.cycle)
    if is_over and not standing.is_open:
        outside = outside or f"the cycle is done, and {standing.reason}"
    return replace(
        seen,
        is_interrupted=seen.is_interrupted or played.how == "interrupted",
        phase=turn.phase.name,
        is_done=seen.is_done or (is_over and standing.is_open),
        claim=None if claim is None else claim.outcome,
        claim_reason="" if claim is None else claim.reason,
        outside=outside,
        trouble=played.trouble,
        idle=0 if played.is_busy else turn.idle,
        iterations=seen.iterations - played.is_busy,
        seconds=turn.spent,
    )


def ask_for_signal(session: Session, seen: Seen) -> Signal | None:
    """Ask for the signal of Gate 2 where it is what the drive waits for; None: no person is there, or none answers."""
    decision = decide(seen)
    waits = decision.outcome is Outcome.PERSON and seen.gate_1_open and not seen.outside
    if not waits or session.watchers.ask is None or session.is_asked_to_end:
        return None
    call_person(session, decision.reason)  # who may be in another room
    ways = ("  Type why it is done; `no` and what is missing; or nothing, to end the drive here.",)
    typed = session.ask(Question(text=f"{decision.reason}.", ways=ways, prompt="done, because: "))
    if not typed:
        return None
    by = who_am_i(session.project.environment)
    word, _, rest = typed.partition(" ")
    if word.rstrip(",.:").lower() == "no":
        return Signal(answer="not-done", reason=rest or "a person says so", by=by)
    return Signal(answer="done", reason=typed, by=by)
