"""Our way to JSON reads and writes what the library does."""

from __future__ import annotations

import json
import math
import sys

import pytest

from phase_gate import plain_json

_VALUES: tuple[object, ...] = (
    None,
    True,
    0,
    -12,
    1.5,
    1e300,
    "",
    "text",
    'a "quoted" \\ text\n\x00\x1f\x7f',
    "\u00e9\u2028\U0001f600\ud800",
    [],
    {},
    [1, [2, [3, {"a": None}]]],
    {"b": 1, "a": [True, False, None], "\u00e9": "x"},
    {2: "a", None: "b", True: "c", 1.5: "d"},
    (1, 2),
)


@pytest.mark.parametrize("value", _VALUES, ids=lambda value: ascii(value)[:20])
def test_a_value_is_written_as_the_library_writes_it(value: object) -> None:
    assert plain_json.dumps(value) == json.dumps(value)
    assert plain_json.dumps(value, separators=(",", ":")) == json.dumps(value, separators=(",", ":"))
    assert plain_json.dumps(value, indent=1) == json.dumps(value, indent=1)


def test_options_are_the_librarys() -> None:
    value = {"b": [1], "a": {"d": 1, "c": 2}}
    assert plain_json.dumps(value, sort_keys=True) == json.dumps(value, sort_keys=True)
    assert plain_json.dumps({"a": {1}}, default=str) == '{"a": "{1}"}'
    assert plain_json.dumps([math.inf]) == "[Infinity]"
    with pytest.raises(ValueError, match="Out of range"):
        plain_json.dumps([math.inf], allow_nan=False)
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        plain_json.dumps({1})


@pytest.mark.parametrize(
    "text",
    [
        *(json.dumps(value) for value in _VALUES),
        *(json.dumps(value, indent=2) for value in _VALUES),
        " \t\r\n{} \n",
        '"\\ud83d\\ude00 \\/"',
        '{"a": 1, "a": 2}',
        "1E5",
        "-0.0",
        str(10**30),
    ],
)
def test_a_text_is_read_as_the_library_reads_it(text: str) -> None:
    assert plain_json.loads(text) == json.loads(text)
    assert plain_json.loads(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "[1,", "[1] x", "{} {}", "{'a': 1}", '{"a" 1}', "nul", "01", '"\n"', "\ufeff{}", "\u00a01"],
)
def test_what_is_no_json_is_refused_as_the_library_refuses_it(text: str) -> None:
    for loads in (json.loads, plain_json.loads):
        with pytest.raises(ValueError):
            loads(text)


def test_it_is_refused_without_the_library_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that agents ask do not import it, and its error is in it."""
    monkeypatch.delitem(sys.modules, "json.decoder")
    for text in ("{", "[1,", '"\n"'):
        with pytest.raises(ValueError):
            plain_json.loads(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ValueError, match="utf-8"):
        plain_json.loads(b'"\xff"')


def test_what_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(RecursionError):
        plain_json.loads("[" * 100_000)


def test_numbers_are_made_as_asked() -> None:
    def refuse(text: str) -> float:
        raise ValueError(text)

    loads = plain_json.make_loads(parse_float=refuse, parse_constant=refuse)
    assert loads("[1, true]") == [1, True]
    for text in ("1.5", "NaN", "[-Infinity]"):
        with pytest.raises(ValueError, match=r"1\.5|NaN|Infinity"):
            loads(text)


def test_without_the_interpreters_functions_the_library_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import _json

    monkeypatch.delattr(_json, "make_scanner")
    monkeypatch.delattr(_json, "make_encoder")
    assert plain_json.make_loads()(b' {"a": 1.5}') == {"a": 1.5}
    assert plain_json._make_dumps() is json.dumps
