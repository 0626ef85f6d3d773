"""The commands of a verify task: one, or an `&&` list whose steps we run one after the other, without a shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from itertools import dropwhile
from pathlib import PurePath
from typing import Literal

from phase_gate.tasks.model import TaskSpec
from phase_gate.values import Value
from phase_gate.visible import cut

#: Characters; what is longer belongs into a script.
MAX_LENGTH = 10_000
#: What is quoted means itself.
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
#: Signs in which a failure can get lost: pipes, lists, redirections, brackets, comments, what a shell puts in.
_SIGN = re.compile(r"\|\|?|[;&<>()`\n]|\$\(|(?<!\S)#")
#: Words that begin something else than a command, or that change what the rest means.
_KEYWORDS = frozenset(
    {"{", "[[", "case", "eval", "exec", "exit", "for", "function", "if", "return", "select", "trap", "until", "while"}
)
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?", re.IGNORECASE)


class CommandTextError(Exception):
    """Why a text is no command or `&&` list that could be run; `slug` is the linter's."""

    def __init__(self, slug: str, problem: str) -> None:
        super().__init__(problem)
        self.slug = slug


def read_commands(text: str) -> list[list[str]]:
    """Return the commands of an `&&` list, each as its words. Raises CommandTextError."""
    if len(text) > MAX_LENGTH:
        raise CommandTextError("not-readable", f"it has more than {MAX_LENGTH} characters")
    text = text.strip()
    masked = _QUOTED.sub(_mask, text)
    ends = [found.span() for found in re.finditer("&&", masked)]
    commands = []
    for start, end in zip((0, *(end for _, end in ends)), (*(start for start, _ in ends), len(text)), strict=True):
        if (sign := _SIGN.search(masked, start, end)) is not None:
            raise _needs_script("a line end" if sign.group() == "\n" else sign.group())
        commands.append(_read_words(text[start:end]))
    return commands


def _mask(found: re.Match[str]) -> str:
    # A shell puts something in between double quotes, too.
    text = found.group()
    return text if text[0] == '"' and ("$(" in text or "`" in text) else "_" * len(text)


def _read_words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        raise CommandTextError("not-readable", "a quote is never closed: write it as you would type it") from None
    if not words:
        raise CommandTextError("not-readable", "a command is missing: write it as you would type it")
    if words[0] in _KEYWORDS:
        raise _needs_script(words[0])
    if PurePath(words[0]).name in _SHELLS and any(re.fullmatch("-[a-z]*c", word) for word in words):
        raise _needs_script("sh -c")
    return words


def _needs_script(sign: str) -> CommandTextError:
    text = f"{sign!r} is more than one command or an && list, and a failure could get lost in it"
    return CommandTextError("needs-script", text)


def steps_of(spec: TaskSpec) -> tuple[str, ...]:
    """Return what is run, one after the other. Where the task asks for a shell, that gets the whole."""
    if spec.shell:
        return (spec.verify,)
    try:
        commands = read_commands(spec.verify)
    except CommandTextError:
        return (spec.verify,)  # taken by an earlier version: its run will tell
    if len(commands) == 1:
        return (spec.verify,)
    return tuple(shlex.join(words) for words in commands)


def find_missing_program(spec: TaskSpec, environment: Mapping[str, str]) -> str:
    """Return the first program that is not there; empty if each is, or only the run can tell.

    A shell has words of its own, and a path in the project may be work of this task or of an earlier one.
    """
    if spec.shell:
        return ""
    for step in steps_of(spec):
        program = _words(step)[0]
        is_ours = re.search(r"[/\\]", program) is not None and not os.path.isabs(program)
        if not is_ours and shutil.which(program, path=environment.get("PATH", os.defpath)) is None:
            return program
    return ""


def pytest_arguments(spec: TaskSpec) -> list[str] | None:
    """Return the words of the one step that is a call of pytest; None where there is none, or more than one."""
    if spec.shell:
        return None
    found = [words for words in map(_words, steps_of(spec)) if _is_pytest(words)]
    return found[0] if len(found) == 1 else None


def _is_pytest(words: list[str]) -> bool:
    name = PurePath(words[0].replace("\\", "/")).name
    if name in ("pytest", "py.test", "pytest.exe"):
        return True
    return _PYTHON.fullmatch(name) is not None and words[1:3] == ["-m", "pytest"]


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command) or [""]
    except ValueError:
        return [command]


# --- What a verify command can prove, by its words alone; and whether done-criteria name something to look at


_IDLE_TEXT = """\
    : echo printf true sleep pwd date whoami hostname uname id printenv seq yes
    cat ls dir tree head tail less more wc stat file du df ps sort uniq cut tr sed tee basename dirname realpath
    cd export unset set mkdir touch cp mv rm ln chmod chown
    git-status git-log git-show git-branch git-add git-commit git-fetch git-pull git-push git-stash git-tag git-blame"""
#: They print, show or prepare something, and end with 0 whatever the code does.
_IDLE = frozenset(_IDLE_TEXT.split())
#: What only a shell understands at the beginning of a command.
_FOR_A_SHELL = re.compile(r"!|\.|alias|cd|export|popd|pushd|set|source|unset|[A-Za-z_]\w*\+?=.*", re.DOTALL)
_PREFIX = re.compile(r"!|[A-Za-z_]\w*\+?=.*", re.DOTALL)
#: Options with which a runner runs no test.
_LISTS = frozenset({"--co", "--collect-only", "--collectonly", "--listTests", "--list-tests", "--no-run"})
#: A runner, and nothing that chooses among its tests.
_EVERYTHING = re.compile(
    r"(?:(?:uv|poetry|pdm|hatch) run |npx |bundle exec )?(?:\S*python\S* -m )?(?:\S*/)?"
    r"(?:pytest|py\.test|unittest(?: discover)?|tox|nox|jest|vitest(?: run)?|mocha|rspec|phpunit|ctest"
    r"|npm t|(?:npm|pnpm|yarn|bun)(?: run)? test|make (?:tests?|check)|go test \./\.\.\."
    r"|(?:cargo|deno|dotnet|gradle|gradlew|mix|mvn|mvnw|rake|swift) test)"
    r"(?: (?:-[qsvx]+|\.|(?:\./)?tests?/?))*"
)
_SCRIPT = "put it into a script that the task's reviewer can read, and run that: sh check.sh"
_SHELL = f'{_SCRIPT}; or let a shell run it: shell: true in YAML, <verify shell="true"> in XML'


def lint_command(spec: TaskSpec) -> tuple[Opinion, ...]:
    """Return what is to be said against the verify command; what refuses it comes first."""
    try:
        commands = read_commands(spec.verify)
    except CommandTextError as error:
        return (_say(error.slug, str(error), _SCRIPT if error.slug == "needs-script" else ""),)
    found: list[Opinion] = []
    sign = next((words[0] for words in commands if _FOR_A_SHELL.fullmatch(words[0])), "")
    if sign and not spec.shell:
        found.append(_say("needs-shell", f"{_one_line(sign)!r} is for a shell, and none runs it", _SHELL))
    programs = [list(dropwhile(_PREFIX.fullmatch, words)) for words in commands]
    checks = [words for words in programs if words and not _is_idle(words)]
    listing = next((word for words in checks for word in words if word in _LISTS), "")
    if not checks:
        name = _one_line(" ".join(commands[-1]))
        found.append(_say("proves-nothing", f"`{name}` ends with 0 whatever the code does: name a test to run"))
    elif listing:
        found.append(_say("runs-no-test", f"with `{listing}` no test is run: leave it out"))
    elif len(checks) == 1 and _EVERYTHING.fullmatch(" ".join(checks[0])):
        text = f"`{_one_line(spec.verify)}` runs every test that there is: name those of this task"
        found.append(_say("too-broad", text))
    return tuple(found)


def _is_idle(words: Sequence[str]) -> bool:
    name = os.path.basename(words[0])
    return ("-".join((name, *words[1:2])) if name == "git" else name) in _IDLE


def lint_done(spec: TaskSpec) -> tuple[Opinion, ...]:
    """Return what is to be said against the done-criteria."""
    if not _is_vague(spec.done[:MAX_LENGTH]):
        return ()
    text = f"{_one_line(spec.done)!r} names nothing that could be looked at: say what exists, or how many of what pass"
    return (_say("vague-done", text),)


def _one_line(text: str) -> str:
    return cut(" ".join(text.split()))


# --- whether done-criteria name something that can be looked at


_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
#: A number, `code`, snake_case, camelCase, CapitalLetters inside, a path, a call.
_NAMES = re.compile(r"[0-9]|`[^`]+`|\w_\w|[a-z][A-Z]|\w/\w|\w\.\w|\w\(|%")
#: Says that it is done, or how well, and not what.
_EMPTY_TEXT = """\
a an and any are as at be been but by can do does for from had has have how i if in into is it its it's just let
    must my no nor not now of on or our out over shall should so some than that the their them then there these they
    this those to too up us was we well were what when where which while who will with without would you your
    accordingly accurate all already always anything appropriate appropriately basic basically be bug bugs change
    changed changes check checked clean cleanly code complete completed completely completion correct correctly criteria
    criterion deliver delivered desired done enough error errors every everything expected fails feature features final
    finally fine finish finished fix fixed fixes fully function functional functionality functions good great
    implementation implemented implement improved item job looks made make makes met nice nicely ok okay pass passed
    passes passing perfect perfectly problem properly quality ready requirement requirements required resolved right
    runs satisfied sense ship shipped smoothly solid solution solved specified stuff succeed succeeds success successful
    successfully supposed task tasks test tested tests thing things update updated user verified verify working works
    work worked"""
_EMPTY = frozenset(_EMPTY_TEXT.split())
_ENOUGH = 2


def _is_vague(done: str) -> bool:
    """Tell whether nothing in the text could be looked at."""
    if _NAMES.search(done):
        return False
    return len({word for word in _WORD.findall(done.lower()) if word not in _EMPTY}) < _ENOUGH


# --- what can be said against a verify command or against done-criteria: the rules, as data


class Opinion(Value):
    """What is to be said against a task: refused, or only flagged."""

    kind: Literal["refused", "flagged"]
    slug: str
    text: str
    #: What to do, where that is not plain from the text.
    remedy: str = ""


class Rule(Value):
    """What an opinion means, for the reference, with commands that it is said of."""

    kind: Literal["refused", "flagged"]
    meaning: str
    examples: tuple[str, ...]


RULES: Mapping[str, Rule] = {
    "proves-nothing": Rule(
        kind="refused",
        meaning="it ends with 0 whatever the code does: it prints, shows or prepares something",
        examples=("echo done", "cat src/planner.py", "ls src", "git status"),
    ),
    "needs-script": Rule(
        kind="refused",
        meaning="it is more than one command or an `&&` list: a failure could get lost in it. Put it into a script",
        examples=("pytest tests/a.py || true", "pytest tests/a.py | tail", "npm run build; npm test", "pytest > log"),
    ),
    "runs-no-test": Rule(
        kind="refused",
        meaning="a test runner that was told to run nothing",
        examples=("pytest --collect-only tests/a.py", "jest --listTests", "cargo test --no-run"),
    ),
    "needs-shell": Rule(
        kind="refused",
        meaning="only a shell understands it, and none runs it. Put it into a script, or say `shell: true`",
        examples=("CI=1 npm test", "cd web && npm test"),
    ),
    "not-readable": Rule(
        kind="refused", meaning="a shell would not understand it, either", examples=("pytest 'a", "pytest && ")
    ),
    "too-broad": Rule(
        kind="flagged",
        meaning="it runs every test that there is: slow, and it says little of this task",
        examples=("pytest", "npm test", "make test", "go test ./..."),
    ),
    "vague-done": Rule(
        kind="flagged",
        meaning="the done-criteria name nothing that could be looked at",
        examples=("Task complete", "It works"),
    ),
}


def _say(slug: str, text: str, remedy: str = "") -> Opinion:
    return Opinion(kind=RULES[slug].kind, slug=slug, text=text, remedy=remedy)
