"""What shells and `man` read, made from the parser: completion scripts and the man page.

`python -m scripts.generate` writes them; a test compares them with the parser.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from phase_gate.cli import COMMANDS
from phase_gate.cli._help import ABOUT, grouped
from phase_gate.cli._parser import build_full_parser
from phase_gate.cli.completion import FOLDER, KINDS, SHELLS
from phase_gate.cli.workflow_schema import schema_names
from phase_gate.exit_codes import MEANINGS

MAN_PAGE = Path(__file__).parent.parent / "docs" / "man" / "phase-gate.1"

#: Every command has these; what lists arguments says so once.
COMMON = {"--help", "--json", "--task", "--dir"}


def subparsers(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Return the commands of a parser."""
    found = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return next(found, {})


def command_parsers() -> Mapping[str, argparse.ArgumentParser]:
    """Return the parser of every command, by its name."""
    top = subparsers(build_full_parser())
    return {name: top[name] if name in top else subparsers(top[name.split()[0]])[name.split()[1]] for name in COMMANDS}


def own_actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of a command alone; those that only we type ourselves are left out."""
    shown = (action for action in parser._actions if action.help != argparse.SUPPRESS)
    return [action for action in shown if not COMMON.intersection(action.option_strings)]


def word_of(action: argparse.Action) -> str:
    """Return an argument as it is typed, like `--by NAME` or `status|reset`."""
    value = action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper()
    return " ".join((*action.option_strings[-1:], *(() if action.nargs == 0 else (str(value),))))


def help_of(action: argparse.Action) -> str:
    return str(action.help) % {**vars(action), "prog": "phase-gate"}


def is_required(action: argparse.Action) -> bool:
    return action.required if action.option_strings else action.nargs not in ("?", "*")


# --- completion

#: What stands in a place, by the word that help has for it, or by its own name where that says more.
_BY_METAVAR = {"PHASE": "phases", "GUARD": "guards", "FACT": "declared", "NAME=VALUE": "facts"}
_BY_NAME = {"task": "tasks", "phase": "phases"}
_FILES = ("FILE",)
_FOLDERS = ("DIR", "FOLDER")

#: How each shell asks for live values, and only at the tab key: reading a script starts no process.
_PREAMBLES = {
    "bash": """\
_phase_gate_values() {  # $1: kind, $2: what is typed so far
  local value
  while IFS= read -r value; do
    [[ $value == "$2"* ]] && printf '%s\\n' "$value"
  done < <("${COMP_WORDS[0]/#\\~\\//$HOME/}" completion --values "$1" 2>/dev/null)
}
"""
    + "\n".join(f'_phase_gate_{kind}() {{ _phase_gate_values {kind} "$1"; }}' for kind in KINDS),
    "zsh": """\
_phase_gate_values() {
  local -a found
  found=(${(f)"$(${_comp_command1:-phase-gate} completion --values $1 2>/dev/null)"})
  compadd -a found
}
"""
    + "\n".join(f"_phase_gate_{kind}() {{ _phase_gate_values {kind} }}" for kind in KINDS),
    "fish": """\
function _phase_gate_values
  set -l typed (commandline -opc)
  $typed[1] completion --values $argv[1] 2>/dev/null
end""",
}


def completion(shell: str) -> str:
    """Return the script of a shell."""
    import shtab

    parser = build_full_parser()
    _attach("", parser)
    script: str = shtab.complete(parser, shell=shell, preamble=_PREAMBLES[shell])
    return "\n".join(row.rstrip() for row in script.splitlines()) + "\n"


def _attach(name: str, parser: argparse.ArgumentParser) -> None:
    """Tell the arguments of a command what can stand there."""
    import shtab

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner, below in action.choices.items():
                _attach(f"{name} {inner}".strip(), below)
        elif action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif (name, action.dest) == ("workflow schema", "name"):
            action.choices = schema_names()
        elif kind := kind_of(name, action):
            action.complete = {  # type: ignore[attr-defined]
                **dict.fromkeys(("bash", "zsh"), f"_phase_gate_{kind}"),
                "fish": f"(_phase_gate_values {kind})",
            }


def kind_of(command: str, action: argparse.Action) -> str | None:
    """Return what kind of live value an argument takes."""
    if action.nargs == 0:
        return None
    if (command, action.dest) == ("explain", "name"):
        return "names"
    return _BY_METAVAR.get(str(action.metavar)) or _BY_NAME.get(action.dest)


# --- man page


def man_page() -> str:
    return "\n".join(short for row in _man_rows() for short in _broken(row)) + "\n"


def _broken(row: str) -> list[str]:
    """Return a row of text as short ones; a request has to stay in one."""
    if row.startswith("."):
        return [row]
    return textwrap.wrap(row, 78, break_long_words=False, break_on_hyphens=False)


def _man_rows() -> Iterator[str]:
    yield r".\" Made from the parser by scripts/generate.py."
    yield ".TH PHASE-GATE 1"
    yield ".SH NAME"
    yield r"phase-gate \- decide from evidence whether a test-driven step is really done"
    yield ".SH SYNOPSIS"
    yield ".B phase-gate"
    yield r".I COMMAND"
    yield "[options]"
    yield ".br"
    yield r".B phase-gate \-\-help"
    yield "|"
    yield r".B \-\-version"
    yield ".SH DESCRIPTION"
    yield from _sentences(
        "pytest-phase-gate measures inside pytest which tests exist, which ran and how each ended, remembers it across"
        " runs, and judges with two gates: what was measured, and an explicit exit signal. A phase may end only if"
        " both are open in the same iteration. Runs are recorded with `pytest --phase=NAME`; this command looks at the"
        " record, gives the signal, and goes on."
    )
    parsers = command_parsers()
    yield ".SH OPTIONS OF EVERY COMMAND"
    common = [action for action in parsers["check"]._actions if COMMON.intersection(action.option_strings)]
    yield from _arguments(common)
    for group, names in grouped().items():
        yield f".SH {_escape(group).upper()}"
        for name in names:
            yield from _man_command(f"phase-gate {name}", f"{COMMANDS[name]}.", parsers[name])
            codes = "; ".join(f"{code} {meaning}" for code, meaning in sorted(ABOUT[name].codes) if code != 2)
            yield ".PP"
            yield from (f"Exit codes: {_escape(codes)}.", ".PP", "Example:", ".PP")
            yield from (".RS 4", ".nf", _example(ABOUT[name].example), ".fi", ".RE")
    yield ".SH EXIT STATUS"
    for code, _, meaning in MEANINGS:
        yield from (".TP", f".B {code}", f"{_escape(meaning)}.")
    yield from (".TP", ".B 2", "The command line, a file or the rules are invalid.")
    yield ".SH ENVIRONMENT"
    for name, meaning in _VARIABLES.items():
        yield from (".TP", f".B {name}", _escape(meaning))
    yield ".SH FILES"
    for name, meaning in _KNOWN_FILES.items():
        yield from (".TP", f".I {_escape(name)}", _escape(meaning))
    yield ".SH SEE ALSO"
    yield ".BR pytest (1)"


_VARIABLES = {
    "PHASE_GATE_TASK": "Which task, where --task does not say it.",
    "PHASE_GATE_DIR": "Other state folder, where --dir does not say it.",
    "PHASE_GATE_KEY": "A secret that signs the state.",
    "PHASE_GATE_TRUST_ROOT": "A folder of another owner that may be the root, with all that is below it.",
}
_KNOWN_FILES = {
    "phase-gate.yaml": "The project's own rules, at its root; phase-gate init writes a commented one.",
    ".phase-gate/": "State and ledger.",
}


def _man_command(called: str, summary: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    own = own_actions(parser)
    words = [word_of(each) if is_required(each) else f"[{word_of(each)}]" for each in own]
    yield from (f".SS {_escape(' '.join((called, *words)))}", _escape(summary))
    yield from _arguments([each for each in own if not isinstance(each, argparse._SubParsersAction)])
    for inner, below in subparsers(parser).items():
        yield from _man_command(f"{called} {inner}", str(below.description), below)


def _arguments(actions: list[argparse.Action]) -> Iterator[str]:
    for action in actions:
        yield from (".TP", rf".B \&{_escape(word_of(action))}", f"{_escape(help_of(action))}.")


def _sentences(text: str) -> Iterator[str]:
    yield from (f"{sentence.rstrip('.')}." for sentence in _escape(text).split(". "))


def _example(text: str) -> str:
    # In one row, however long: the request makes text of it that nothing breaks.
    return rf".B \&{_escape(text)}".replace('"', r"\(dq")


def _escape(text: str) -> str:
    """Return text that roff prints as it is."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    return rf"\&{plain}" if plain.startswith(".") else plain


FILES: Mapping[Path, Callable[[], str]] = {
    **{FOLDER / name: (lambda shell=shell: completion(shell)) for shell, name in SHELLS.items()},  # type: ignore[misc]
    MAN_PAGE: man_page,
}
