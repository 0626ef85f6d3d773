"""One iteration as far as it is not judged: the prompt, the agent, and what is recorded of both."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from phase_gate.claims.decision import Decision as ClaimDecision
from phase_gate.codec import to_json
from phase_gate.drive.agent_process import AgentEnded, run_agent
from phase_gate.drive.answers import waiting_signal
from phase_gate.drive.chain import Decision
from phase_gate.drive.clients import choose_environment
from phase_gate.drive.happenings import Progress
from phase_gate.drive.model import Iteration, OpenIteration
from phase_gate.drive.phases import enter_phase, phase_of_work, progress_of
from phase_gate.drive.pipelines import prepare_phase, tell_needs
from phase_gate.drive.prompting import Situation, write_prompt
from phase_gate.drive.session import DriveSession
from phase_gate.errors import StateError
from phase_gate.evidence.process.output import blot
from phase_gate.evidence.process.run import Ended
from phase_gate.gate.state import Event
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.files import REAL, make_folder, remove_file, write_atomically
from phase_gate.values import Value
from phase_gate.workflow.names import NONCE_VARIABLE, show_duration

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


class Turn:
    """The agent's turn in a drive."""

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

    @again_if_moved
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
        # Not of every iteration: nothing may have changed, or the client was busy.
        log = max(self._file("").parent.glob("*.tests.log"), default=self._file("tests.log"))
        last = state.last_run
        is_here = state.phase == self.phase.name and (
            state.iteration > 0 or (last is not None and last.phase == state.phase)
        )
        evaluation = state.evaluation if is_here and state.iteration > 0 else None
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
        chosen = choose_environment(project, self.session.settings.env)
        chosen |= {NONCE_VARIABLE: self.nonce, "PHASE_GATE_TASK": project.task}
        if "PHASE_GATE_DIR" in project.environment:
            chosen["PHASE_GATE_DIR"] = str(project.state_folder)
        return chosen

    def _record_agent(self, agent: AgentEnded) -> None:
        """Record that the agent is at work no more: signals are taken again."""
        data = {"drive": self.drive_id, "number": self.number, "how": agent.how, "code": agent.code}
        self.session.task().record(Event(kind="agent-ended", data={**data, "seconds": agent.seconds}))

    def _note(self, text: str) -> None:
        """Keep something for the next prompt."""
        if text:
            self._notes.append(text)

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

    @again_if_moved
    def _record_end(self, ran: Ran, decision: Decision) -> None:
        with self.session.task().transaction() as change:
            self.task.store.close_lost(change)
            change.record(self._end_event(ran, str(decision.outcome), decision.reason))

    def _end_in_doubt(self, ran: Ran, reason: str) -> None:
        try:
            self.session.task().record(self._end_event(ran, "error", reason))
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


def _read_text(path: os.PathLike[str]) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
