"""What programs of a verify command do, by their names and options: data, and how it is looked up.

Pure. A program that is not named here may check anything, and is taken for a check.
"""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import Literal

from phase_gate.shell_text import Word
from phase_gate.values import Value
from phase_gate.verification.lint import program_table as table

#: check: its status says something. idle: it ends the same whatever is the case. shows: it prints, and that is all.
#: prepares: the work comes after it. lists: a runner that runs no test. forgives: a check that was told to end with 0.
Kind = Literal["check", "idle", "shows", "prepares", "lists", "forgives"]


class Program(Value):
    """What a simple command is."""

    kind: Kind
    #: How it is called in messages.
    name: str
    #: The option that makes it so, if one does.
    option: str = ""
    #: True if it runs every test that there is.
    is_broad: bool = False
    #: True if nothing behind it is reached.
    is_last: bool = False
    #: An option that lets it pass where there is nothing to run.
    passes_empty: str = ""


def unwrap(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the command that others only start: `uv run python -m pytest x` is `pytest x`."""
    while words:
        name = base_name(words[0])
        rest = words[1:]
        if name in table.WRAPPERS:
            own = table.WRAPPERS[name]
            if own and own != ("*",):
                if not rest or rest[0].text != own[0]:
                    return words
                rest = rest[1:]
            rest = _skip_options(rest, table.WRAPPER_VALUES)
            rest = rest[1:] if own == ("*",) else rest
            if not rest:
                return words
            words = rest
        elif table.PYTHON.fullmatch(name) and (module := _module_of(rest)):
            words = module
        elif name == "coverage" and rest and rest[0].text == "run":
            inner = _skip_options(rest[1:], frozenset(), stop="-m")
            words = inner[1:] if inner and inner[0].text == "-m" else inner
        else:
            return words
    return words


def base_name(word: Word) -> str:
    """Return a program's name without its folder; nothing of one that a shell puts together."""
    name = word.text.rpartition("/")[2] if word.is_literal else ""
    return {"mvnw": "mvn", "gradlew": "gradle", "py.test": "pytest", "egrep": "grep"}.get(name, name)


def _module_of(arguments: tuple[Word, ...]) -> tuple[Word, ...]:
    for index, word in enumerate(arguments):
        if word.text == "-m":
            return arguments[index + 1 :]
        if not word.text.startswith("-"):
            break
    return ()


def _skip_options(words: tuple[Word, ...], with_value: frozenset[str], stop: str = "") -> tuple[Word, ...]:
    at = 0
    while at < len(words):
        text = words[at].text
        if text == stop:
            break
        if text.startswith("-") and len(text) > 1:
            at += 1 + (text in with_value)
            if text == "--":
                break
        elif re.match(r"[A-Za-z_]\w*=", text):
            at += 1
        else:
            break
    return words[at:]


def inner_script(words: tuple[Word, ...]) -> str | None:
    """Return the text of `bash -c TEXT` or `eval TEXT`; None for anything else."""
    name = base_name(words[0]) if words else ""
    if name == "eval" and len(words) > 1 and all(word.is_literal for word in words):
        return " ".join(word.text for word in words[1:])
    if name not in table.SHELLS:
        return None
    for index, word in enumerate(words[1:], 1):
        if re.fullmatch("-[a-zA-Z]*c", word.text):
            script = words[index + 1] if index + 1 < len(words) else None
            return script.text if script is not None and script.is_literal else None
        if not word.text.startswith("-") and not re.fullmatch("-[a-zA-Z]*o", words[index - 1].text):
            return None
    return None


def classify(words: tuple[Word, ...]) -> Program:
    """Return what a simple command is."""
    words = unwrap(words)
    if not words:
        return Program(kind="idle", name="nothing")
    name, arguments = base_name(words[0]), tuple(word.text for word in words[1:])
    if name in ("exit", "return", "false"):
        return Program(kind="idle", name=" ".join((name, *arguments))[:60], is_last=True)
    if name in ("test", "["):
        return Program(kind="idle" if _is_constant_test(words[1:]) else "check", name=name)
    if name == "git":
        return _git(tuple(word.text for word in _skip_options(words[1:], frozenset({"-C", "-c"}))))
    if _is_idle_code(name, words[1:]):
        return Program(kind="idle", name=" ".join((name, *arguments))[:60])
    if name in ("source", ".") and not any("activate" in each for each in arguments):
        return Program(kind="check", name=name)
    if name == "wait" and arguments:
        return Program(kind="check", name=name)
    for names, kind in ((table.IDLE, "idle"), (table.SHOWS, "shows"), (table.PREPARES, "prepares")):
        if name in names:
            is_check = any(each in table.CHECKING.get(name, ()) for each in arguments)
            is_check = is_check or (name == "awk" and any("exit" in each for each in arguments))
            is_check = is_check or (name == "xargs" and any(not each.startswith("-") for each in arguments))
            return Program(kind="check" if is_check else kind, name=name)  # type: ignore[arg-type]  # as listed
    return _runner(name, arguments)


def _git(arguments: tuple[str, ...]) -> Program:
    command = arguments[0] if arguments else ""
    is_shown = command in table.GIT_SHOWS or command == "diff"
    if is_shown and not any(each in table.GIT_CHECKING for each in arguments):
        return Program(kind="shows", name=f"git {command}")
    return Program(kind="check", name="git")


def _runner(name: str, arguments: tuple[str, ...]) -> Program:
    known = table.RUNNERS.get(name)
    # A word is an order only in the first place: `vitest run list` looks for tests of that name.
    said = tuple(each for index, each in enumerate(arguments) if each.startswith("-") or index == 0)
    options = tuple(each.partition("=")[0] for each in said if not each.lower().endswith("=false"))
    for kind, found in (
        ("forgives", _pick(options, (*table.FORGIVES[""], *table.FORGIVES.get(name, ())))),
        ("lists", _pick(options, table.LISTS.get(name, ()))),
        ("lists", "-run ^$" if name == "go" and _runs_nothing(arguments) else ""),
        (
            "shows",
            _pick(options[:1], ("--version", "--help", "-V", "-h")) if known is not None or name == "node" else "",
        ),
    ):
        if found:
            return Program(kind=kind, name=name, option=found)  # type: ignore[arg-type]
    empty = _pick(arguments, table.PASSES_EMPTY)
    broad = known is not None and _is_broad(known, arguments)
    return Program(kind="check", name=name, is_broad=broad, passes_empty=empty)


def _pick(arguments: tuple[str, ...], wanted: tuple[str, ...]) -> str:
    return next((each for each in arguments if each in wanted), "")


def _runs_nothing(arguments: tuple[str, ...]) -> bool:
    joined = " ".join(arguments)
    return re.search(r"-run[= ]\^\$(?: |$)", joined) is not None


def _is_broad(everything: tuple[tuple[str, ...], ...], arguments: tuple[str, ...]) -> bool:
    if any(table.SELECTS.fullmatch(each) for each in arguments):
        # `-p no:cacheprovider` and `-m pytest` choose nothing, but to be told apart they would need every parser.
        return False
    plain: list[str] = []
    skips = False
    for each in arguments:
        if skips:
            skips = False
        elif each.startswith("-") and each != "--":
            skips = each in table.WITH_VALUE
        elif each != "--":
            plain.append(each.removeprefix("./").rstrip("/") if each != "./..." else each)
    return tuple(plain) in everything


def _is_constant_test(words: tuple[Word, ...]) -> bool:
    """Tell whether `test …` compares only what stands there: `[ 1 = 1 ]`."""
    own = [word for word in words if word.text != "]"]
    if not own or not all(word.is_literal for word in own):
        return False
    files = [after.text for word, after in pairwise(own) if word.text in table.FILE_TESTS]
    return all(each in table.ALWAYS_THERE for each in files) if files else True


def _is_idle_code(name: str, words: tuple[Word, ...]) -> bool:
    languages = {"node": ("-e", "--eval", "-p", "--print"), "ruby": ("-e",), "perl": ("-e",), "php": ("-r",)}
    flags = ("-c",) if table.PYTHON.fullmatch(name) else languages.get(name, ())
    for flag, code in pairwise(words):
        if flag.text in flags:
            return code.is_literal and is_idle(code.text, is_python="-c" in flags)
    return False


# --- whether a line of code on a command line can fail: `python -c "pass"` can't


#: Of JavaScript, Ruby, Perl and PHP: nothing, a constant, or a text that is printed. It never looks back: blanks
#: could be shared out in too many ways.
_IDLE = re.compile(
    r"(?>\s|;|[0-9]|true|null|(?:console\.log|puts|print|echo|process\.exit|exit)\b\s*"
    r"(?:\(\s*(?:\"[^\"()]*\"|'[^'()]*'|0)?\s*\)|\"[^\"]*\"|'[^']*')?)*+"
)
#: A check can't be hidden in less; and the pattern above need not be patient.
_MAX_LENGTH = 500
_HARMLESS = frozenset({"print", "exit", "quit", "sys.exit"})


def is_idle(code: str, *, is_python: bool) -> bool:
    """Tell whether this code ends with 0 whatever is the case."""
    if len(code) > _MAX_LENGTH:
        return False
    if not is_python:
        return _IDLE.fullmatch(code) is not None
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(_is_idle_statement(each) for each in body)


def _is_idle_statement(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.Import):
        return all(each.name == "sys" for each in node.names)
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and bool(node.test.value)
    return isinstance(node, ast.Expr) and _is_idle_value(node.value)


def _is_idle_value(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if not isinstance(node, ast.Call) or node.keywords or ast.unparse(node.func) not in _HARMLESS:
        return False
    if ast.unparse(node.func) == "print":
        return all(_is_idle_value(each) for each in node.args)
    return all(isinstance(each, ast.Constant) and each.value in (0, None) for each in node.args)
