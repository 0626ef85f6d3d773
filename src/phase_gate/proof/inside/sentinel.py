"""The value that an emptied function returns: no test can want it, and using it raises nothing by itself.

A test that looks at it fails by its own check, not by an accident in between. Loaded in sandboxes by emptied sources.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any


class Nothing:
    """Equal to nothing, empty, and whatever is asked of it gives it again."""

    __slots__ = ("_is_true",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *, is_true: bool = False) -> None:
        self._is_true = is_true

    def __repr__(self) -> str:
        return "<what an emptied function returns>"

    def __bool__(self) -> bool:
        return self._is_true

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # protocols ask for these, and must not find what is not there
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __ne__(self, other: object) -> bool:
        return True

    def _deny(self, other: object) -> bool:
        return False

    def _give(self, *given: Any, **named: Any) -> Any:
        return self

    def __exit__(self, *details: Any) -> None:
        return None

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _deny
    __call__ = __getitem__ = __enter__ = __neg__ = __pos__ = __abs__ = __invert__ = __round__ = _give
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _give
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __or__ = __ror__ = __and__ = _give
    __rand__ = _give


#: As a condition, the one is false and the other true: `assert not f()` notices only the second.
FALSE, TRUE = Nothing(), Nothing(is_true=True)


def spoil(given: Mapping[str, Any]) -> Any:
    """Do what no function should: change whatever was given, as far as that can be. It answers nothing."""
    for value in given.values():
        # What can't be changed so is something else, or refuses.
        with contextlib.suppress(Exception):
            match value:
                case list():
                    value.append(TRUE)
                case dict():
                    value["spoiled"] = TRUE
                case set():
                    value.add("spoiled")
                case bytearray():
                    value += b"spoiled"
                case _:
                    for name in list(vars(value)):
                        setattr(value, name, TRUE)
    return FALSE
