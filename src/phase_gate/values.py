"""Frozen values with slots: what a frozen dataclass is, made without generating code.

Pure. A dataclass writes and compiles its methods when its module is imported: four million instructions a class, on
top of the eighty that importing `dataclasses` takes. With some seventy values that was half of what a short run paid
for us, and most of what `phase-gate check` took. Here all values share their methods; making one is a little slower,
which does not matter where there are some hundred of them and not some hundred thousand.
"""

from __future__ import annotations

from collections.abc import Callable

#: As type checkers know it: importing `typing` for it would take a fourth of what an interpreter takes to start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform
    from typing import Literal as Literal

    T = TypeVar("T", bound="Value")
else:

    class Literal:
        """What `typing.Literal` is where nothing but its choices is asked for, by `get_args` or as `__args__`."""

        __class_getitem__ = classmethod(type(list[int]))

    def dataclass_transform(**_told):
        return lambda kind: kind


class _Factory:
    """A default that a factory creates for each value."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


class _Told:
    """A default, with further information about the field."""

    __slots__ = ("default", "told")

    def __init__(self, default: object, told: dict[str, Any]) -> None:
        self.default, self.told = default, told


#: Means that a field has no default.
MISSING: Any = object()


def field(*, default: Any = MISSING, default_factory: Callable[[], Any] | None = None, **told: Any) -> Any:
    """Give a field a default, or a factory that creates one for each value.

    :param told: information for readers of documents, such as `minimum=1`.
    """
    held = default if default_factory is None else _Factory(default_factory)
    return _Told(held, told) if told else held


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class _ValueType(type):
    """Turns the annotations of a class into slots and its assignments into defaults."""

    def __new__(
        mcls, name: str, bases: tuple[_ValueType, ...], namespace: dict[str, Any], *, kw_only: bool = True
    ) -> _ValueType:
        names = tuple(namespace.get("__annotations__", ()))
        before, inherited = (bases[0]._fields, bases[0]._defaults) if bases else ((), {})
        own = dict(namespace)
        defaults = {each: own.pop(each) for each in names if each in own}
        told = {each: held for each, held in defaults.items() if type(held) is _Told}
        defaults |= {each: held.default for each, held in told.items()}
        if told:
            defaults = {each: held for each, held in defaults.items() if held is not MISSING}
        fields = (*before, *names)
        # All at once: each attribute that a class gets later takes as long as a slot.
        own["__slots__"] = names
        own["_fields"] = fields
        own["_defaults"] = {**inherited, **defaults} if inherited else defaults
        own["_told"] = {**(bases[0]._told if bases else {}), **{each: held.told for each, held in told.items()}}
        own["_by_place"] = () if kw_only else fields
        return super().__new__(mcls, name, bases, own)

    _fields: tuple[str, ...]
    _defaults: dict[str, Any]
    #: Further information about fields, from `field()`.
    _told: dict[str, dict[str, Any]]
    #: The fields that may be given without their names.
    _by_place: tuple[str, ...]


class Value(metaclass=_ValueType):
    """Base of all values: `class Finding(Value):` with annotated fields; `kw_only=False` where order is plain."""

    if not TYPE_CHECKING:  # the type checker makes the constructor from the fields

        def __init__(self, *given: object, **named: object) -> None:
            kind = type(self)
            if given:
                named = _name_them(kind, given, named)
            defaults = kind._defaults
            for name, put in _SETTERS.get(kind) or _make_setters(kind):
                if name in named:
                    put(self, named.pop(name))
                elif name in defaults:
                    default = defaults[name]
                    put(self, default.make() if type(default) is _Factory else default)
                else:
                    raise TypeError(f"{kind.__name__}: {name!r} is missing")
            if named:
                raise TypeError(f"{kind.__name__} has no field {min(named)!r}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} can't be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} can't be deleted")

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self)._fields)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in type(self)._fields))

    def __repr__(self) -> str:
        rows = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self)._fields)
        return f"{type(self).__qualname__}({rows})"

    def __reduce__(self) -> tuple[object, ...]:
        return _remake, (type(self), as_dict(self))


def fields(kind: type[Value]) -> tuple[str, ...]:
    """Return the names of a value's fields, in order."""
    return kind._fields


def has_default(value: Value, name: str) -> bool:
    """Return whether a field has its default value."""
    default, held = default_of(type(value), name), getattr(value, name)
    return held is default or bool(held == default)


def default_of(kind: type[Value], name: str) -> Any:
    """Return the default of a field; MISSING without one."""
    default = kind._defaults.get(name, MISSING)
    return default.make() if type(default) is _Factory else default


def annotation_of(kind: type[Value], name: str) -> tuple[str, str]:
    """Return the annotation of a field as written, and the name of its module."""
    for each in kind.__mro__:
        text = vars(each).get("__annotations__", {}).get(name)
        if text is not None:
            return text, each.__module__
    raise KeyError(name)


def told_about(kind: type[Value], name: str) -> dict[str, Any]:
    """Return the further information about a field, from `field()`."""
    return kind._told.get(name, {})


def as_dict(value: Value) -> dict[str, Any]:
    """Return the fields as a dictionary. Nested values stay values."""
    return {name: getattr(value, name) for name in type(value)._fields}


def replace(value: T, /, **changes: Any) -> T:
    """Return the value with some fields changed."""
    return type(value)(**{**as_dict(value), **changes})


#: Made with the first value: of many classes a start makes none. Not in the class, which stays as it is.
_SETTERS: dict[type, tuple[tuple[str, Callable[[object, object], None]], ...]] = {}


def _make_setters(kind: _ValueType) -> tuple[tuple[str, Callable[[object, object], None]], ...]:
    made = _SETTERS[kind] = tuple([(each, getattr(kind, each).__set__) for each in kind._fields])
    return made


def _remake(kind: type[T], named: dict[str, Any]) -> T:
    return kind(**named)


def _name_them(kind: _ValueType, given: tuple[object, ...], named: dict[str, object]) -> dict[str, object]:
    names = kind._by_place
    if len(given) > len(names):
        raise TypeError(f"{kind.__name__} takes {len(names)} fields by place, {len(given)} were given")
    twice = set(names[: len(given)]) & named.keys()
    if twice:
        raise TypeError(f"{kind.__name__}: {min(twice)!r} is given twice")
    return {**dict(zip(names, given, strict=False)), **named}
