"""`phase-gate signal`: the explicit answer of Gate 2, for the last complete run."""

from __future__ import annotations

import argparse
from pathlib import Path

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import say_aside, say_progress
from phase_gate.cli._verdict import answer_with
from phase_gate.decisions.signalling import give_signal, leave_answer, leave_signal
from phase_gate.gate.signals import Given, Signal
from phase_gate.storage.signal_file import check_signal
from phase_gate.workflow.names import ANSWER_VARIABLE, is_answer_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", default="", help="why it is done, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who says so; the user's name by default")
    parser.add_argument(
        "--remaining-work", metavar="TEXT", default="none", help='remaining work; must be "none" for a done signal'
    )
    parser.add_argument("--next", action="store_true", help="speak of the next evaluation instead of the last run")
    answers = parser.add_mutually_exclusive_group()
    answers.add_argument("--not-done", action="store_true", help="say that it is explicitly not done: a veto")
    answers.add_argument("--blocked", action="store_true", help="say that a person is needed")
    answers.add_argument("--test-wrong", action="store_true", help="say that a test is wrong")


def run(call: Call) -> Answer:
    project, signal = call.project(), _read(call)
    check_signal(signal, remaining_work=call.arguments.remaining_work)
    task = call.task(project)
    answer = Path(call.environment.get(ANSWER_VARIABLE, ""))
    if is_answer_name(answer.name) and answer.name.startswith("signal-") and task.store.is_driven():
        leave_answer(task, signal, answer)
        return Answer(
            text=f"{signal.answer} is left for phase-gate drive: it runs the tests when you stop, and then decides",
            document={"answer": signal.answer, "waits_for": "drive"},
        )
    if call.arguments.next:
        leave_signal(task, signal)
        return Answer(
            text=f"signal {signal.answer} waits for the next evaluation",
            document={"answer": signal.answer, "waits_for": "next"},
        )
    evaluation, after = give_signal(task, signal, show=say_aside, show_progress=say_progress)
    return answer_with(call, evaluation, is_stuck=after.state.is_stuck)


def _read(call: Call) -> Signal:
    given = call.arguments
    answer: Given = "done"
    if given.not_done:
        answer = "not-done"
    elif given.blocked:
        answer = "blocked"
    elif given.test_wrong:
        answer = "test-wrong"
    return Signal(answer=answer, reason=given.reason, by=call.by())
