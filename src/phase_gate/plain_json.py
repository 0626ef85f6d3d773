"""JSON as text and back, as `json` has it, without importing that: it compiles six expressions first.

The same functions of the interpreter do the work, taken when this module is loaded: what a test leaves patched does not
reach them. What they do not do, such as indenting, is left to the library; all of it is, where they are not there.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: What JSON takes for space.
_SPACE = " \t\n\r"
_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def _refuse(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


class _Reading:
    """How values are read, as the scanner asks for it."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_int = int

    def __init__(self, parse_float: Callable[[str], Any], parse_constant: Callable[[str], Any]) -> None:
        self.parse_float, self.parse_constant = parse_float, parse_constant


def make_loads(
    parse_float: Callable[[str], Any] = float, parse_constant: Callable[[str], Any] = _CONSTANTS.__getitem__
) -> Callable[[str | bytes], Any]:
    """Return what reads a text, or its bytes. It raises ValueError or RecursionError where that can't be read.

    :param parse_float: makes a number of its digits.
    :param parse_constant: makes a value of `NaN`, `Infinity` or `-Infinity`.
    """
    try:
        from _json import make_scanner

        scan: Callable[[str, int], tuple[Any, int]] = make_scanner(_Reading(parse_float, parse_constant))  # type: ignore[arg-type]
    except (ImportError, AttributeError, TypeError):
        from json import JSONDecoder

        decode = JSONDecoder(parse_float=parse_float, parse_constant=parse_constant).decode
        return lambda text: decode(text if isinstance(text, str) else text.decode())

    def read(text: str | bytes) -> Any:
        if not isinstance(text, str):
            text = text.decode()
        try:
            value, end = scan(text, len(text) - len(text.lstrip(_SPACE)))
        except StopIteration as error:
            raise ValueError(f"no JSON at character {error.value}") from None
        except SystemError:
            # Where the library's own error is not imported, Python 3.11 has none to raise.
            raise ValueError("no JSON") from None
        if end != len(text) and text[end:].strip(_SPACE):
            raise ValueError(f"more than one JSON value, at character {end}")
        return value

    return read


loads = make_loads()


def _make_dumps() -> Callable[..., str]:
    try:
        from _json import encode_basestring_ascii, make_encoder

        make_encoder({}, _refuse, encode_basestring_ascii, None, ": ", ", ", False, False, True)
    except (ImportError, TypeError):
        from json import dumps

        return dumps

    def write(
        value: object,
        *,
        indent: int | None = None,
        sort_keys: bool = False,
        separators: tuple[str, str] | None = None,
        allow_nan: bool = True,
        default: Callable[[Any], Any] = _refuse,
    ) -> str:
        if indent is not None:
            from json import dumps

            return dumps(value, indent=indent, sort_keys=sort_keys, separators=separators, allow_nan=allow_nan)
        if isinstance(value, str):
            return encode_basestring_ascii(value)
        item, key = separators or (", ", ": ")
        encode = make_encoder({}, default, encode_basestring_ascii, None, key, item, sort_keys, False, allow_nan)
        return "".join(encode(value, 0))

    return write


dumps = _make_dumps()
