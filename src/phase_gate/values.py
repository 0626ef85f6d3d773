"""Frozen values: what a frozen dataclass is, made without generating code.

Pure. A dataclass writes and compiles its methods when its module is imported: four million instructions a class, on
top of the eighty that importing `dataclasses` takes. With some seventy values that was half of what a short run paid
for us, and most of what `phase-gate check` took. Here all values share their methods, and a value holds its fields in a
dictionary.
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

    def dataclass_transform(**_options):
        return lambda kind: kind


class _Factory:
    """A default that a factory creates for each value."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


class _WithMetadata:
    """A default, with further information about the field."""

    __slots__ = ("default", "metadata")

    def __init__(self, default: object, metadata: dict[str, Any]) -> None:
        self.default, self.metadata = default, metadata


#: Means that a field has no default.
MISSING: Any = object()


def field(*, default: Any = MISSING, default_factory: Callable[[], Any] | None = None, **metadata: Any) -> Any:
    """Give a field a default, or a factory that creates one for each value.

    :param metadata: information for readers of documents, such as `minimum=1`.
    """
    held = default if default_factory is None else _Factory(default_factory)
    return _WithMetadata(held, metadata) if metadata else held


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class _ValueType(type):
    """Collects the annotations and assignments of a class as fields and defaults."""

    def __new__(
        mcls, name: str, bases: tuple[_ValueType, ...], namespace: dict[str, Any], **_options: bool
    ) -> _ValueType:
        own = dict(namespace)
        defaults: dict[str, Any] = dict(bases[0]._defaults) if bases else {}
        metadata = dict(bases[0]._metadata) if bases else {}
        for each in namespace.get("__annotations__", ()):
            held: Any = own.pop(each, MISSING)
            if type(held) is _WithMetadata:
                held, metadata[each] = held.default, held.metadata
            defaults[each] = held
        # All at once: each attribute that a class gets later takes as long as several of these.
        own["_defaults"] = defaults
        own["_required"] = {each for each, held in defaults.items() if held is MISSING}
        own["_made"] = [(each, held.make) for each, held in defaults.items() if type(held) is _Factory]
        own["_metadata"] = metadata
        return super().__new__(mcls, name, bases, own)

    #: All fields in order, with their defaults; MISSING for those that have to be given.
    _defaults: dict[str, Any]
    _required: set[str]
    #: The fields with a factory.
    _made: list[tuple[str, Callable[[], Any]]]
    #: Further information about fields, from `field()`.
    _metadata: dict[str, dict[str, Any]]


#: Sets what `Value` itself refuses to set.
_put = object.__setattr__


class Value(metaclass=_ValueType):
    """Base of all values: `class Finding(Value):` with annotated fields; `kw_only=False` where order is plain.

    Type checkers ensure that fields are given by name elsewhere, each once.
    """

    if not TYPE_CHECKING:  # the type checker makes the constructor from the fields

        def __init__(self, *given: object, **named: object) -> None:
            kind = type(self)
            if given:
                named = {**dict(zip(kind._defaults, given, strict=False)), **named}
            held = {**kind._defaults, **named}
            if len(held) != len(kind._defaults):
                raise TypeError(f"{kind.__name__} has no field {min(named.keys() - kind._defaults.keys())!r}")
            if not named.keys() >= kind._required:
                raise TypeError(f"{kind.__name__}: {min(kind._required - named.keys())!r} is missing")
            for name, make in kind._made:
                if name not in named:
                    held[name] = make()
            _put(self, "__dict__", held)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} can't be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} can't be deleted")

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def __repr__(self) -> str:
        rows = ", ".join(f"{name}={held!r}" for name, held in self.__dict__.items())
        return f"{type(self).__qualname__}({rows})"


def fields(kind: type[Value]) -> tuple[str, ...]:
    """Return the names of a value's fields, in order."""
    return tuple(kind._defaults)


def without_defaults(value: Value) -> dict[str, Any]:
    """Return the fields that do not have their default values, as a dictionary."""
    defaults, kept = type(value)._defaults, {}
    for name, held in value.__dict__.items():
        default = defaults[name]
        if held is not default and held != (default.make() if type(default) is _Factory else default):
            kept[name] = held
    return kept


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


def metadata_of(kind: type[Value], name: str) -> dict[str, Any]:
    """Return the further information about a field, from `field()`."""
    return kind._metadata.get(name, {})


def as_dict(value: Value) -> dict[str, Any]:
    """Return the fields as a dictionary. Nested values stay values."""
    return dict(value.__dict__)


def replace(value: T, /, **changes: Any) -> T:
    """Return the value with some fields changed."""
    return type(value)(**{**value.__dict__, **changes})
