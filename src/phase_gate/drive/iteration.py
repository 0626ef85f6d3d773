"""One iteration: prompt, agent, our own run of the tests, the claim, the signal, the decision."""

from __future__ import annotations

import time

from phase_gate.decisions.advancing import advance
from phase_gate.drive.agent_process import AgentEnded
from phase_gate.drive.answers import find_outside, give_answer, take_answer
from phase_gate.drive.chain import Decision, Outcome, Seen, decide
from phase_gate.drive.people import ask_person
from phase_gate.drive.phases import phase_of_work, progress_of
from phase_gate.drive.pipelines import begin_recovery, complete_phase, tests_of_recovery
from phase_gate.drive.session import DriveSession
from phase_gate.drive.suite import run_suite
from phase_gate.drive.turn import Ran, Turn
from phase_gate.drive.waiting import wait_until_free
from phase_gate.drive.weighing import weigh_claim
from phase_gate.errors import PhaseGateError, StorageError
from phase_gate.exit_codes import NOT_TRUSTED
from phase_gate.gate.signals import Signal
from phase_gate.gate.standing import Standing
from phase_gate.gate.state import State
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.workflow.names import DONE, show_duration


def run_iteration(session: DriveSession) -> Decision:
    """Let the agent work once, judge what it left, and record both."""
    iteration = _Iteration(session)
    iteration.begin()
    return iteration.run()


class _Iteration(Turn):
    """A turn, and what is made of it."""

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
        if not ran.waits:  # then its prompt was never read
            session.notes = tuple(self._notes)
        session.tell("iteration-ended", number=self.number, outcome=str(decision.outcome), reason=decision.reason)
        return decision

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
        began = time.monotonic()
        done = complete_phase(self.session, self.task, self.phase, self.drive_id, self.number)
        if done.has_asked:
            self._waited = round(time.monotonic() - began, 3)
            self.spent += self._waited
        self._notes += done.notes
        self.task = self.session.task()
        if answer is not None and answer.answer == "done" and not done.is_agreed:
            # A plan that is not agreed on is written anew: it is no gate that failed.
            self._note("your signal waits until the reviewers agree")
            answer = None
        return answer, done.trouble

    def _take_answer(self) -> Signal | None:
        session = self.session
        taken = take_answer(session, self.task, self.nonce, waited=self._signal_before)
        self._note(f"your answer was refused: {taken.refused}" if taken.refused else "")
        if taken.signal is None:
            return None
        session.tell("answer", number=self.number, answer=taken.signal.answer, reason=taken.signal.reason)
        # Whatever name it gives: the record says that an agent did.
        return replace(taken.signal, by=session.client.name)

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
            reason=standing.reason if phase.tests != "none" else f"pytest ended with {suite.code}",
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


def _describe_trouble(agent: AgentEnded) -> str:
    if agent.how == "not-started":
        return agent.problem or "it did not start"
    return agent.ending.said if agent.ending.is_for_people else ""
