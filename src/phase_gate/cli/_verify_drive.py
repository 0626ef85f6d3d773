"""`phase-gate verify drive`: agents execute and review a whole list."""

from __future__ import annotations

import sys

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._verify_steps import open_board
from phase_gate.drive.clients import Client, find_client
from phase_gate.drive.list_session import ListSession, ListWatchers, make_team
from phase_gate.drive.task_list import ListEnded, drive_list
from phase_gate.errors import UsageError
from phase_gate.values import replace
from phase_gate.workflow.names import SPAN_FORM, parse_duration
from phase_gate.workflow.settings import DriveSettings


def drive(call: Call) -> Answer:
    from phase_gate.cli._drive_screen import with_error_lines

    return with_error_lines(call, _drive)


def _drive(call: Call) -> Answer:
    project = open_board(call).project
    settings = _with_options(call, project.configuration.drive)
    team = make_team(
        _find(call, settings.executor, "executor"),
        _find(call, settings.reviewer, "reviewer"),
    )
    session = ListSession(project, team, settings, _choose_watchers(call))
    return _answer(drive_list(session, call.arguments.task))


def _with_options(call: Call, settings: DriveSettings) -> DriveSettings:
    given, budget = call.arguments, settings.budget
    if given.time is not None:
        seconds = parse_duration(given.time)
        if not seconds:
            raise UsageError(f"--time can't be {given.time[:40]!r}", remedy=SPAN_FORM)
        budget = replace(budget, seconds=seconds)
    return replace(
        settings,
        executor=settings.executor if given.executor is None else (given.executor,),
        reviewer=settings.reviewer if given.reviewer is None else (given.reviewer,),
        commit=settings.commit or given.commit,
        budget=budget,
    )


def _find(call: Call, words: tuple[str, ...], role: str) -> Client:
    if not words:
        raise UsageError(
            f"no {role} is named",
            remedy=f'phase-gate verify drive --{role} "...", or write drive: {{{role}: ...}} in phase-gate.yaml',
        )
    return find_client(words, call.environment)


def _choose_watchers(call: Call) -> ListWatchers:
    from phase_gate.cli._list_screen import LiveList, tell, tell_json

    if call.arguments.json:
        return ListWatchers(tell=tell_json)
    if sys.stdout is None or not sys.stdout.isatty():
        return ListWatchers(tell=tell)
    view = LiveList()
    return ListWatchers(tell=view.tell, progress=view.progress, ask=view.ask if call.interactive else None)


def _answer(ended: ListEnded) -> Answer:
    text = f"  next: {ended.next_command}" if ended.next_command else ""
    return Answer(text=text, exit_code=ended.decision.exit_code, is_printed=True)
