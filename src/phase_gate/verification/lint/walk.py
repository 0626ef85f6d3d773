"""Walk a command as a shell would, and tell whether a failed check would be seen in the status that it ends with.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from phase_gate.values import Value, replace
from phase_gate.verification.lint.opinions import Opinion, say
from phase_gate.verification.lint.programs import Program, classify, inner_script, unwrap
from phase_gate.verification.lint.shell import (
    AndOr,
    If,
    Loop,
    Node,
    Opaque,
    Pipeline,
    Sequence,
    ShellTextError,
    Simple,
    parse_shell,
)

Ends = Literal["zero", "nonzero", "either"]


class Status(Value):
    """What can be said of the status that a part ends with."""

    #: Whether it can be another than 0 because a check failed.
    proves: bool = False
    ends: Ends = "zero"
    #: Why it proves nothing, where it does not.
    why: Opinion | None = None
    #: What it is called, in messages.
    name: str = ""
    #: Whether nothing behind it is reached.
    leaves: bool = False
    #: What `exit` gives back: a variable, or the status before it.
    passes_on: str = ""
    is_runner: bool = False
    is_preparation: bool = False


class Walk:
    """Goes through a command once, and keeps what it meets."""

    def __init__(self, *, is_literal: bool) -> None:
        self.checks: list[Program] = []
        self.flags: list[Opinion] = []
        #: Without a shell every word means itself.
        self._is_literal = is_literal
        self._stops_at_error = self._minds_pipes = False
        self._trap: Opinion | None = None
        self._scripts = 0

    def run(self, tree: Sequence) -> Status:
        status = self._sequence(tree)
        return status if self._trap is None else Status(why=self._trap)

    def _node(self, node: Node) -> Status:
        if isinstance(node, Simple):
            return self._simple(node)
        if isinstance(node, Pipeline):
            return self._pipeline(node)
        if isinstance(node, AndOr):
            return self._and_or(node)
        if isinstance(node, Sequence):
            return self._sequence(node)
        if isinstance(node, If):
            return self._if(node)
        if isinstance(node, Loop):
            return self._node(node.body)
        assert isinstance(node, Opaque)
        return Status(proves=True, ends="either", name="…")

    # One command

    def _simple(self, node: Simple) -> Status:
        words = node.words
        if self._is_literal:
            words = tuple(replace(word, is_literal=True) for word in words)
        if not words:
            # `x=$(check)` ends as the check does.
            return Status(proves=node.runs_inside, ends="either" if node.runs_inside else "zero", is_preparation=True)
        inner = unwrap(words)
        if (script := inner_script(inner)) is not None:
            return self._script(*script)
        program = classify(words)
        texts = tuple(word.text for word in inner[1:])
        if program.name == "set":
            self._set(texts)
        if program.name == "trap" and "EXIT" in texts and texts[0].strip() in ("exit 0", "true"):
            self._trap = say("always-passes", f"`trap {texts[0]!r} EXIT` makes it pass")
        return self._status_of(program)

    def _status_of(self, program: Program) -> Status:
        name = program.name if len(program.name) <= 60 else f"{program.name[:59]}…"
        if program.kind == "check":
            self.checks.append(program)
            if program.passes_empty:
                text = f"`{program.passes_empty}` lets it pass where there is no test at all: leave it out"
                self.flags.append(say("passes-without-tests", text))
            return Status(proves=True, ends="either", name=name, is_runner=program.is_runner)
        if program.kind == "passes-on":
            return Status(ends="either", name=name, leaves=True, passes_on=program.option)
        if program.kind == "fails":
            return Status(ends="nonzero", name=name, leaves=name.startswith(("exit", "return")))
        leaves = name.startswith(("exit ", "return "))
        if program.kind == "forgives":
            why = say("always-passes", f"`{program.option}` lets {name} pass whatever it finds: leave it out")
        elif program.kind == "lists":
            why = say("runs-no-test", f"with `{program.option}` {name} runs no test: leave it out")
        elif program.kind == "prepares":
            why = say("proves-nothing", f"`{name}` prepares something, and checks nothing")
        elif program.kind == "shows":
            why = say("proves-nothing", f"`{name}` shows something, and checks nothing: say what has to be in it")
        else:
            why = say("proves-nothing", f"`{name}` passes whatever the code does: name a test, or another check")
        is_preparation = program.kind == "prepares"
        return Status(ends="zero", why=why, name=name, leaves=leaves, is_preparation=is_preparation)

    def _script(self, options: str, text: str) -> Status:
        self._scripts += 1
        if self._scripts > 5:
            raise ShellTextError("a shell within a shell within a shell")
        before = self._stops_at_error, self._minds_pipes, self._is_literal
        self._stops_at_error = any("e" in each for each in options.split() if not each.startswith("--"))
        self._minds_pipes = "pipefail" in options
        self._is_literal = False
        try:
            return replace(self._sequence(parse_shell(text)), leaves=False)
        finally:
            self._stops_at_error, self._minds_pipes, self._is_literal = before

    def _set(self, options: tuple[str, ...]) -> None:
        for option in options:
            is_on = option.startswith("-")
            if option[:1] in ("-", "+") and "e" in option[1:]:
                self._stops_at_error = is_on
        if "errexit" in options:
            self._stops_at_error = "+o" not in options
        if "pipefail" in options:
            self._minds_pipes = "+o" not in options

    # Several

    def _pipeline(self, node: Pipeline) -> Status:
        parts = [self._node(part) for part in node.parts]
        status = self._through_pipe(parts)
        if node.is_negated:
            flipped: Mapping[Ends, Ends] = {"zero": "nonzero", "nonzero": "zero", "either": "either"}
            status = replace(status, ends=flipped[status.ends], leaves=False)
        return status

    def _through_pipe(self, parts: list[Status]) -> Status:
        last = parts[-1]
        before = next((part for part in parts[:-1] if part.proves), None)
        if before is None:
            return last
        if self._minds_pipes:
            return replace(last, proves=True, ends="either", why=None)
        if not last.proves:
            text = f"the status of `{before.name}` is lost behind `| {last.name}`: leave that out"
            return replace(last, why=say("status-hidden", text))
        if before.is_runner:
            text = f"the status of `{before.name}` is lost behind `| {last.name}`, which finds some word or other"
            self.flags.append(say("status-lost", text))
        return last

    def _and_or(self, node: AndOr) -> Status:
        status = self._node(node.first)
        for operator, part in node.rest:
            after = self._node(part)
            status = _both(status, after) if operator == "&&" else _either(status, after)
        return status

    def _sequence(self, node: Sequence) -> Status:
        status = Status()
        lost: list[Status] = []
        for part, sign in node.items:
            after = self._node(part)
            if sign == "&":
                why = say("status-hidden", f"`{after.name}` runs in the background, and nobody waits for its status")
                after = replace(after, proves=False, ends="zero", why=why if after.proves else after.why, leaves=False)
            if after.passes_on:
                is_recalled = after.passes_on != "$?" and (lost or status.proves)
                return replace(status, proves=True, ends="either", why=None) if is_recalled else status
            status = self._next(status, after, lost)
            if after.leaves:
                break
        if status.proves:
            for each in lost:
                text = f"`{each.name}` may fail, and only `{status.name}` counts: join them with &&"
                self.flags.append(say("status-lost", text))
        return status

    def _next(self, status: Status, after: Status, lost: list[Status]) -> Status:
        """Return the status of two commands one after the other."""
        if not status.proves:
            # Of two that prove nothing, the one that is more than talk is worth a word.
            keeps = after.why is not None and after.why.slug == "proves-nothing" and status.why is not None
            return replace(after, why=status.why) if keeps and not after.proves else after
        if self._stops_at_error:
            return replace(after, proves=True, ends="either", why=None)
        lost.append(status)
        if after.proves:
            return after
        text = f"`{after.name or 'what follows'}` comes last, so the status of `{status.name}` is lost: put && between"
        slug = "always-passes" if after.leaves and after.ends == "zero" else "status-hidden"
        return replace(after, why=say(slug, text))

    def _if(self, node: If) -> Status:
        """Return the status of an `if`: a condition that fails counts only if a branch says so."""
        proves = False
        statuses: list[Status] = []
        first: Status | None = None
        for condition, body in node.branches:
            asked, then = self._node(condition), self._node(body)
            first = first or asked
            statuses += [asked, then]
            proves = proves or then.proves or (asked.proves and then.ends == "nonzero")
        otherwise = Status() if node.otherwise is None else self._node(node.otherwise)
        asks = any(each.proves for each in statuses[::2])
        proves = proves or otherwise.proves or (asks and otherwise.ends == "nonzero")
        if proves:
            return Status(proves=True, ends="either", name="if")
        if not asks:
            return Status(why=next((each.why for each in reversed(statuses) if each.why is not None), None), name="if")
        name = first.name if first is not None else "if"
        return Status(why=say("status-hidden", f"no branch of the `if` fails where `{name}` does"), name="if")


def _both(status: Status, after: Status) -> Status:
    if status.ends == "nonzero":
        return status
    ends: Ends = after.ends if status.ends == "zero" else "either"
    if status.proves or after.proves:
        named = status if status.proves and not after.proves else after
        return replace(named, proves=True, ends="either", why=None, leaves=False, passes_on="")
    return replace(after, ends=ends, leaves=after.leaves and status.ends == "zero", why=_worse(status, after))


def _either(status: Status, after: Status) -> Status:
    if status.ends == "zero" or after.ends == "nonzero" or after.passes_on:
        return replace(status, leaves=False)
    if after.proves:
        return replace(status, leaves=False, proves=status.proves)
    text = f"`|| {after.name or '…'}` makes it pass whatever `{status.name}` says: leave it out"
    why = say("always-passes", text) if status.proves else _worse(status, after)
    return Status(ends="zero", why=why, name=after.name)


def _worse(status: Status, after: Status) -> Opinion | None:
    """Return what says most of two that prove nothing."""
    both = [each.why for each in (status, after) if each.why is not None]
    return next((each for each in both if each.slug != "proves-nothing"), both[-1] if both else None)
