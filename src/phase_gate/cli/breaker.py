"""`phase-gate breaker`: where the circuit breaker stands, and why; let it try again, or give the phase up."""

from __future__ import annotations

import argparse

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._override import answer_ended
from phase_gate.codec import spell_out
from phase_gate.decisions.circuit import reset_circuit, stuck_report
from phase_gate.decisions.forcing import skip_phase
from phase_gate.gate.breaker import Status
from phase_gate.gate.stuck import stuck_to_json
from phase_gate.report.stuck import render_stuck
from phase_gate.task import Task
from phase_gate.visible import show_line, show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("status", "reset", "skip"),
        help="look; with an open circuit, let it try once more, or give the phase up",
    )
    parser.add_argument("--markdown", action="store_true", help="print the report as Markdown")
    parser.add_argument("--reason", metavar="TEXT", help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who answers for it")


def run(call: Call) -> Answer:
    task = call.task()
    if call.arguments.action == "skip":
        return answer_ended(skip_phase(task, call.person()))
    return _reset(call, task) if call.arguments.action == "reset" else _status(call, task)


def _status(call: Call, task: Task) -> Answer:
    report = stuck_report(task)
    breaker, limits = report.breaker, report.breaker.limits
    document = {"breaker": spell_out(breaker), "stuck": stuck_to_json(report)}
    if breaker.status is Status.CLOSED:
        rows = [
            f"{task.state.phase}: the circuit is closed",
            f"  without progress     {breaker.no_progress} of {limits.no_progress or 'any number of'} runs",
            f"  the same error       {breaker.same_error} of {limits.same_error or 'any number of'} times",
            f"  blocked claims       {breaker.exit_blocked} of {limits.exit_blocked or 'any number of'}",
            f"  crashed or lost      {breaker.infrastructure} (they do not count)",
        ]
        return Answer(text=show_rows(rows), document=document)
    text = render_stuck(report, markdown=call.arguments.markdown)
    code = exit_codes.CIRCUIT_OPEN if breaker.is_open else exit_codes.OPEN
    return Answer(text=text, document=document, exit_code=code)


def _reset(call: Call, task: Task) -> Answer:
    done = reset_circuit(task, call.person())
    text = f"{done.phase}: the circuit is half-open: the next complete run on a new tree decides"
    return Answer(
        text=f"{show_line(text)}\n  next: {done.next_command}",
        document={"breaker": spell_out(done.breaker), "override": done.record},
    )
