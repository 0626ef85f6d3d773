"""One iteration: prompt, agent, our own run of the tests, the claim, the signal, the decision."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from phase_gate.claims.decision import Decision as ClaimDecision
from phase_gate.codec import to_json
from phase_gate.decisions.advancing import advance
from phase_gate.drive.agent_process import AgentEnded, run_agent
from phase_gate.drive.answers import find_outside, give_answer, take_answer, waiting_signal
from phase_gate.drive.chain import Decision, Outcome, Seen, decide
from phase_gate.drive.clients import choose_environment
from phase_gate.drive.happenings import Progress
from phase_gate.drive.model import Iteration, OpenIteration
from phase_gate.drive.people import ask_person
from phase_gate.drive.phases import enter_phase, phase_of_work, progress_of
from phase_gate.drive.pipelines import begin_recovery, complete_phase, prepare_phase, tell_needs, tests_of_recovery
from phase_gate.drive.prompting import Situation, write_prompt
from phase_gate.drive.session import DriveSession
from phase_gate.drive.suite import run_suite
from phase_gate.drive.waiting import wait_until_free
from phase_gate.drive.weighing import weigh_claim
from phase_gate.errors import PhaseGateError, StateError, StorageError
from phase_gate.evidence.process.output import blot
from phase_gate.evidence.process.run import Ended
from phase_gate.exit_codes import NOT_TRUSTED
from phase_gate.gate.signals import Signal
from phase_gate.gate.standing import Standing
from phase_gate.gate.state import Event, State
from phase_gate.storage.files import REAL, make_folder, remove_file, write_atomically
from phase_gate.task import Task
from phase_gate.values import Value, replace
from phase_gate.workflow.durations import show_duration
from phase_gate.workflow.names import DONE, NONCE_VARIABLE

#: Lines of the agent's output that a view is given.
_SHOWN = 8


class Ran(Value):
    """What an iteration brought, as far as it came."""

    agent: AgentEnded
    suite: Ended | None = None
    claim: ClaimDecision | None = None
    #: What happened beside the drive.
    outside: str = ""
    decision: Decision | None = None

    @property
    def waits(self) -> bool:
        """Whether the client was busy, and the same call works later."""
        return self.agent.ending.kind == "busy"


def run_iteration(session: DriveSession) -> Decision:
    """Let the agent work once, judge what it left, and record both."""
    iteration = _Iteration(session)
    iteration.begin()
    return iteration.run()


class _Iteration:
    def __init__(self, session: DriveSession) -> None:
        self.session = session
        self.task = enter_phase(session, session.task())
        self.workflow, self.phase = phase_of_work(self.task)
        session.client = session.roles.choose(self.workflow, self.phase)
        drive = session.drive(self.task)
        self.drive_id, self.number = drive.id, drive.number + 1
        self.spent, self.idle = drive.seconds, drive.idle
        self.nonce, self.mark = secrets.token_hex(16), secrets.token_hex(16)
        self.at = ""
        self._before = progress_of(self.task)
        self._serial = 0
        self._signal_before = ""
        self._suite_seconds = self._waited = 0.0
        self._notes: list[str] = []

    # --- before ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Write the prompt and the start record."""
        session, store = self.session, self.task.store
        store.make_folder()
        make_folder(REAL, store.drive_folder)
        make_folder(REAL, store.drive_folder / self.drive_id)
        remove_file(store.answer_file)
        prepare_phase(session, self.task, self.phase)
        write_atomically(REAL, self._file("prompt.md"), self._prompt().encode(), durable=False)
        self._signal_before = waiting_signal(self.task)
        row = OpenIteration(
            number=self.number,
            phase=self.phase.name,
            at="",
            mark=self.mark,
            nonce=hashlib.sha256(self.nonce.encode()).hexdigest(),
        )
        with self.task.transaction() as change:
            change.record(Event(kind="iteration-started", data={"drive": self.drive_id, "iteration": to_json(row)}))
            self.at = change.at
        self.task = self.task.after(change)
        self._serial = change.opened.serial
        session.tell(
            "iteration-started",
            number=self.number,
            phase=self.phase.name,
            prompt=session.relative(self._file("prompt.md")),
        )

    def _file(self, name: str) -> Path:
        return self.session.file(self.drive_id, self.number, name)

    def _prompt(self) -> str:
        session, state = self.session, self.task.state
        log = session.file(self.drive_id, self.number - 1, "tests.log")
        is_here = state.phase == self.phase.name and state.iteration > 0
        evaluation = state.evaluation if is_here and state.evaluation is not None else None
        text = write_prompt(
            Situation(
                workflow=self.workflow,
                phase=self.phase,
                task=self.task.project.task,
                goal=session.goal,
                number=self.number,
                iterations=session.settings.budget.iterations,
                standing=self.task.standing() if is_here else None,
                evaluation=evaluation,
                output=_read_text(log) if is_here else "",
                output_file=session.relative(log),
                notes=session.notes,
                needs=tell_needs(self.task, self.phase),
                signal=session.settings.signal,
                answer_file=session.relative(self.task.store.answer_file),
                nonce=self.nonce,
            )
        )
        return blot(text, session.hidden)

    # --- the agent, then the tests -----------------------------------------------------------------------------------

    def run(self) -> Decision:
        session = self.session
        ran = Ran(agent=self._run_agent())
        try:
            ran = self._judge(ran)
        except BaseException as error:
            # The state can't be trusted or written, or a fault of ours: what can be recorded is.
            reason = error.problem if isinstance(error, PhaseGateError) else type(error).__name__
            self._end_in_doubt(ran, reason)
            raise
        decision = ran.decision
        assert decision is not None, "it was judged"
        if ran.waits and not decision.ends:
            waits = session.drive(session.task()).waits
            self._waited = wait_until_free(session, waits=waits, number=self.number, spent=self.spent)
            self.spent += self._waited
            decision = self._decide(ran)
        self._record_end(ran, decision)
        session.notes = tuple(self._notes)
        session.tell("iteration-ended", number=self.number, outcome=str(decision.outcome), reason=decision.reason)
        return decision

    def _run_agent(self) -> AgentEnded:
        session, settings = self.session, self.session.settings
        left = max(1.0, settings.budget.seconds - self.spent)
        timeout = min(settings.time_limit, left)
        session.tail.clear()
        agent = run_agent(
            session.client,
            self._file("prompt.md"),
            root=session.project.root,
            environment=self._agent_environment(),
            secrets=session.environment,
            timeout=timeout,
            log=self._file("agent.log"),
            mark=self.mark,
            interrupts=session.interrupts,
            tail=session.tail,
            tick=lambda seconds: self._show("agent", seconds, timeout),
        )
        self.spent += agent.seconds
        session.tell(
            "agent-ended",
            number=self.number,
            how=agent.how,
            code=agent.code,
            seconds=agent.seconds,
            text=f"{session.client.name} {agent.shown}",
            transcript=session.relative(agent.transcript),
        )
        if agent.how == "timed-out":
            self._notes.append(f"you were stopped after {show_duration(timeout)}: do less in one iteration")
        elif agent.code != 0:
            self._notes.append(f"you {agent.shown} last time")
        return agent

    def _agent_environment(self) -> dict[str, str]:
        project = self.session.project
        chosen = choose_environment(self.session.settings.env, self.session.environment)
        chosen |= {NONCE_VARIABLE: self.nonce, "PHASE_GATE_TASK": project.task}
        if "PHASE_GATE_DIR" in project.environment:
            chosen["PHASE_GATE_DIR"] = str(project.state_folder)
        return chosen

    def _judge(self, ran: Ran) -> Ran:
        session = self.session
        ending = ran.agent.ending
        if session.is_cut_off() or ran.agent.how == "interrupted":
            return replace(ran, decision=self._decide(ran))
        outside = find_outside(self.task, since=self._serial)
        self._record_agent(ran.agent)
        answer = self._take_answer()
        ran = replace(ran, outside=outside)
        if outside or ran.waits or ending.is_for_people or ran.agent.how == "not-started":
            return replace(ran, decision=self._decide(ran))
        self.task = session.task()
        answer, trouble = self._complete(answer)
        if trouble:
            return replace(ran, decision=Decision(outcome=Outcome.PERSON, reason=trouble))
        ran = self._run_tests(ran, answer)
        if session.is_cut_off():
            return replace(ran, decision=self._decide(ran))
        claim, notes = weigh_claim(session, self.number, ran.agent.said, self._file("agent.stdout.log"))
        self._notes += notes
        ran = replace(ran, claim=claim)
        if answer is not None:
            self._note(give_answer(session, answer))
        self._note(begin_recovery(session, session.task(), self.phase))
        return replace(ran, decision=self._decide(ran, asks=True))

    def _complete(self, answer: Signal | None) -> tuple[Signal | None, str]:
        """Add what a phase of a pipeline needs; return the signal if it is time for it, and why a person is needed."""
        done = complete_phase(self.session, self.task, self.phase, self.drive_id, self.number)
        self._notes += done.notes
        self.task = self.session.task()
        if answer is not None and answer.answer == "done" and not done.is_agreed:
            # A plan that is not agreed on is written anew: it is no gate that failed.
            self._note("your signal waits until the reviewers agree")
            answer = None
        return answer, done.trouble

    def _record_agent(self, agent: AgentEnded) -> None:
        """Record that the agent is at work no more: signals are taken again."""
        data = {"drive": self.drive_id, "number": self.number, "how": agent.how, "code": agent.code}
        with self.session.task().transaction() as change:
            change.record(Event(kind="agent-ended", data={**data, "seconds": agent.seconds}))

    def _take_answer(self) -> Signal | None:
        session = self.session
        taken = take_answer(session, self.task, self.nonce, waited=self._signal_before)
        self._note(f"your answer was refused: {taken.refused}" if taken.refused else "")
        if taken.signal is None:
            return None
        session.tell("answer", number=self.number, answer=taken.signal.answer, reason=taken.signal.reason)
        # Whatever name it gives: the record says that an agent did.
        return replace(taken.signal, by=session.client.name)

    def _note(self, text: str) -> None:
        """Keep something for the next prompt."""
        if text:
            self._notes.append(text)

    def _run_tests(self, ran: Ran, answer: Signal | None) -> Ran:
        session, task = self.session, self.task
        _, phase = phase_of_work(task)
        takes_tests = phase.tests != "none" or tests_of_recovery(task, phase)
        if not takes_tests:
            if answer is None:
                advance(task, template=False, show=session.note)
            return ran
        if self._is_tested(task):
            session.note("nothing has changed: the last run stands")
            return ran
        limit = session.settings.test_time_limit
        log = self._file("tests.log")
        session.tail.clear()
        suite = run_suite(
            session.project,
            phase,
            session.settings,
            log=log,
            interrupts=session.interrupts,
            tail=session.tail,
            tick=lambda seconds: self._show("tests", seconds, limit),
        )
        self._suite_seconds = round(suite.seconds, 3)
        self.spent += suite.seconds
        self.task = session.task()
        standing = self.task.standing()
        last = self.task.state.last_run
        session.last_run = None if last is None else last.id
        session.tell(
            "tests-ended",
            number=self.number,
            phase=phase.name,
            how=suite.how,
            code=suite.code,
            seconds=self._suite_seconds,
            status=standing.status,
            reason=standing.reason,
            log=session.relative(log),
        )
        if suite.code == NOT_TRUSTED:
            raise StorageError("the run could not be recorded", remedy=f"read {session.relative(log)}")
        if suite.how == "timed-out":
            self._notes.append(f"the tests did not end within {show_duration(limit)}")
        if phase.tests == "none" and answer is None:
            advance(session.task(), template=False, show=session.note)
        return replace(ran, suite=suite)

    def _is_tested(self, task: Task) -> bool:
        """Tell whether our own last run speaks of the files as they are."""
        last, settled = task.state.last_run, ("closed", "early", "waiting", "open")
        return (
            last is not None
            and last.id == self.session.last_run
            and progress_of(task) == self._before
            and task.standing().status in settled
        )

    def _show(self, doing: str, seconds: float, limit: float) -> None:
        session = self.session
        if session.interrupts.is_asked_to_end and not session.has_told_end:
            session.has_told_end = True
            session.note("ends after this iteration; Ctrl-C again ends it at once")
        session.watchers.progress(
            Progress(
                doing=doing,
                phase=self.phase.name,
                number=self.number,
                seconds=seconds,
                limit=limit,
                spent=self.spent + seconds,
                lines=tuple(session.tail.lines(_SHOWN)),
                is_ending=session.interrupts.is_asked_to_end,
            )
        )

    # --- the decision ------------------------------------------------------------------------------------------------

    def _decide(self, ran: Ran, *, asks: bool = False) -> Decision:
        session = self.session
        seen = self._see(ran)
        decision = decide(seen)
        signal = ask_person(session, seen, decision) if asks else None
        if signal is None:
            # The user may have interrupted the question.
            return decide(self._see(ran)) if asks else decision
        self._note(give_answer(session, signal))
        # The person has answered, so that is no reason to wait any more: what follows is said by the rest.
        return decide(replace(self._see(ran), signal="agent"))

    def _see(self, ran: Ran) -> Seen:
        session, settings = self.session, self.session.settings
        task = session.task()
        state, standing = task.state, task.standing()
        drive = session.drive(task)
        self.idle = 0 if progress_of(task) != self._before else drive.idle + 1
        is_reached = state.exited and standing.is_open and state.phase == settings.until
        return Seen(
            is_interrupted=session.interrupts.is_asked_to_end or ran.agent.how == "interrupted",
            status=standing.status,
            reason=standing.reason,
            phase=self.phase.name,
            has_exited=state.exited,
            is_done=is_reached or (state.is_done and standing.is_open and self._has_begun(state)),
            gate_1_open=standing.status == "waiting",
            claim=None if ran.claim is None else ran.claim.outcome,
            claim_reason="" if ran.claim is None else ran.claim.reason,
            outside=ran.outside or self._find_late_change(state, standing),
            trouble=_describe_trouble(ran.agent),
            signal=settings.signal,
            idle=0 if ran.waits else self.idle,
            idle_limit=settings.idle_limit,
            iterations=drive.counted - ran.waits,
            seconds=self.spent,
            budget=settings.budget,
        )

    def _has_begun(self, state: State) -> bool:
        """Tell whether the cycle that is done is the one of this drive, and not the one before it."""
        return self._before.phase != DONE or state.cycle != self._before.cycle

    def _find_late_change(self, state: State, standing: Standing) -> str:
        if state.is_done and not standing.is_open and self._has_begun(state):
            return f"the cycle is done, and {standing.reason}"
        return ""

    # --- after -------------------------------------------------------------------------------------------------------

    def _record_end(self, ran: Ran, decision: Decision) -> None:
        with self.session.task().transaction() as change:
            self.task.store.close_lost(change)
            change.record(self._end_event(ran, str(decision.outcome), decision.reason))

    def _end_in_doubt(self, ran: Ran, reason: str) -> None:
        try:
            with self.session.task().transaction() as change:
                change.record(self._end_event(ran, "error", reason))
        except (StateError, OSError):
            return  # the state can't be written: what is raised says so

    def _end_event(self, ran: Ran, outcome: str, reason: str) -> Event:
        row = Iteration(
            drive=self.drive_id,
            number=self.number,
            phase=self.phase.name,
            at=self.at,
            how="waits" if ran.waits else ran.agent.how,
            code=ran.agent.code,
            agent_seconds=ran.agent.seconds,
            suite_seconds=self._suite_seconds,
            waited_seconds=self._waited,
            outcome=outcome,
            reason=reason,
            counts=not ran.waits,
        )
        return Event(
            kind="iteration-ended",
            data={"drive": self.drive_id, "iteration": to_json(row), "idle": 0 if ran.waits else self.idle},
        )


def _describe_trouble(agent: AgentEnded) -> str:
    if agent.how == "not-started":
        return agent.problem or "it did not start"
    return agent.ending.said if agent.ending.is_for_people else ""


def _read_text(path: os.PathLike[str]) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
