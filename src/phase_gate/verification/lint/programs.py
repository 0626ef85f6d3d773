"""What programs of a verify command do, by their names and options: tables, and how they are looked up.

Pure. A program that is not named here may check anything, and is taken for a check.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Literal

from phase_gate.shell_text import Word
from phase_gate.values import Value


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDLE = _words(
    "echo printf true : sleep pwd date whoami hostname uname id printenv env clear seq alias type wait times "
    "logger tput banner figlet cowsay say yes"
)
SHOWS = _words(
    "cat ls ll dir tree head tail less more bat nl wc stat file du df ps find sort uniq cut tr column fold paste tac "
    "rev xxd od hexdump strings base64 sed awk tee xargs sha256sum sha1sum md5sum realpath basename dirname"
)
PREPARES = _words(
    "cd pushd popd export unset set mkdir touch cp mv rm ln chmod chown trap umask ulimit local declare readonly "
    "shopt source ."
)
#: What makes a check of one that shows.
CHECKING = {
    "find": ("-exec", "-execdir", "-ok"),
    "sha256sum": ("-c", "--check"),
    "sha1sum": ("-c", "--check"),
    "md5sum": ("-c", "--check"),
}
GIT_SHOWS = _words("status log show branch add commit fetch pull push stash tag ls-files blame config")
GIT_CHECKING = ("--exit-code", "--quiet", "--check", "--error-unmatch")

#: Options of runners with which no test is run.
LISTS: Mapping[str, tuple[str, ...]] = {
    "pytest": (
        *("--collect-only", "--co", "--collectonly", "--fixtures", "--funcargs", "--fixtures-per-test", "--markers"),
        *("--setup-plan", "--cache-show"),
    ),
    "jest": ("--listTests", "--showConfig", "--init"),
    "vitest": ("list",),
    "mocha": ("--dry-run", "--list-files"),
    "playwright": ("--list",),
    "go": ("-list", "-c"),
    "cargo": ("--no-run", "--list"),
    "ctest": ("-N", "--show-only"),
    "dotnet": ("--list-tests", "-t"),
    "rspec": ("--dry-run",),
    "phpunit": ("--list-tests", "--list-suites", "--list-groups"),
    "make": ("-n", "--dry-run", "--just-print", "--recon"),
    "mvn": ("-DskipTests", "-Dmaven.test.skip"),
    "gradle": ("--dry-run", "-m"),
    "tox": ("-l", "--list", "--listenvs", "--notest", "-n", "list", "config"),
    "nox": ("-l", "--list", "--list-sessions"),
    "bats": ("-c", "--count"),
    "behave": ("-d", "--dry-run"),
    "robot": ("--dryrun",),
    "deno": ("--no-run",),
}
#: Options with which a check ends with 0 whatever it finds.
FORGIVES: Mapping[str, tuple[str, ...]] = {
    "": ("--exit-zero", "--suppress-tests-failed-exit-code"),
    "make": ("-i", "--ignore-errors"),
    "mvn": ("-fn", "--fail-never", "-Dmaven.test.failure.ignore"),
}
PASSES_EMPTY = (
    *("--passWithNoTests", "--pass-with-no-tests", "--if-present", "--suppress-no-test-exit-code"),
    *("--no-tests=pass", "-DfailIfNoTests=false", "-Dsurefire.failIfNoSpecifiedTests=false"),
)

#: Runners, and the words after which they run everything.
RUNNERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(("pytest", "py.test", "unittest"), ((), (".",), ("tests",), ("test",), ("discover",))),
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun"), (("test",), ("t",), ("run", "test"), ("run", "tests"), ("run", "test:all"))
    ),
    "make": (("test",), ("tests",), ("check",)),
    **dict.fromkeys(("tox", "nox", "jest", "mocha", "ava", "rspec", "phpunit", "ctest", "behave", "nose2"), ((),)),
    **dict.fromkeys(("vitest", "playwright"), ((), ("run",), ("test",))),
    "go": (("test", "./..."),),
    **dict.fromkeys(("cargo", "dotnet", "swift", "mix", "deno", "sbt", "lein", "stack", "cabal"), (("test",),)),
    **dict.fromkeys(("flutter", "dart", "rails"), (("test",),)),
    "rake": ((), ("test",), ("spec",)),
    **dict.fromkeys(
        ("mvn", "gradle"), tuple((*clean, goal) for clean in ((), ("clean",)) for goal in ("test", "verify", "check"))
    ),
}
#: Options by which a runner chooses among its tests.
SELECTS = re.compile(
    r"(?:-k|-m|-t|-e|-s|-g|-f|-R|-L|-p|-run|--run|--lf|--last-failed|--grep|--filter|--filter-.*|--tests?|--example|"
    r"--testNamePattern|--testPathPatterns?|--package|--lib|--bins?|--doc|--only|--group|--testsuite|--project|-Dtest|"
    r"--changed|--related|--pyargs|--deselect|--ignore|--tags)(?:=.*)?"
)
#: Options of runners that take the next word with them.
WITH_VALUE = _words(
    "-n -p -W -o -c -r --tb --cov --maxfail --timeout --rootdir --reporter --config -j --jobs -C --prefix --color"
)

#: Programs that run another one: how many words of their own follow, beside options.
WRAPPERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("env", "time", "nice", "nohup", "command", "exec", "sudo", "stdbuf", "xvfb-run", "npx"), ()),
    **dict.fromkeys(("bunx", "pnpx", "ionice", "caffeinate", "builtin"), ()),
    "timeout": ("*",),
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "rye"), ("run",)),
    "bundle": ("exec",),
}
WRAPPER_VALUES = _words(
    "-n -u -k -s --signal --kill-after --with --python --extra --group --project --directory --package --env-file "
    "--with-requirements --with-editable -c"
)
PYTHON = re.compile(r"(?:python|pypy)[0-9.]*|py")
SHELLS = ("sh", "bash", "zsh", "dash", "ksh")

FILE_TESTS = _words("-e -f -d -s -r -w -x -L -h -S -p -b -c -g -u -k -O -G -N -nt -ot -ef -t -v")
ALWAYS_THERE = frozenset((".", "..", "/", "./", "/tmp", "/dev/null", "~"))


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
        if name in WRAPPERS:
            own = WRAPPERS[name]
            if own and own != ("*",):
                if not rest or rest[0].text != own[0]:
                    return words
                rest = rest[1:]
            rest = _skip_options(rest, WRAPPER_VALUES)
            rest = rest[1:] if own == ("*",) else rest
            if not rest:
                return words
            words = rest
        elif PYTHON.fullmatch(name) and (module := _module_of(rest)):
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
    if name not in SHELLS:
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
    for names, kind in ((IDLE, "idle"), (SHOWS, "shows"), (PREPARES, "prepares")):
        if name in names:
            is_check = any(each in CHECKING.get(name, ()) for each in arguments)
            is_check = is_check or (name == "awk" and any("exit" in each for each in arguments))
            is_check = is_check or (name == "xargs" and any(not each.startswith("-") for each in arguments))
            return Program(kind="check" if is_check else kind, name=name)  # type: ignore[arg-type]  # as listed
    return _runner(name, arguments)


def _git(arguments: tuple[str, ...]) -> Program:
    command = arguments[0] if arguments else ""
    is_shown = command in GIT_SHOWS or command == "diff"
    if is_shown and not any(each in GIT_CHECKING for each in arguments):
        return Program(kind="shows", name=f"git {command}")
    return Program(kind="check", name="git")


def _runner(name: str, arguments: tuple[str, ...]) -> Program:
    known = RUNNERS.get(name)
    # A word is an order only in the first place: `vitest run list` looks for tests of that name.
    said = tuple(each for index, each in enumerate(arguments) if each.startswith("-") or index == 0)
    options = tuple(each.partition("=")[0] for each in said if not each.lower().endswith("=false"))
    for kind, found in (
        ("forgives", _pick(options, (*FORGIVES[""], *FORGIVES.get(name, ())))),
        ("lists", _pick(options, LISTS.get(name, ()))),
        ("lists", "-run ^$" if name == "go" and _runs_nothing(arguments) else ""),
        (
            "shows",
            _pick(options[:1], ("--version", "--help", "-V", "-h")) if known is not None or name == "node" else "",
        ),
    ):
        if found:
            return Program(kind=kind, name=name, option=found)  # type: ignore[arg-type]
    empty = _pick(arguments, PASSES_EMPTY)
    broad = known is not None and _is_broad(known, arguments)
    return Program(kind="check", name=name, is_broad=broad, passes_empty=empty)


def _pick(arguments: tuple[str, ...], wanted: tuple[str, ...]) -> str:
    return next((each for each in arguments if each in wanted), "")


def _runs_nothing(arguments: tuple[str, ...]) -> bool:
    joined = " ".join(arguments)
    return re.search(r"-run[= ]\^\$(?: |$)", joined) is not None


def _is_broad(everything: tuple[tuple[str, ...], ...], arguments: tuple[str, ...]) -> bool:
    if any(SELECTS.fullmatch(each) for each in arguments):
        # `-p no:cacheprovider` and `-m pytest` choose nothing, but to be told apart they would need every parser.
        return False
    plain: list[str] = []
    skips = False
    for each in arguments:
        if skips:
            skips = False
        elif each.startswith("-") and each != "--":
            skips = each in WITH_VALUE
        elif each != "--":
            plain.append(each.removeprefix("./").rstrip("/") if each != "./..." else each)
    return tuple(plain) in everything


def _is_constant_test(words: tuple[Word, ...]) -> bool:
    """Tell whether `test …` compares only what stands there: `[ 1 = 1 ]`."""
    own = [word for word in words if word.text != "]"]
    if not own or not all(word.is_literal for word in own):
        return False
    files = [after.text for word, after in pairwise(own) if word.text in FILE_TESTS]
    return all(each in ALWAYS_THERE for each in files) if files else True


def _is_idle_code(name: str, words: tuple[Word, ...]) -> bool:
    languages = {"node": ("-e", "--eval", "-p", "--print"), "ruby": ("-e",), "perl": ("-e",), "php": ("-r",)}
    flags = ("-c",) if PYTHON.fullmatch(name) else languages.get(name, ())
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
