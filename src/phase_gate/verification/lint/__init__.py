"""What a verify command can prove, by its words alone: can it fail because the work is wrong, and would that be seen?

Pure. A program that we do not know is taken for a check; what is refused here could not have failed whatever the code
does, or was told not to.
"""

from __future__ import annotations

import re

from phase_gate.verification.lint.counts import count_tests_said
from phase_gate.verification.lint.opinions import RULES, Opinion, say
from phase_gate.verification.lint.shell import MAX_LENGTH, ShellTextError, needs_shell, parse_shell
from phase_gate.verification.lint.walk import Walk
from phase_gate.verification.spec import TaskSpec

__all__ = ["RULES", "Opinion", "count_tests_said", "lint_command", "lint_done"]


def lint_command(spec: TaskSpec) -> tuple[Opinion, ...]:
    """Return what is to be said against the verify command; what refuses it comes first."""
    found: list[Opinion] = []
    try:
        tree = parse_shell(spec.verify)
        sign = "" if spec.shell else needs_shell(spec.verify)
        if sign:
            found.append(
                say("needs-shell", f"{_one_line(sign)!r} is for a shell: have one run it, or write one plain command")
            )
        walk = Walk(is_literal=not spec.shell and not sign)
        status = walk.run(tree)
    except ShellTextError as error:
        return (say("not-readable", f"{error}: write it as you would type it"),)
    if not status.proves:
        found.append(status.why or say("proves-nothing", "there is no command in it that could fail"))
    elif len(walk.checks) == 1 and walk.checks[0].is_broad:
        text = f"`{_one_line(spec.verify)}` runs every test that there is: name those of this task"
        found.append(say("too-broad", text))
    found += walk.flags
    unique = dict.fromkeys(found)
    return tuple(sorted(unique, key=lambda each: each.kind != "refused"))


def lint_done(spec: TaskSpec) -> tuple[Opinion, ...]:
    """Return what is to be said against the done-criteria."""
    if not is_vague(spec.done[:MAX_LENGTH]):
        return ()
    text = f"{_one_line(spec.done)!r} names nothing that could be looked at: say what exists, or how many of what pass"
    return (say("vague-done", text),)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


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
