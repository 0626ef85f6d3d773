"""Compare two answers: forms of what was returned, of what became of the arguments, and what was printed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.behaviour.forms import ITEMS, ITERATOR, OBJECT, OTHER, PAIRS, UNORDERED, Form
from phase_gate.values import Literal

#: In what two answers differ.
Kind = Literal["value", "type", "raises", "arguments", "output", "hangs", "dies"]

#: Tells whether two pickled values are equal by their own `==`; None: that can't be told.
Ask = Callable[[str, str], bool | None]

#: An answer of a worker.
Outcome = Mapping[str, Any]

#: What an answer of the code as it was says nothing with: there is less memory, or a deeper stack, elsewhere.
_NO_ANSWER = frozenset({"MemoryError", "RecursionError"})


def is_answer(outcome: Outcome) -> bool:
    """Tell whether the code as it was has given an answer that has to be kept."""
    return outcome["ended"] == "returned" or (outcome["ended"] == "raised" and outcome["raised"] not in _NO_ANSWER)


def find_difference(then: Outcome, now: Outcome, ask: Ask, *, only_answers: bool = False) -> Kind | None:
    """Return in what two answers differ; None: in nothing.

    :param only_answers: what is printed, and what becomes of the arguments, does not count.
    """
    if now["ended"] == "late":
        return "hangs"
    if now["ended"] == "died":
        return "dies"
    if then["ended"] != now["ended"] or then.get("raised") != now.get("raised"):
        return "raises"
    if then["ended"] == "returned" and not are_same(then["value"], now["value"], ask):
        return "value" if _type_of(then["value"]) == _type_of(now["value"]) else "type"
    if only_answers:
        return None
    if not are_same(then["arguments"], now["arguments"], ask):
        return "arguments"
    return "output" if then["output"] != now["output"] else None


def _type_of(form: Form) -> str:
    return str(form[1])


def are_same(one: Form, other: Form, ask: Ask) -> bool:
    """Tell whether two forms stand for equal values of the same types."""
    if one == other:
        return True
    if one[:2] != other[:2]:
        return False
    kind = one[0]
    if kind in (ITEMS, UNORDERED):
        return _same_items(one[2], other[2], ask)
    if kind == PAIRS:
        return _same_items([each[0] for each in one[2]], [each[0] for each in other[2]], ask) and _same_items(
            [each[1] for each in one[2]], [each[1] for each in other[2]], ask
        )
    if kind == OBJECT:
        return _same_attributes(dict(one[2]), dict(other[2]), ask)
    if kind == ITERATOR:
        return bool(one[3] == other[3]) and _same_items(one[2], other[2], ask)
    return kind == OTHER and _same_others(one, other, ask)


def _same_items(ones: list[Form], others: list[Form], ask: Ask) -> bool:
    return len(ones) == len(others) and all(are_same(one, other, ask) for one, other in zip(ones, others, strict=True))


def _same_attributes(one: Mapping[str, Form], other: Mapping[str, Form], ask: Ask) -> bool:
    names = one.keys() | other.keys()
    # What is private may be called otherwise by now, or be gone: that is what refactoring is for.
    public = {name for name in names if not name.startswith("_")}
    both = one.keys() & other.keys()
    return public <= both and all(are_same(one[name], other[name], ask) for name in both)


def _same_others(one: Form, other: Form, ask: Ask) -> bool:
    _, _, packed, shown, public = one
    _, _, packed_other, shown_other, public_other = other
    if packed and packed == packed_other:
        return True
    said = ask(packed, packed_other) if packed and packed_other else None
    if said is not None:
        return said
    return bool(shown == shown_other) and _same_attributes(dict(public), dict(public_other), ask)
