"""`phase-gate force`: a person ends a phase against everything that was measured, on the record."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import say
from phase_gate.errors import NotAllowedError
from phase_gate.gate.evaluation import evaluation_to_json
from phase_gate.gate.overrides import WORD, Kind, forced_events, override_record, refuse_excuse
from phase_gate.gate.state import State
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who answers for it")
    parser.add_argument("--word", metavar=WORD, help="the word itself, where nobody can be asked for it")


def run(call: Call) -> Answer:
    return end_phase(call, "force", what="a forced exit", check=_check)


def _check(call: Call, state: State, at: str) -> None:
    ask_for_word(call, f"This ends {state.phase} whatever the gates say, and every later report of the cycle shows it.")


def ask_for_word(call: Call, warning: str, what: str = "a forced exit") -> None:
    """Refuse what overrides everything, unless the word is given. Raises NotAllowedError."""
    word = call.arguments.word
    if word is None and call.interactive:
        say(warning, flush=True)
        try:
            word = input(f"Type {WORD} to go on: ")
        except (EOFError, OSError, RuntimeError, ValueError):  # somebody closed what we ask on
            word = ""
    if word != WORD:
        raise NotAllowedError(
            f"{what} needs the word {WORD}, and nothing was changed",
            remedy=f"type it when asked, or give --word={WORD}",
        )


# --- end a phase by a person's word: what `breaker skip` and `force` share


def end_phase(call: Call, kind: Kind, *, what: str, check: Callable[[Call, State, str], None]) -> Answer:
    """Record the override and the exit. Whatever is refused changes nothing, so it may be tried again."""
    task = call.task()
    project, store = task.project, task.store
    task.require_begun()
    with task.transaction() as change:
        state = change.state
        store.refuse_while_running(change.opened.state)
        workflow = task.after(change).rules
        phase = workflow.phase(state.phase or "")
        if phase is None:
            raise NotAllowedError("the cycle is done: there is no phase to end", remedy=project.begin_command)
        if state.exited:
            raise NotAllowedError(f"{phase.name} has exited already", remedy="phase-gate status")
        call.require_person(project, change.opened, what)
        refuse_excuse(call.arguments.reason)
        check(call, state, change.at)
        record = override_record(kind, state, reason=call.arguments.reason, by=call.arguments.by, at=change.at)
        evaluation, events = forced_events(state, workflow, phase, record, root=str(project.root))
        change.record(*events)
    return Answer(
        text=show_rows((evaluation.verdict, f"  next: {evaluation.next_step}")),
        document={"override": record, "evaluation": evaluation_to_json(evaluation)},
    )
