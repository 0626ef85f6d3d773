"""What a scripted model does: a table of steps, one for each time that the client asks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from phase_gate.values import Value, field


class Say(Value):
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


class Shell(Value):
    command: str


#: What the model does of its own accord.
Step = Say | Write | Edit | Shell


class Refusal(Value):
    """The server refuses the request, as the makers' server does it."""

    status: int
    kind: str
    message: str
    retry_after: int | None = None


class Breakdown(Value):
    """No answer (`hang`), half an answer (`cut`), or none that can be read (`garbage`)."""

    how: Literal["hang", "cut", "garbage"]


Fault = Refusal | Breakdown


class Call(Value):
    """A tool call in the client's own terms."""

    tool: str
    #: A mapping, or the text of a tool that takes no JSON.
    given: Mapping[str, Any] | str


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
