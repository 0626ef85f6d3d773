"""One iteration: the agent's turn in a phase, and its results: its answer, votes, our own test run, its claim.

The only decision made here is whether an answer may count.
"""

from __future__ import annotations

from pathlib import Path

from phase_gate.claims.agent_output import read_messages
from phase_gate.claims.decision import Decision as ClaimDecision
from phase_gate.decisions.advancing import advance
from phase_gate.decisions.claiming import decide_claim, read_claim
from phase_gate.decisions.signalling import give_signal
from phase_gate.drive.agent_prompts import write_ballot, write_prompt
from phase_gate.drive.clients import Client, Roles
from phase_gate.drive.drive_state import require_drive
from phase_gate.drive.loop import Played, Session, Step, Working, make_answer, run_suite
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError, StorageError
from phase_gate.exit_codes import NOT_TRUSTED
from phase_gate.gate.state import Event
from phase_gate.gate.verdict import Signal
from phase_gate.storage.files import REAL, make_folder
from phase_gate.storage.signal_file import parse_signal, read_signal_file, remove_signal_file
from phase_gate.storage.store import DRIVER
from phase_gate.task import Task
from phase_gate.tasks.artifacts import read_artifact, write_snapshot
from phase_gate.tasks.handins import parse_vote
from phase_gate.tasks.pipeline_show import Votes
from phase_gate.tasks.pipeline_steps import cast_votes, show_votes, start_recovery
from phase_gate.tasks.routing import rules_of
from phase_gate.tasks.work import find_pipeline
from phase_gate.values import replace
from phase_gate.workflow.model import Phase, requires_of
from phase_gate.workflow.names import of_task, show_duration

#: Events that only a person causes, or only the drive while its agent works.
_OUTSIDE = frozenset(
    {"phase-exited", "overridden", "waived", "breaker-reset", "rollback-accepted", "repaired"}
    | {"reviewed", "request-decided"}
)


class Turn:
    """An iteration: about to begin until an agent has played, then ended."""

    def __init__(self, session: Session, task: Task, roles: Roles) -> None:
        self.session, self.roles = session, roles
        #: The task after the last step of the turn, and its state and the drive's at the beginning.
        self.task, self.began, self.drive = task, task.state, require_drive(task.state)
        # The rules and the phase that the agent works in: the present one, or the first of a new cycle.
        present = task.rules.phase(task.state.phase or "")
        self.workflow = task.rules if present is not None else task.project.workflow()
        self.phase = present or self.workflow.first
        self.client = roles.choose(self.phase.name)
        self.number = self.drive.number + 1
        self.folder = task.store.drive_folder / self.drive.id
        #: The seconds of the drive.
        self.spent = self.drive.seconds
        #: For the next prompt.
        self.notes: list[str] = []
        self.played: Played | None = None
        self.claim: ClaimDecision | None = None
        #: Why a person is needed: something was recorded outside the drive, or a voter can't work.
        self.outside = ""
        #: Votes: whether the phase asks for them, those so far, and who is still asked.
        self._asks_votes = requires_of(self.phase).consensus is not None and not task.state.exited
        self._votes: Votes | None = None
        self._voters: list[Client] = []
        self._answer: Signal | None = None
        self._progress = progress_of(task)
        waiting = read_signal_file(task.store.signal_file, spent=task.state.spent_signal)
        #: The waiting signal in the task's folder; empty if there is none.
        self._signal_before = "" if waiting is None else waiting.file

    @property
    def result(self) -> Played:
        assert self.played is not None, "the agent has ended"
        return self.played

    @property
    def idle(self) -> int:
        """The number of iterations in a row without a change, up to this one."""
        if self.played is None or progress_of(self.task) != self._progress:
            return 0
        return self.drive.idle + 1

    def note(self, text: str) -> None:
        """Keep a note for the next prompt."""
        self.notes += [text] if text else []

    def start(self, notes: list[str]) -> Step:
        """Write the prompt and record the start.

        :param notes: about the agent's last turn.
        """
        session, task = self.session, self.task
        task.store.make_folder()
        make_folder(REAL, task.store.drive_folder)
        answer, prompt = make_answer(session, self.folder, "signal"), self._file("agent.md")
        # Not every iteration has a log: nothing may have changed.
        log = max(self.folder.glob("*.tests.log"), default=None)
        text = write_prompt(
            session, task, self.workflow, self.phase, number=self.number, notes=notes, log=log, answer=answer
        )
        begun = {"number": self.number, "phase": self.phase.name}
        self.task = task.record(Event(kind="iteration-started", data={"drive": self.drive.id, **begun}))
        session.tell("iteration-started", f"iteration {self.number}: {self.phase.name}", **begun)
        return self._step(self.client, "agent", text, prompt, answer)

    def _step(self, client: Client, role: str, text: str, prompt: Path, answer: Path) -> Step:
        settings = self.session.settings
        left = max(1.0, settings.budget.seconds - self.spent)
        working = self._working(role, min(settings.time_limit, left))
        return Step(client=client, store=self.task.store, text=text, prompt=prompt, answer=answer, working=working)

    def take(self, played: Played) -> None:
        """Take the agent's answer, and find out who has to vote on its work."""
        session = self.session
        self.played = played
        self.spent += played.seconds
        if played.how == "timed-out":
            self.note(f"you were stopped after {show_duration(played.seconds)}: do less in one iteration")
        elif played.code != 0:
            self.note(f"you {played.shown} last time")
        self.task = session.task()
        if self._is_over:
            return
        self._answer = self._take_answer(played)
        if outside := next((kind for kind in played.recorded if kind in _OUTSIDE), ""):
            look = of_task("phase-gate history --events", session.project.task)
            self.outside = (
                f"{outside} was recorded while the agent worked, and not by the drive: read {look}, then resume"
            )
        if not self._is_over and find_pipeline(self.task.state) is not None:
            self._complete_phase()

    def finish(self) -> None:
        """Run the tests, weigh the agent's claim, and give its signal."""
        if self._is_over:
            return
        answer = self._answer
        if answer is not None and answer.answer == "done" and not self._is_agreed:
            # The plan is revised until the reviewers agree. That is not a failed gate.
            self.note("your signal waits until the reviewers agree")
            answer = None
        self._run_tests(has_answer=answer is not None)
        if self.session.is_cut_off:
            return
        self._weigh_claim()
        if answer is not None:
            self.give(answer)
        self._begin_recovery()

    @property
    def _is_over(self) -> bool:
        """Whether the work is not judged: the turn was cut short, or a person is needed."""
        is_cut_off = self.session.is_cut_off or self.result.how == "interrupted"
        return is_cut_off or bool(self.outside) or bool(self.result.trouble)

    def give(self, signal: Signal) -> None:
        """Give a signal about the last run."""
        session = self.session
        try:
            evaluation, self.task = give_signal(self.task, signal, show=session.note, show_progress=session.note)
        except NotAllowedError as error:
            session.note(f"the signal is refused: {error.problem}")
            self.note(f"the signal was refused: {error.problem}")
            self.task = session.task()
            return
        if signal.answer == "not-done":
            self.note(f"{signal.by} signaled that it is not done: {signal.reason}")
        elif signal.answer == "done" and not evaluation.can_exit:
            self.note(f"the signal came too early: {evaluation.reason}")

    def record_end(self, **decided: str) -> None:
        ended = {
            "drive": self.drive.id,
            "number": self.number,
            "phase": self.phase.name,
            "how": self.result.how,
            "code": self.result.code,
            "seconds": round(self.spent - self.drive.seconds, 3),
            "idle": self.idle,
            **decided,
        }
        self.task = self.task.record(Event(kind="iteration-ended", data=ended))

    def _file(self, name: str) -> Path:
        return self.folder / f"{self.number:04}.{name}"

    def _working(self, role: str, limit: float) -> Working:
        return Working(role=role, where=self.phase.name, number=self.number, limit=limit)

    # --- the agent's answer to Gate 2 --------------------------------------------------------------------------------

    def _take_answer(self, played: Played) -> Signal | None:
        """Return the agent's signal if it is allowed. A signal in another place is removed."""
        signal: Signal | None = None
        if played.data is not None:
            try:
                signal = parse_signal(played.data, name="the answer")
            except PhaseGateError as error:
                self._refuse_answer("malformed", error.problem)
        if signal is not None and signal.answer == "done" and self.session.settings.signal == "ask":
            self._refuse_answer("done", "a person gives the signal in this drive")
            signal = None
        file = self.task.store.signal_file
        beside = read_signal_file(file, spent=self.task.state.spent_signal)
        is_new = beside is not None and beside.file != self._signal_before
        if beside is not None and is_new and beside.answer == "done":
            self._refuse_answer("done", "exit-signal.yaml was made while the agent worked", file=beside.file)
            remove_signal_file(file, beside)
        if signal is None:
            return None
        line = f"  signal   {signal.answer}: {signal.reason}"
        self.session.tell("answer", line, answer=signal.answer, reason=signal.reason)
        # Regardless of the name in the signal: the record shows that an agent gave it.
        return replace(signal, by=self.client.name)

    def _refuse_answer(self, answer: str, problem: str, **more: str) -> None:
        self.task = self.task.record(Event(kind="signal-refused", data={"answer": answer, "problem": problem, **more}))
        self.session.note(f"the agent's answer is refused: {problem}")
        self.note(f"your answer was refused: {problem}")

    # --- the other parts of a pipeline: a snapshot, votes, a recovery ------------------------------------------------

    def _complete_phase(self) -> None:
        """Make the snapshot that the phase requires, and find out who has to vote on it."""
        try:
            if path := write_snapshot(self.task):
                self.session.note(f"snapshot: {path}")
            self._votes = show_votes(self.task) if self._asks_votes else None
        except NotAllowedError as error:
            self.note(error.problem)
            return
        self.task = self.session.task()
        if self._votes is not None and not self._is_agreed:
            voted = {vote.by for vote in self._votes.counted}
            self._voters = [client for client in self.roles.reviewers if client.name not in voted]

    @property
    def _is_agreed(self) -> bool:
        """Whether the reviewers agree, or are not needed."""
        return not self._asks_votes or (self._votes is not None and self._votes.is_reached)

    def ask_voter(self) -> Step | None:
        """Return the turn of the next voter on this version; None if none is asked any more."""
        session = self.session
        is_spent = self.spent >= session.settings.budget.seconds
        if not self._voters or self._votes is None or self.outside or session.is_asked_to_end or is_spent:
            return None
        client = self._voters[0]
        answer = make_answer(session, self.folder, "vote")
        text = write_ballot(session, self.task, self._votes, client.name, answer)
        place = self.roles.reviewers.index(client) + 1
        return self._step(client, client.name, text, self._file(f"voter{place}.md"), answer)

    def take_vote(self, played: Played) -> None:
        """Take a voter's ballot."""
        self.spent += played.seconds
        client = self._voters.pop(0)
        if played.recorded:
            self.outside = f"{played.recorded[0]} was recorded while the voters were asked"
        elif played.trouble:
            self.outside = f"{client.name} can't work: {played.trouble}"
        else:
            self._record_vote(client.name, played.data)
        self.task = self.session.task()

    def _record_vote(self, name: str, data: bytes | None) -> None:
        """Record a vote, and pass it on to the author."""
        if data is None or self._votes is None:
            self.session.note(f"{name} did not vote")
            return
        try:
            ballot = parse_vote(data, "the vote")
            # The voter is known by the file it was given, and the version by what it was shown.
            self._votes = cast_votes(self.task, replace(ballot, by=name, version=self._votes.version))
        except StateError:
            raise
        except PhaseGateError as error:
            self.session.note(f"the vote of {name} does not count: {error.problem}")
            return
        message = f"{name} votes {ballot.vote}" + (f": {ballot.reason}" if ballot.reason else "")
        self.session.note(message)
        self.note("" if ballot.vote == "approve" else message)

    def _begin_recovery(self) -> None:
        """Enter the recovery if the tests of a phase fail."""
        phase, state = self.phase, self.task.state
        if find_pipeline(state) is None or phase.tests == "none" or phase.recovers or not phase.on_failure:
            return
        standing = self.task.current_status()
        if state.phase != phase.name or state.exited or standing.status not in ("closed", "early"):
            return
        try:
            entered = start_recovery(self.task, reason=standing.reason, by=DRIVER)
        except NotAllowedError as error:
            self.session.note(error.problem)
            return
        self.session.note(f"the gate of {phase.name} failed: {entered.phase} begins")
        self.note(f"the gate of {phase.name} failed: {standing.reason}")
        self.task = self.session.task()

    # --- our own test run --------------------------------------------------------------------------------------------

    def _run_tests(self, *, has_answer: bool) -> None:
        """Run the tests if the phase has any, else evaluate it."""
        task, session = self.task, self.session
        phase = task.rules.phase(task.state.phase or "") or self.phase
        if phase.tests != "none" or _tests_recovery(task, phase):
            stands = not self.result.recorded and progress_of(task) == self._progress
            if stands and task.current_status().status in ("closed", "early", "waiting", "open"):
                session.note("nothing has changed: the last run is valid")
            else:
                self._run_suite(phase)
        if phase.tests == "none" and not has_answer and not session.is_cut_off:
            advance(self.task, show=session.note)
            self.task = session.task()

    def _run_suite(self, phase: Phase) -> None:
        session, limit, log = self.session, self.session.settings.test_time_limit, self._file("tests.log")
        suite = run_suite(session, phase, log, replace(self._working("tests", limit), where=phase.name))
        self.spent += suite.seconds
        self.task = session.task()
        standing = self.task.current_status()
        took, reason = show_duration(round(suite.seconds, 3)), f"pytest ended with {suite.code}"
        if suite.how != "ended":
            line = f"{suite.how} after {took} ({session.relative(log)})"
        else:
            reason = standing.reason if phase.tests != "none" else reason
            line = f"{reason} ({took})"
        session.tell(
            "tests-ended",
            f"  tests    {line}",
            phase=phase.name,
            how=suite.how,
            code=suite.code,
            status=standing.status,
            reason=reason,
        )
        if suite.code == NOT_TRUSTED:
            raise StorageError("the run could not be recorded", remedy=f"read {session.relative(log)}")
        if suite.how == "timed-out":
            self.note(f"the tests did not end within {show_duration(limit)}")

    # --- the claim ---------------------------------------------------------------------------------------------------

    def _weigh_claim(self) -> None:
        """Record the agent's claim and the decision about it, if there is output and something to claim."""
        session, state, texts = self.session, self.task.state, read_messages(self.result.stdout)
        if not any(text.strip() for text in texts) or state.phase is None or state.exited or state.is_done:
            return
        # The output is never searched for a signal, even if the project allows that elsewhere.
        claim = read_claim(texts, by=self.client.name)
        try:
            done = decide_claim(self.task, claim, show=session.note)
        except NotAllowedError as error:
            session.note(f"the claim was not weighed: {error.problem}")
            return
        self.task, self.claim = done.task, done.decision
        self.notes += [f"your claim differs from the measurements: {each}" for each in self.claim.contradictions]
        if self.claim.is_claim:
            outcome, reason = str(self.claim.decision), self.claim.reason
            session.tell("claim-weighed", f"  claim    {outcome}: {reason}", outcome=outcome, reason=reason)
            self.note("" if self.claim.passed else f"you claimed that it is done: {reason}")


def progress_of(task: Task) -> tuple[object, ...]:
    """Return the progress of the work. If it is the same after a turn, the agent did nothing."""
    state = task.state
    documents = () if find_pipeline(state) is None else rules_of(task.rules).artifacts.values()
    written = tuple(read_artifact(task.project.root, each).digest for each in documents)
    return (task.tree.digest, state.phase, state.exited, state.cycle, state.facts, written)


def _tests_recovery(task: Task, phase: Phase) -> bool:
    """Return whether a recovery must show that the tests of the failed phase pass."""
    pipeline = find_pipeline(task.state)
    failed = None if pipeline is None or not phase.recovers else task.rules.phase(pipeline.failed_phase)
    return failed is not None and failed.tests != "none"
