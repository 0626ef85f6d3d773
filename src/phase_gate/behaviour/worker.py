"""Started as a program of its own in a room: finds functions, calls them, and makes inputs for them, as it is asked."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from phase_gate.behaviour.calling import (
    Caller,
    NotThereError,
    Target,
    find_target,
    import_module,
    is_async,
    is_stream,
    parameters_of,
)
from phase_gate.behaviour.forms import unpack
from phase_gate.behaviour.guarding import Guard, Limits, limit_memory, take_signals
from phase_gate.rooms.line import Line

#: The number of the socket.
VARIABLE = "PHASE_GATE_BEHAVIOUR"
#: Bytes that a call may need beyond what there is once the module is imported.
_MEMORY = 1 << 30


class Worker:
    def __init__(self, line: Line) -> None:
        self._line = line
        self._root: str = line.order["root"]
        self._guard = Guard()
        self._caller = Caller(self._guard)
        self._target: Target | None = None

    def run(self) -> None:
        self._line.send("ready")
        while (asked := self._line.hear()) is not None:
            kind = asked.pop("do")
            getattr(self, f"_{kind}")(**asked)

    def _open(self, *, file: str, names: list[str], function: str) -> None:
        self._guard.rest()
        try:
            module = import_module(self._root, file, names)
            self._target = find_target(module, function)
            parameters_of(self._target)
        except NotThereError as error:
            self._line.send("opened", problem=str(error))
            return
        self._line.send(
            "opened",
            problem="",
            way=self._target.way,
            is_async=is_async(self._target),
            is_stream=is_stream(self._target),
        )

    def _call(self, *, packed: str, times: int, cpu: float, wall: float, spelled: bool) -> None:
        assert self._target is not None, "opened first"
        limit_memory(_MEMORY)
        limits = Limits(cpu=cpu, wall=wall)
        outcomes = [self._caller.call(self._target, packed, limits, is_spelled=spelled) for _ in range(times)]
        self._line.send("called", outcomes=outcomes)

    def _equal(self, *, one: str, other: str) -> None:
        """Say whether two values are equal by their own `==`."""
        said: bool | None = None
        with contextlib.suppress(Exception):
            answer = unpack(one) == unpack(other)
            said = answer if isinstance(answer, bool) else None
        self._line.send("compared", said=said)

    def _make(self, *, number: int, examples: int, constants: list[dict[str, list[Any]]]) -> None:
        assert self._target is not None, "opened first"
        from phase_gate.behaviour.inputs import make_inputs

        try:
            make_inputs(self._target, self._judge, number=number, examples=examples, constants=constants)
        except NotThereError as error:
            self._line.send("made", problem=str(error))
        else:
            self._line.send("made", problem="")

    def _judge(self, packed: str) -> bool:
        self._line.send("input", packed=packed)
        answer = self._line.hear()
        if answer is None:
            os._exit(0)  # the one who judges is gone
        return bool(answer["differs"])


def main() -> None:
    line = Line.take(VARIABLE)
    assert line is not None, "started by the one who asks"
    sys.dont_write_bytecode = True
    sys.path[:0] = [os.path.normpath(os.path.join(line.order["root"], each)) for each in line.order["paths"]]
    take_signals()
    Worker(line).run()


if __name__ == "__main__":
    main()
