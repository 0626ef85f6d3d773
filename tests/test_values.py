"""Values: frozen, compared by what they hold; made without generating code."""

from __future__ import annotations

import copy
import pickle

import pytest

from phase_gate.values import Value, as_dict, field, metadata_of, replace


class Point(Value):
    """A place."""

    x: int
    y: int = 0
    names: list[str] = field(default_factory=list)


class Deep(Point):
    z: int = 3


class Pair(Value, kw_only=False):
    left: int
    right: str = "r"


def test_inherits_fields_and_defaults() -> None:
    assert as_dict(Deep(x=1)) == {"x": 1, "y": 0, "names": [], "z": 3}


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Point(), "Point: 'x' is missing"),  # type: ignore[call-arg]
        (lambda: Point(x=1, w=2), "Point has no field 'w'"),  # type: ignore[call-arg]
        (lambda: replace(Point(x=1), w=2), "Point has no field 'w'"),
    ],
)
def test_refuses_what_does_not_fit(make: object, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        make()  # type: ignore[operator]


def test_is_frozen() -> None:
    point = Point(x=1)
    with pytest.raises(AttributeError, match="Point is frozen: 'x' can't be set"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="Point is frozen: 'y' can't be deleted"):
        del point.y
    with pytest.raises(AttributeError, match="Point is frozen: 'w' can't be set"):
        point.w = 2


def test_compares_by_class_and_content() -> None:
    assert Pair(1, "a") == Pair(1, "a")
    assert Pair(1, "a") != Pair(2, "a")
    assert Deep(x=1) != Point(x=1)
    assert hash(Pair(1, "a")) == hash(Pair(1, "a"))
    assert repr(Pair(1, "a")) == "Pair(left=1, right='a')"


def test_replaces_copies_and_travels() -> None:
    point = Point(x=1, names=["a"])
    assert replace(point, x=2) == Point(x=2, names=["a"])
    assert copy.copy(point) == copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point


class Bounded(Point):
    w: int = field(default=2, minimum=1)
    more: list[str] = field(default_factory=list, or_one=True)


class MoreBounded(Bounded):
    v: int = 0


def test_a_field_may_be_told_more_than_its_default() -> None:
    made = MoreBounded(x=1)
    assert (made.w, made.more, made.more is Bounded(x=1).more) == (2, [], False)
    assert [metadata_of(MoreBounded, name) for name in ("w", "more", "v", "x")] == [
        {"minimum": 1},
        {"or_one": True},
        {},
        {},
    ]
