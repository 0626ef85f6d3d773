"""Our end of the talk with the workers: processes in rooms that call one function, or make inputs for it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phase_gate.behaviour.choosing import Constants
from phase_gate.behaviour.guarding import Limits
from phase_gate.behaviour.places import Place
from phase_gate.behaviour.worker import VARIABLE
from phase_gate.codec import spell_out_each
from phase_gate.rooms.conversation import SilentError, Talk
from phase_gate.rooms.room import Room, Visit, talk_in_room

#: What must not reach the code in a room: it is no run of any task.
_OURS = "PHASE_GATE_"
#: Seconds that a worker has to start and to import a module, and for what it says beyond a call.
_START, _GRACE = 60.0, 5.0
_NO_START = "Python does not start in the room"


class Asked:
    """One process in a room; it is started when it is asked for the first time, and again where it had to be ended."""

    def __init__(self, room: Room, paths: tuple[str, ...], *, seed: int = 0) -> None:
        """Take a room.

        :param paths: folders that modules are looked for in, from the root.
        :param seed: of the order of sets and of hashes.
        """
        self._room, self._paths, self._seed = room, paths, seed
        self._stack = contextlib.ExitStack()
        self._talk: Talk | None = None
        self._place: Place | None = None
        #: What is known of the function that is open.
        self.opened: Mapping[str, Any] = {}
        #: It did not start: it would not the next time.
        self._is_lost = False
        #: Why no more inputs could be made.
        self.problem = ""

    def close(self) -> None:
        """End the process, whatever it does."""
        self._stack.close()
        self._talk = self._place = None

    def open(self, place: Place) -> str:
        """Get a function ready; return why that is not possible, empty if it is."""
        if self._place == place and self._talk is not None:
            return str(self.opened["problem"])
        if self._is_lost:
            return _NO_START
        try:
            talk = self._start()
        except SilentError:
            self._is_lost = True
            self.close()
            return _NO_START
        try:
            talk.say(do="open", file=place.file, names=list(place.modules), function=place.function)
            self.opened = talk.hear(_START)
        except SilentError as error:
            self.close()
            why = "takes too long" if error.is_late else "ends the process"
            return f"to import {place.modules[0]} {why}"
        self._place = place
        return str(self.opened["problem"])

    def say_call(self, packed: str, limits: Limits, *, times: int = 1, is_spelled: bool = False) -> None:
        """Ask for calls with an input; `hear_call` has to follow."""
        with contextlib.suppress(SilentError):  # that is heard soon enough
            self._ready().say(
                do="call", packed=packed, times=times, cpu=limits.cpu, wall=limits.wall, spelled=is_spelled
            )

    def hear_call(self, limits: Limits, *, times: int = 1) -> list[dict[str, Any]]:
        """Return what came of the calls. A process that did not answer is ended, and there again for the next one."""
        try:
            answer = self._ready().hear(limits.wall * times + _GRACE)
        except SilentError as error:
            self._again()
            return [{"ended": "late" if error.is_late else "died"}] * times
        outcomes: list[dict[str, Any]] = answer["outcomes"]
        return outcomes

    def are_equal(self, one: str, other: str) -> bool | None:
        """Return whether two pickled values are equal there; None: that can't be told."""
        try:
            talk = self._ready()
            talk.say(do="equal", one=one, other=other)
            answer: bool | None = talk.hear(_GRACE)["said"]
        except SilentError:
            self._again()
            return None
        return answer

    def make(self, *, number: int, examples: int, constants: Iterable[Constants], patience: float) -> Iterator[str]:
        """Yield inputs, each to be answered with `judge`; `problem` then says why there are none. Raises SilentError.

        :param patience: seconds that may go by between two inputs.
        """
        talk = self._ready()
        talk.say(do="make", number=number, examples=examples, constants=spell_out_each(constants))
        while True:
            answer = talk.hear(patience)
            if answer["kind"] == "made":
                self.problem = answer["problem"]
                return
            yield answer["packed"]

    def judge(self, *, differs: bool) -> None:
        self._ready().say(differs=differs)

    def _ready(self) -> Talk:
        if self._talk is None:
            raise SilentError(is_late=False)
        return self._talk

    def _again(self) -> None:
        place = self._place
        self.close()
        if place is not None:
            self.open(place)

    def _start(self) -> Talk:
        if self._talk is None:
            environment = {name: text for name, text in os.environ.items() if not name.startswith(_OURS)}
            visit = Visit(
                command=(sys.executable, "-P", "-m", "phase_gate.behaviour.worker"),
                arguments=(),
                order={"paths": list(self._paths)},
                variable=VARIABLE,
                environment={**environment, "PYTHONHASHSEED": str(self._seed), "PYTHONDONTWRITEBYTECODE": "1"},
                timeout=_START,
            )
            self._talk = self._stack.enter_context(talk_in_room(self._room, visit))
        return self._talk
