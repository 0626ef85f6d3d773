"""Gate 2 at the end of a run: what the option and the signal file say, and what becomes of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phase_gate.gate.run_end import Counted, Finished
from phase_gate.gate.runs import Kind
from phase_gate.gate.signals import ABSENT, Reading, read_signal, strictest
from phase_gate.gate.state import Event, State
from phase_gate.project import who_am_i
from phase_gate.storage.signal_file import SignalFile, read_signal_file, remove_signal_file
from phase_gate.values import replace

if TYPE_CHECKING:
    from phase_gate.recording.run import RecordedRun


class SignalDesk:
    """Gate 2 at the end of a run: the option and the file, read once, and what becomes of the file."""

    def __init__(self, run: RecordedRun, state: State) -> None:
        self._run = run
        self._is_held = False
        self._file: SignalFile | None = read_signal_file(run.store.signal_file, spent=state.spent)
        early = run.request.signal
        if self._file is not None and early is not None and early.is_unreadable:
            self._file = early  # nobody can tell whether it is the same one: it waits for the next run
        # Nobody but the suite, or somebody who did not wait, writes a signal while the run is open.
        self._is_made_meanwhile = (
            self._file is not None
            and not self._file.is_unreadable
            and (early is None or self._file.identity != early.identity)
        )

    def read(self, counted: Counted) -> Reading:
        run = self._run
        given = run.request.exit_signal
        # Green, and more runs will come: the signal speaks of the last one.
        self._is_held = counted.is_green and run.further_runs(counted.streak) > 0
        if self._is_held:
            return Reading(answer="held") if given is not None or self._file is not None else ABSENT
        by_option = ABSENT
        if given is not None:
            by_option = Reading(answer="done", reason=given, by=who_am_i(run.project.environment))
        file = "" if self._file is None else self._file.identity
        return replace(strictest(by_option, self._read_file(counted.iteration)), file=file)

    def _read_file(self, iteration: int) -> Reading:
        run, file = self._run, self._file
        if file is None:
            return ABSENT
        if self._is_made_meanwhile:
            return Reading(answer="refused", problem="it was made while the run was open")
        if file.signal is None:
            return Reading(answer="refused" if file.contradicts else "malformed", problem=file.problem)
        assert run.phase is not None
        return read_signal(file.signal, phase=run.phase.name, task=run.project.task, iteration=iteration)

    def events(self) -> list[Event]:
        if not self._is_made_meanwhile or self._file is None:
            return []
        said = self._file.signal.answer if self._file.signal is not None else "malformed"
        data = {
            "run": self._run.id,
            "answer": said,
            "problem": "it was made while the run was open",
            "file": self._file.identity,
        }
        return [Event(kind="signal-refused", data=data)]

    def clear(self, finished: Finished) -> None:
        """Take the file away once it is in the ledger. A malformed one waits for its author."""
        if self._file is None:
            return
        is_read = finished.kind is Kind.COMPLETE and not self._is_held
        is_answer = self._file.signal is not None or self._file.contradicts
        if self._is_made_meanwhile or (is_read and is_answer):
            remove_signal_file(self._run.store.signal_file)
