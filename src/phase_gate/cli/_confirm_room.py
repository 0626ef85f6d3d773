"""Started by a run with `--phase-confirm-room`: make the next one in a room, show its verdict, end with its status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from phase_gate import exit_codes
from phase_gate.cli._streams import close_streams, open_streams, say, say_aside, say_orders, say_progress
from phase_gate.codec import from_json
from phase_gate.decisions.confirming import Confirmed, RoomlessError, confirm_in_room, may_run_outside
from phase_gate.errors import PhaseGateError, as_fault
from phase_gate.gate.standing import exit_status_for
from phase_gate.recording.announce import announce_to_ci
from phase_gate.recording.confirm import Confirmation, wait_for
from phase_gate.report.files import write_reports
from phase_gate.report.panel import Line, render_panel
from phase_gate.report.story.reading import read_story
from phase_gate.rooms.line import end_with
from phase_gate.storage.places import DEFAULT_TASK
from phase_gate.workflow.names import run_command

#: pytest's status for a run that the user stopped.
_INTERRUPTED = 2
#: Codes of the terminal's.
_COLOURS = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}


def main() -> int:
    end_with(os.getppid())
    asked = from_json(Confirmation, json.loads(sys.argv[1]))
    open_streams()
    try:
        try:
            return close_streams(_show(asked, confirm_in_room(asked, show=say_progress)))
        except RoomlessError as reason:
            if not may_run_outside(asked):
                return _refuse(asked, str(reason))
            close_streams(0)
            return wait_for(subprocess.Popen(asked.ordinary(why_no_room=str(reason))))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:
        known = error if isinstance(error, PhaseGateError) else as_fault(error, remedy="please report this line")
        say_aside(f"phase-gate: {known}")
        return close_streams(known.exit_code)


def _refuse(asked: Confirmation, why: str) -> int:
    """Say that nothing was confirmed: the streak stays short, and the gate closed."""
    way = run_command(asked.phase.lower(), asked.task or DEFAULT_TASK)
    said = f"not confirmed: a proof is required, and no room could be made: {why}"
    say_aside(f"phase-gate: {said}\n  try: {way}  # outside of a room; before the phase exits, the proof decides")
    return close_streams(exit_codes.OPEN if asked.exit_meaning == "tests" else exit_codes.GATE_CLOSED)


def _show(asked: Confirmation, made: Confirmed) -> int:
    """Show the verdict as the plugin does, and return what the process ends with."""
    evaluation, project = made.finished.evaluation, made.project
    assert evaluation is not None, "neither void nor inside another run"
    reports = tuple(map(Path, asked.reports))
    complaints: list[str] = []
    orders: tuple[str, ...] = ()
    is_stored = True
    try:
        write_reports(reports, evaluation, lambda: read_story(project, project.store("")))
    except PhaseGateError as error:
        is_stored = False
        complaints.append(f"{error.problem} [{error.slug}]: {error.remedy}")
    is_last = not made.finished.is_green or asked.index == asked.total
    told = announce_to_ci(project, evaluation, meaning=asked.exit_meaning, reports=reports) if is_last else None
    if told is not None:
        complaints += told.complaints
        orders = told.lines
    lines = render_panel(evaluation, is_quiet=asked.is_quiet, complaints=complaints, width=asked.width)
    for line in lines:
        text = f" {line.text} ".center(asked.width, "=") if line.is_title else line.text
        say(text, colour=_colour(line) if asked.has_colour else "")
    say_orders(orders)
    is_dual = asked.exit_meaning == "dual"
    return exit_status_for(
        made.exit_status,
        meaning=asked.exit_meaning,
        tests=made.tests,
        is_open=evaluation.can_exit if is_dual else evaluation.gate_1.is_open,
        is_trusted=is_stored,
        is_halted=evaluation.breaker.is_open,
        has_collection_errors=made.has_collection_errors,
    )


def _colour(line: Line) -> str:
    return ";".join(code for name, code in _COLOURS.items() if line.markup.get(name))


if __name__ == "__main__":
    sys.exit(main())
