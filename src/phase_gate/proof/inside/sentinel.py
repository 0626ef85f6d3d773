"""The value that an emptied function returns. No test can expect it, and using it does not raise.

A test that checks it fails by its own check, not by an error on the way. Emptied sources import it in sandboxes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any


class Nothing:
    """Equals no value, is empty, and returns itself from operators, calls and attributes."""

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
            raise AttributeError(name)  # protocols must not seem to be implemented
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


#: The first is false as a condition, the second is true: `assert not f()` notices only the second.
FALSE, TRUE = Nothing(), Nothing(is_true=True)


def spoil(given: Mapping[str, Any]) -> Any:
    """Modify all arguments as far as possible, which no function should do, and return FALSE."""
    for value in given.values():
        # Some values can't be modified this way.
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
