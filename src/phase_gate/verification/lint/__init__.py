"""What a verify command can prove, by its words alone: can it fail because the work is wrong, and would that be seen?

Pure. A program that we do not know is taken for a check; what is refused here could not have failed whatever the code
does, or was told not to. Begin with `programs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import dropwhile
from typing import Literal

from phase_gate.shell_text import ShellTextError, Word
from phase_gate.values import Value, replace
from phase_gate.verification.commands import MAX_LENGTH, NeedsScriptError, read_commands
from phase_gate.verification.lint.programs import Program, classify, inner_script, unwrap
from phase_gate.verification.spec import TaskSpec
from phase_gate.visible import cut

#: Commands that are no programs, and that the next step would see nothing of.
_BUILT_IN = frozenset({".", "alias", "cd", "eval", "exec", "export", "popd", "pushd", "set", "source", "unset"})
#: Where to put what is no plain command.
_SCRIPT = "put it into a script that the task's reviewer can read, and run that: sh check.sh"
_SHELL = f'{_SCRIPT}; or let a shell run it: shell: true in YAML, <verify shell="true"> in XML'

#: A shell that runs a shell, and so on.
_MAX_DEPTH = 5


def lint_command(spec: TaskSpec) -> tuple[Opinion, ...]:
    """Return what is to be said against the verify command; what refuses it comes first."""
    try:
        commands = read_commands(spec.verify)
        programs = list(_programs(commands, spec.shell))
    except ShellTextError as error:
        return (say("not-readable", f"{error}: write it as you would type it"),)
    except NeedsScriptError as error:
        text = f"{_one_line(str(error))!r} is more than one command or an && list, and a failure could get lost in it"
        return (say("needs-script", text, _SCRIPT),)
    found: list[Opinion] = []
    if not spec.shell and (sign := _sign_for_shell(commands)):
        found.append(say("needs-shell", f"{_one_line(sign)!r} is for a shell, and none runs it", _SHELL))
    checks = [program for program in programs if program.kind == "check"]
    if not checks:
        found.append(_why_nothing(programs))
    elif len(checks) == 1 and checks[0].is_broad:
        text = f"`{_one_line(spec.verify)}` runs every test that there is: name those of this task"
        found.append(say("too-broad", text))
    for option in dict.fromkeys(program.passes_empty for program in checks if program.passes_empty):
        text = f"`{option}` lets it pass where there is no test at all: leave it out"
        found.append(say("passes-without-tests", text))
    return tuple(found)


def _sign_for_shell(commands: list[tuple[Word, ...]]) -> str:
    """Return what only a shell understands; empty if there is nothing of the kind."""
    for words in commands:
        if words[0].is_prefix or (words[0].text in _BUILT_IN and not words[0].is_quoted):
            return words[0].text
        # Of one command alone every word means itself, as people are used to from other runners.
        if len(commands) > 1 and (odd := next((word for word in words if not word.is_literal), None)) is not None:
            return odd.text
    return ""


def _programs(commands: list[tuple[Word, ...]], in_shell: bool, depth: int = 0) -> Iterator[Program]:
    """Yield what is run, one after the other, as far as anything is reached."""
    if depth > _MAX_DEPTH:
        raise ShellTextError("a shell within a shell within a shell")
    for command in commands:
        words = tuple(dropwhile(lambda word: word.is_prefix, command))
        if not in_shell:
            # Without a shell every word means itself.
            words = tuple(replace(word, is_literal=True) for word in words)
        script = inner_script(unwrap(words))
        if script is not None:
            yield from _programs(read_commands(script), True, depth + 1)
        elif words:
            program = classify(words)
            yield program
            if program.is_last:
                return


def _why_nothing(programs: list[Program]) -> Opinion:
    """Say why commands prove nothing: by the one that is more than talk, else by the last."""
    reasons = [_reason(program) for program in programs]
    if not reasons:
        return say("proves-nothing", "there is no command in it that could fail")
    return next((each for each in reasons if each.slug != "proves-nothing"), reasons[-1])


def _reason(program: Program) -> Opinion:
    name = _one_line(program.name)
    if program.kind == "forgives":
        return say("always-passes", f"`{program.option}` lets {name} pass whatever it finds: leave it out")
    if program.kind == "lists":
        return say("runs-no-test", f"with `{program.option}` {name} runs no test: leave it out")
    if program.kind == "prepares":
        return say("proves-nothing", f"`{name}` prepares something, and checks nothing")
    if program.kind == "shows":
        return say("proves-nothing", f"`{name}` shows something, and checks nothing: say what has to be in it")
    return say("proves-nothing", f"`{name}` ends the same whatever the code does: name a test, or another check")


def lint_done(spec: TaskSpec) -> tuple[Opinion, ...]:
    """Return what is to be said against the done-criteria."""
    if not is_vague(spec.done[:MAX_LENGTH]):
        return ()
    text = f"{_one_line(spec.done)!r} names nothing that could be looked at: say what exists, or how many of what pass"
    return (say("vague-done", text),)


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


def is_vague(done: str) -> bool:
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
        examples=("echo done", "cat src/planner.py", "ls src", "git status", 'python -c "pass"', "[ 1 = 1 ]"),
    ),
    "always-passes": Rule(
        kind="refused",
        meaning="an option turns a failure into 0",
        examples=("ruff check --exit-zero src", "make -i test"),
    ),
    "needs-script": Rule(
        kind="refused",
        meaning="it is more than one command or an `&&` list: a failure could get lost in it. Put it into a script",
        examples=("pytest tests/a.py || true", "pytest tests/a.py | tail", "npm run build; npm test", "pytest > log"),
    ),
    "runs-no-test": Rule(
        kind="refused",
        meaning="a test runner that was told to run nothing",
        examples=("pytest --collect-only tests/a.py", "jest --listTests", "cargo test --no-run", "make -n test"),
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
    "passes-without-tests": Rule(
        kind="flagged",
        meaning="an option lets it pass where there is no test at all",
        examples=("jest --passWithNoTests planner", "npm run e2e --if-present"),
    ),
    "vague-done": Rule(
        kind="flagged",
        meaning="the done-criteria name nothing that could be looked at",
        examples=("Task complete", "It works"),
    ),
}


def say(slug: str, text: str, remedy: str = "") -> Opinion:
    """Return the opinion of that rule."""
    return Opinion(kind=RULES[slug].kind, slug=slug, text=text, remedy=remedy)
