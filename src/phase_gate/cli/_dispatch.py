"""Call one command and print its result.

Keep the imports here few: agents run `check`, `status` and `hook` at every step, and wait for them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from phase_gate import exit_codes
from phase_gate._version import __version__
from phase_gate.cli._answer import Call, Done
from phase_gate.cli._parser import find_topic, load_command, parse, refuse_placeholders, with_command
from phase_gate.cli._streams import close_streams, open_streams, print_plain, print_rows, render_json, screen_width
from phase_gate.errors import PhaseGateError, as_fault, require_cpython
from phase_gate.visible import show_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def dispatch(given: list[str]) -> int:
    """Run a command line, print the result and return its exit code."""
    open_streams()
    # Arguments after `--` are for pytest.
    ours = given[: given.index("--")] if "--" in given else given
    answer = _answer(given)
    _print(answer, as_json="--json" in ours, is_quiet="-q" in ours)
    return close_streams(answer.code)


def _answer(given: list[str]) -> Done:
    try:
        require_cpython()
        return call_in(Path.cwd(), given, environment=dict(os.environ), interactive=_is_interactive())
    except KeyboardInterrupt:
        # Interrupted while a signal is being proven or a command runs: anything unrecorded stays unrecorded.
        text = "phase-gate: interrupted; phase-gate status shows what is recorded"
        return Done(text=text, document={"interrupted": True}, code=exit_codes.INTERRUPTED, is_error=True)
    except Exception as error:
        return _refuse(error)


def _refuse(error: Exception) -> Done:
    if not isinstance(error, PhaseGateError):
        # A traceback would print ledger texts unescaped and end with an exit code that has another meaning.
        error = as_fault(error, remedy="please report this line; phase-gate audit checks the state")
    return Done(
        code=error.exit_code,
        document={"error": {"slug": error.slug, "problem": error.problem, "remedy": error.remedy}},
        text=f"phase-gate: {error}",
        is_error=True,
    )


def call_in(start: Path, given: list[str], *, environment: Mapping[str, str], interactive: bool) -> Done:
    """Return the result of a command line typed in that folder. Raises the command's errors."""
    given = with_command(given)
    if given[0] == "--version":
        return Done(text=f"pytest-phase-gate {__version__}", document={"version": __version__})
    topic = find_topic(given)
    if topic is not None:
        from phase_gate.cli._help import render_help

        text = render_help(topic, screen_width() - 2)
        return Done(text=text, document={"help": text}, is_file=True)
    arguments = parse(given)
    refuse_placeholders(arguments.command, given)
    call = Call(arguments=arguments, start=start, environment=environment, interactive=interactive)
    answer: Done = load_command(arguments.command)(call)
    return answer


def _print(answer: Done, *, as_json: bool, is_quiet: bool) -> None:
    following = answer.next_command
    if as_json:
        if not answer.is_printed:
            document = {**answer.document, "next_command": following} if following else answer.document
            print_plain(render_json(document, indent=2))
        return
    if answer.text and (answer.is_error or not is_quiet):
        print_rows(answer.text.split("\n"), aside=answer.is_error, is_file=answer.is_file)
        if following:
            print_rows([f"  next: {show_line(following)}"], aside=answer.is_error)
    print_plain(*answer.orders)


def _is_interactive() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
