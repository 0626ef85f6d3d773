"""What `status --all` and `report --all` share: which tasks are meant."""

from __future__ import annotations

from phase_gate import exit_codes
from phase_gate.cli._answer import Call
from phase_gate.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from phase_gate.report.all_tasks import TaskList


def add_all_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="every task of the project: who has it, what it waits for")
    parser.add_argument("--state", metavar="STATE", help="with --all: only tasks in this state, like pending")
    parser.add_argument("--wave", metavar="NAME", help="with --all: only tasks of this wave")
    parser.add_argument("--by", metavar="NAME", help="with --all: only tasks that this worker has")


def wants_all(call: Call) -> bool:
    """Tell whether every task is asked for. Raises UsageError for a filter without it."""
    given = call.arguments
    filters = [f"--{name}" for name in ("state", "wave", "by") if getattr(given, name) is not None]
    if filters and not given.all:
        raise UsageError(f"{filters[0]} chooses among all tasks", remedy=f"add --all: phase-gate {given.command} --all")
    return bool(given.all)


def find_all(call: Call) -> TaskList:
    from phase_gate.report.all_tasks import Wanted
    from phase_gate.verification.all_tasks import list_tasks

    given = call.arguments
    wanted = Wanted(state=given.state or "", wave=given.wave or "", by=given.by or "")
    return list_tasks(call.project(), f"phase-gate {given.command}", wanted)


def exit_code_of(tasks: TaskList) -> int:
    if tasks.untrusted:
        return exit_codes.NOT_TRUSTED
    return exit_codes.OPEN if tasks.finished == len(tasks.lines) and tasks.lines else exit_codes.GATE_CLOSED
