"""What a scripted model does: a table of steps, one for each time that the client asks it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from phase_gate.values import Value, field


class Say(Value, kw_only=False):
    """It answers in words, and so ends its turn."""

    text: str


class Write(Value):
    """It writes a whole file."""

    path: str
    text: str


class Edit(Value):
    """It replaces a text in a file."""

    path: str
    old: str
    new: str


class Shell(Value, kw_only=False):
    command: str


#: What the model does of its own accord.
Step = Say | Write | Edit | Shell

#: What goes wrong instead of an answer: none comes, none that can be read, or the server refuses it: for want of a
#: login (401) or of credit (402), for too many requests (429), for it is overloaded (529).
Fault = Literal["hang", "garbage", "login", "credit", "rate", "overload"]


class Call(Value, kw_only=False):
    """A tool call in the client's own terms; in the table of a client with places for the words of a step."""

    tool: str
    #: A mapping, or the text of a tool that takes no JSON.
    given: Mapping[str, Any] | str


def words_of(step: Write | Edit | Shell, root: Path) -> dict[str, str]:
    """Return what stands in the places of a call."""
    if isinstance(step, Shell):
        return {"{command}": step.command}
    path = {"{path}": str(root / step.path)}
    if isinstance(step, Write):
        rows = "".join(f"+{row}\n" for row in step.text.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {step.path}\n{rows}*** End Patch\n"
        return {**path, "{text}": step.text, "{patch}": patch}
    rows = "".join(f"-{row}\n" for row in step.old.splitlines()) + "".join(f"+{row}\n" for row in step.new.splitlines())
    patch = f"*** Begin Patch\n*** Update File: {step.path}\n@@\n{rows}*** End Patch\n"
    return {**path, "{old}": step.old, "{new}": step.new, "{patch}": patch}


class Talk(Value):
    """What a request tells of the conversation so far."""

    #: How often the model has answered.
    turns: int
    #: What it was told since its last answer: by the user, by a hook, or as the result of a tool.
    told: tuple[str, ...]
    #: The tools that it may use; none in requests on the side (titles, summaries).
    tools: tuple[str, ...]
    #: What it was told before its first answer.
    begun: str = ""
    is_stream: bool = True
    model: str = ""


class Script(Value):
    """The steps in their order; the last one is repeated for as long as the model is asked."""

    steps: tuple[Step, ...]
    #: Other steps, by a text in the prompt: for a driver that starts the client again and again.
    by_prompt: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)
    #: By step, what happens before it is answered; one each time that the client asks. The last stays if `for_ever`.
    faults: Mapping[int, tuple[Fault, ...]] = field(default_factory=dict)
    for_ever: bool = False

    def step(self, talk: Talk) -> Step:
        steps = next((steps for text, steps in self.by_prompt.items() if text in talk.begun), self.steps)
        return steps[min(talk.turns, len(steps) - 1)]

    def fault(self, talk: Talk, asked: int) -> Fault | None:
        """Return what goes wrong with a request.

        :param asked: how often the same question was asked before.
        """
        faults = self.faults.get(talk.turns, ())
        if faults and self.for_ever:
            return faults[min(asked, len(faults) - 1)]
        return faults[asked] if asked < len(faults) else None
