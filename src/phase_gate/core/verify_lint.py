"""What a verify command can prove, by its words alone: can it fail because the work is wrong, and would that be seen?

Pure. A program that we do not know is taken for a check; what is refused here could not have failed whatever the code
does, or was told not to.
"""

from __future__ import annotations

from phase_gate.core.done_criteria import is_vague
from phase_gate.core.said_counts import count_tests_said
from phase_gate.core.shell_text import MAX_LENGTH, parse_shell
from phase_gate.core.shell_words import ShellTextError, needs_shell
from phase_gate.core.task_spec import TaskSpec
from phase_gate.core.verify_opinions import RULES, Opinion, say
from phase_gate.core.verify_walk import Walk

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
