"""Compare functions: call both versions of each with the same fresh inputs, each in a process and a room of its own.

A difference counts only if it can be seen again in new processes, and if the code as it was agrees with itself there.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.behaviour.asking import Asked
from phase_gate.behaviour.choosing import Constants
from phase_gate.behaviour.comparing import Kind, Outcome, are_same, find_difference, is_answer
from phase_gate.behaviour.forms import is_opaque
from phase_gate.behaviour.guarding import Limits
from phase_gate.behaviour.model import Against, Compared, Difference
from phase_gate.behaviour.places import Place
from phase_gate.behaviour.snippet import Called, write_test
from phase_gate.behaviour.spelling import shorten
from phase_gate.rooms.conversation import SilentError
from phase_gate.rooms.room import NoRoomError, Room
from phase_gate.values import Value, replace

#: Inputs for one function, unless its time is over before.
EXAMPLES = 200
#: Seconds for one function.
SECONDS = 10.0
#: Seconds of one call: of work, and in all. A second look has so many times as much.
LIMITS = Limits(cpu=1.0, wall=4.0)
_PATIENT = 3
#: Inputs that the code as it was answers twice: whether it agrees with itself is mostly seen at once.
_TWICE = 5
#: Inputs without an answer in time after which a function is left alone.
_MOST_LATE = 2
#: Seconds that may go by until the next input is made.
_PATIENCE = 30.0


class Question(Value):
    """Two functions that should give the same answers."""

    #: As it is shown.
    file: str
    name: str
    line: int
    #: The one that is right, and the one that is asked about.
    before: Place
    now: Place
    #: Inputs are made from the hints of the first one; else of the second.
    is_hinted_before: bool = True
    #: What stands in the functions, and in their modules.
    constants: tuple[Constants, ...] = ()
    against: Against = "before"
    oracle: str = ""


class Setting(Value):
    """Where functions are compared, and how long that may take."""

    #: With the code that is right, and with the code as it is now.
    before: Room
    now: Room
    #: Folders that modules are looked for in, from the root.
    paths: tuple[str, ...]
    seed: int = 0
    examples: int = EXAMPLES
    #: Seconds for one function, and in all.
    seconds: float = SECONDS
    total: float = 60.0
    limits: Limits = LIMITS


def compare_functions(
    questions: list[Question], setting: Setting, *, show: Callable[[str], None] = lambda text: None
) -> list[Compared]:
    """Return what came out, in the same order. It raises nothing for what a project does: then it says why."""
    with Bench(setting) as bench:
        found = []
        for number, question in enumerate(questions, start=1):
            show(f"behaviour: {question.name} ({number} of {len(questions)})")
            found.append(bench.compare(question))
        return found


class Bench:
    """The processes that are asked."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._deadline = time.monotonic() + setting.total
        self._stack = contextlib.ExitStack()
        self._before, self._now = self._ask(setting.before), self._ask(setting.now)
        #: Make inputs, from the hints of either side.
        self._makers = {True: self._ask(setting.before), False: self._ask(setting.now)}
        #: See nothing but the inputs for which there was a difference, with another order of sets.
        self._anew = self._ask(setting.before, seed=1), self._ask(setting.now, seed=1)

    def _ask(self, room: Room, *, seed: int = 0) -> Asked:
        asked = Asked(room, self._setting.paths, seed=seed)
        self._stack.callback(asked.close)
        return asked

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.close()

    def compare(self, question: Question) -> Compared:
        compared = Compared(
            file=question.file,
            name=question.name,
            line=question.line,
            against=question.against,
            oracle=question.oracle,
        )
        if time.monotonic() > self._deadline:
            return replace(compared, left_out="the time was over before", is_unreached=True)
        try:
            problem = self._open(question)
            if problem:
                return replace(compared, left_out=problem)
            search = _Search(question, self._before, self._now, self._ends_at(), self._setting.limits)
            problem = self._search(question, search)
            if problem or search.left_out:
                return replace(compared, left_out=search.left_out or problem)
            compared = replace(compared, inputs=search.inputs, is_cut=search.is_cut)
            if search.found is None:
                return compared
            return self._confirm(question, search.found, compared)
        except (NoRoomError, OSError) as error:
            return replace(compared, left_out=f"no room could be made: {error}")

    def _ends_at(self) -> float:
        return min(self._deadline, time.monotonic() + self._setting.seconds)

    def _open(self, question: Question) -> str:
        for asked, place, whose in (
            (self._before, question.before, "the oracle" if question.oracle else "before"),
            (self._now, question.now, "now"),
        ):
            problem = asked.open(place)
            if problem:
                return f"{whose}: {problem}"
        place = question.before if question.is_hinted_before else question.now
        return self._makers[question.is_hinted_before].open(place)

    def _search(self, question: Question, search: _Search) -> str:
        """Have inputs made and judged; return why none could be."""
        maker = self._makers[question.is_hinted_before]
        setting = self._setting
        try:
            for packed in maker.make(
                number=setting.seed, examples=setting.examples, constants=question.constants, patience=_PATIENCE
            ):
                maker.judge(differs=search.judge(packed))
        except SilentError as error:
            maker.close()
            if search.found is None:
                return "to make inputs takes too long" if error.is_late else "to make inputs ends the process"
        return maker.problem if not search.inputs and search.found is None else ""

    def _confirm(self, question: Question, found: _Found, compared: Compared) -> Compared:
        """Look again in processes that no other input of the function has reached, and with another order of sets."""
        before, now = self._anew
        problem = before.open(question.before) or now.open(question.now)
        if problem:
            return replace(compared, left_out=problem)
        once = self._setting.limits
        limits = Limits(cpu=once.cpu * _PATIENT, wall=once.wall * _PATIENT)
        then, present = _call_both(before, now, found.packed, limits, is_spelled=True)
        only_answers = question.against == "oracle"
        if find_difference(found.before, then, before.are_equal, only_answers=only_answers) is not None:
            return replace(compared, left_out="it is not deterministic: another process gets another answer")
        kind = find_difference(then, present, now.are_equal, only_answers=only_answers)
        if kind is None:
            return replace(compared, left_out="it depends on earlier calls: a new process gets the same answer")
        called = Called(
            module=question.now.modules[0],
            name=question.now.function,
            way=now.opened["way"],
            is_async=now.opened["is_async"],
            is_stream=now.opened["is_stream"],
        )
        written = write_test(called, kind, then, present)
        return replace(
            compared,
            difference=Difference(
                kind=kind,
                call=written.call,
                before=_tell(then, kind, limits),
                now=_tell(present, kind, limits),
                test=written.test,
            ),
        )


class _Found(Value):
    """An input for which two answers differ."""

    packed: str
    kind: Kind
    before: Mapping[str, Any]


class _Search:
    """Judges the inputs of one function; the last one that differs is the smallest."""

    def __init__(self, question: Question, before: Asked, now: Asked, ends_at: float, limits: Limits) -> None:
        self._question, self._before, self._now = question, before, now
        self._ends_at, self._limits = ends_at, limits
        #: What came out for an input; Hypothesis ends with the smallest one, once more.
        self._known: dict[str, _Found | None] = {}
        self._late = 0
        self._has_seen = False
        self.inputs = 0
        self.found: _Found | None = None
        self.is_cut = False
        #: Why the function is left alone.
        self._left_out = ""
        self._unusable = ""

    @property
    def left_out(self) -> str:
        if self._left_out:
            return self._left_out
        if self.found is not None:
            return ""
        if not self.inputs:
            return self._unusable
        return "" if self._has_seen else "what it returns can't be compared"

    def judge(self, packed: str) -> bool:
        if packed not in self._known:
            if self._left_out:
                return False
            if time.monotonic() > self._ends_at:
                self.is_cut = True
                return False
            self._known[packed] = self._compare(packed)
        found = self._known[packed]
        self.found = found or self.found
        return found is not None

    def _compare(self, packed: str) -> _Found | None:
        times = 2 if self.inputs < _TWICE else 1
        self._before.say_call(packed, self._limits, times=times)
        self._now.say_call(packed, self._limits)
        answers = self._before.hear_call(self._limits, times=times)
        (now,) = self._now.hear_call(self._limits)
        then = answers[0]
        if not self._is_usable(answers, now):
            return None
        self.inputs += 1
        self._has_seen |= then["ended"] == "raised" or not is_opaque(then["value"]) or bool(then["output"])
        kind = self._find(then, now)
        if kind is not None and times == 1:
            self._before.say_call(packed, self._limits)
            answers += self._before.hear_call(self._limits)
        if any(self._find(then, each) is not None for each in answers[1:]):
            self._left_out = "it is not deterministic: the same input has two answers"
            return None
        if kind is None:
            return None
        return _Found(packed=packed, kind=kind, before=then)

    def _find(self, then: Outcome, now: Outcome) -> Kind | None:
        return find_difference(then, now, self._now.are_equal, only_answers=self._question.against == "oracle")

    def _is_usable(self, answers: list[dict[str, Any]], now: Outcome) -> bool:
        """Tell whether an input says something: the code as it was has an answer to it, and both have got the same."""
        for each in (*answers, now):
            if each["ended"] == "refused":
                self._left_out = f"it {each['shown']}: that is not tried with made-up input"
                return False
        then = answers[0]
        if then["ended"] in ("late", "died"):
            self._late += 1
            self._unusable = "it takes too long" if then["ended"] == "late" else "it ends the process"
            if self._late >= _MOST_LATE and not self.inputs:
                self._left_out = self._unusable
            return False
        if "unusable" in (then["ended"], now["ended"]):
            whose = now if now["ended"] == "unusable" else then
            self._unusable = f"its arguments don't fit both versions: {whose['shown']}"
            return False
        if not is_answer(then):
            self._unusable = f"it only raises {then['raised']}"
            return False
        given = now.get("given")
        if given is not None and not are_same(then["given"], given, self._now.are_equal):
            self._unusable = "its arguments don't fit both versions: the same input is not equal in both"
            return False
        return True


def _call_both(
    before: Asked, now: Asked, packed: str, limits: Limits, *, is_spelled: bool
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    before.say_call(packed, limits, is_spelled=is_spelled)
    now.say_call(packed, limits, is_spelled=is_spelled)
    (then,) = before.hear_call(limits)
    (present,) = now.hear_call(limits)
    return then, present


def _tell(outcome: Mapping[str, Any], kind: Kind, limits: Limits) -> str:
    """Return an answer for people."""
    if outcome["ended"] == "late":
        return f"no answer within {limits.cpu:g} s"
    if outcome["ended"] == "died":
        return "the process ended"
    if kind == "output":
        return f"prints {outcome['output']!r}"
    if kind == "arguments":
        after = outcome["spelled_after"]
        named = [f"{name}={each['text']}" for name, each in after["named"].items()]
        return shorten(f"leaves {', '.join([*(each['text'] for each in after['given']), *named])}")
    return f"raises {outcome['shown']}" if outcome["ended"] == "raised" else str(outcome["shown"])
