"""`phase-gate verify`: tasks that pass executor, verify command and reviewer. Only the called action is imported."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable

from phase_gate.cli._answer import Answer, Call
from phase_gate.gate.overrides import WORD

#: Actions in the order of the steps: where each is, and its one line.
ACTIONS: dict[str, tuple[str, str]] = {
    "start": (
        "_verify_steps.start",
        "Take tasks from a file, or begin an attempt of one; by itself, of the next",
    ),
    "next": (
        "_verify_steps.next_task",
        "Take the next task of the list for one worker of many, and begin an attempt of it",
    ),
    "executor": ("_verify_steps.executor", "Step 1: hand in the executor's report"),
    "run": ("_verify_steps.run", "Step 2: run the task's verify command"),
    "review": ("_verify_steps.review", "Step 3: give the reviewer's verdict"),
    "commit": ("_verify_steps.commit", "Commit the files of an approved task, and nothing else"),
    "abandon": ("_verify_steps.abandon", "End an attempt on purpose, with a reason"),
    "show": ("_verify_show.show", "Print what the executor is told, or what the reviewer looks at"),
    "status": ("_verify_show.status", "Say where a task stands; or all of them, with numbers and failures"),
    "resume": (
        "_verify_overrides.resume",
        "Go on after a halt, or on the same files: a person, with a reason",
    ),
    "skip": ("_verify_overrides.skip", "Complete a task unverified: a person, with a kind and a reason"),
    "force": ("_verify_overrides.force", "Complete a task against everything: a person, with a word"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", dest="action", metavar="ACTION", required=True)
    for name, (_, summary) in ACTIONS.items():
        action = actions.add_parser(
            name,
            help=summary,
            description=f"{summary}.",
            allow_abbrev=False,
            formatter_class=parser.formatter_class,
        )
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer as JSON")
        action.add_argument("--task", metavar="NAME", default=argparse.SUPPRESS, help="which task, by name or folder")
        action.add_argument("--dir", metavar="DIR", default=argparse.SUPPRESS, help="other state folder")
        _OWN.get(name, _none)(action)


def run(call: Call) -> Answer:
    module, _, function = ACTIONS[call.arguments.action][0].rpartition(".")
    act: Callable[[Call], Answer] = getattr(importlib.import_module(f"phase_gate.cli.{module}"), function)
    return act(call)


def _none(parser: argparse.ArgumentParser) -> None:
    """It has none of its own."""


def _start(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--task-file",
        metavar="FILE",
        help="tasks as XML or YAML (phase-gate workflow schema task), or a PLAN.md with them",
    )
    parser.add_argument("--wave", metavar="NAME", help="the group that the tasks run with; three that fail halt it")
    for step, words in (("executor", "the executor"), ("verify", "the verify command"), ("review", "the reviewer")):
        parser.add_argument(f"--timeout-{step}", metavar="S", type=float, help=f"seconds for {words}")
    parser.add_argument("--untimed", action="store_true", help="no time limit for executor and reviewer")
    _person(parser)


def _next(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--by", metavar="NAME", help="the worker that takes it; the user's name by default")
    parser.add_argument("--wave", metavar="NAME", help="only the tasks of this wave, whatever the others are")
    parser.add_argument("--wait", metavar="SPAN", help="wait so long for a task to be free, as in 10m")


def _executor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="the report as YAML (phase-gate workflow schema executor-result); - for input"
    )
    parser.add_argument("--by", metavar="NAME", help="who executed it; the user's name by default")


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout", metavar="S", type=float, help="seconds for this run, up to the maximum")


def _review(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="the verdict as YAML (phase-gate workflow schema verdict); - for stdin"
    )
    parser.add_argument("--by", metavar="NAME", help="who gives the verdict; must not be who executed the task")


def _commit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--message", "-m", metavar="TEXT", help="the first line of the message; the task's name by default"
    )


def _abandon(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who ends it; the user's name by default")


def _person(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who answers for it")


def _resume(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wave", metavar="NAME", help="the halted wave; without it and --task, the tasks that have no wave"
    )
    _person(parser)


def _skip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kind", metavar="KIND", help="unavailable, false-negative or time-pressure (user risk)")
    _person(parser)


def _force(parser: argparse.ArgumentParser) -> None:
    _person(parser)
    parser.add_argument("--word", metavar=WORD, help="the word itself, where there is no terminal to ask for it")


_OWN: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "start": _start,
    "next": _next,
    "executor": _executor,
    "run": _run,
    "review": _review,
    "commit": _commit,
    "abandon": _abandon,
    "resume": _resume,
    "skip": _skip,
    "force": _force,
}
