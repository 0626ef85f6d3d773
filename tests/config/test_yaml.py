"""Strict YAML: what is read, what is refused and where, and that nothing else escapes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from phase_gate.config import yaml as yaml_text
from phase_gate.config.fields import Fields, scalar_value
from phase_gate.config.yaml import (
    MAX_DEPTH,
    YamlMapping,
    YamlNode,
    YamlScalar,
    YamlSequence,
    read_bytes,
    read_document,
    read_documents,
)
from phase_gate.errors import (
    ConfigurationError,
    CriteriaError,
    DocumentError,
    PhaseGateError,
    SignalError,
    WorkflowError,
)

LIMIT = 1024 * 1024


#: PyYAML's parsers, of which a project may have either: the pure one is always there, libyaml's mostly.
LOADERS = {"pure-python": yaml.SafeLoader, "libyaml": getattr(yaml, "CSafeLoader", None)}


@pytest.fixture(params=[name for name, loader in LOADERS.items() if loader is not None])
def any_loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with each of the parsers."""
    monkeypatch.setattr(yaml_text, "choose_loader", lambda: LOADERS[request.param])


def read(text: str | bytes) -> YamlNode:
    return read_document(text, name="file.yaml", limit=LIMIT)


def as_data(node: YamlNode) -> object:
    """Return the tree as lists, dicts and texts."""
    if isinstance(node, YamlMapping):
        return {key.text: as_data(value) for key, value in node.entries}
    if isinstance(node, YamlSequence):
        return [as_data(item) for item in node.items]
    return node.text


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("on: no\nyes: off", {"on": "no", "yes": "off"}, id="yaml-1.1-booleans-stay-text"),
        pytest.param("a: 1.10\nb: 007\nc: 1_000", {"a": "1.10", "b": "007", "c": "1_000"}, id="numbers-stay-text"),
        pytest.param("a: 2026-01-13\nb: 12:30:00", {"a": "2026-01-13", "b": "12:30:00"}, id="dates-stay-text"),
        pytest.param("a:\nb: ~\nc: null", {"a": "", "b": "~", "c": "null"}, id="nothing-stays-text"),
        pytest.param("[a, {b: [c]}]", ["a", {"b": ["c"]}], id="flow-style"),
        pytest.param("a: |\n  x\n  y\nb: >\n  x\n  y\n", {"a": "x\ny\n", "b": "x y\n"}, id="block-text"),
        pytest.param("{}", {}, id="an-empty-mapping-is-a-document"),
        pytest.param("'<<': a", {"<<": "a"}, id="a-quoted-merge-key-is-a-key"),
        pytest.param("\ufeffa: b", {"a": "b"}, id="a-byte-order-mark-is-no-fault"),
        pytest.param("a: b\r\nc: d\r\n", {"a": "b", "c": "d"}, id="windows-line-ends"),
        pytest.param("a: grün 🟢", {"a": "grün 🟢"}, id="any-language"),
        pytest.param("---\na: b\n...\n", {"a": "b"}, id="explicit-document-marks"),
    ],
)
def test_reads_texts(text: str, expected: object) -> None:
    assert as_data(read(text)) == expected
    assert as_data(read(text.encode())) == expected


@pytest.mark.usefixtures("any_loader")
def test_every_node_has_its_place() -> None:
    root = read("a: b\nlist:\n  - 'x'\n  - {k: v}\nempty:\n")
    assert isinstance(root, YamlMapping)
    (a, b), (_, items), (empty, nothing) = root.entries
    assert isinstance(items, YamlSequence)
    places = [(node.line, node.column) for node in (root, a, b, *items.items, empty, nothing)]
    assert places == [(1, 1), (1, 1), (1, 4), (3, 5), (4, 5), (5, 1), (5, 1)]
    assert isinstance(b, YamlScalar)
    assert b.is_plain
    assert isinstance(items.items[0], YamlScalar)
    assert not items.items[0].is_plain


@pytest.mark.usefixtures("any_loader")
def test_several_documents_come_in_order() -> None:
    documents = read_documents("a: 1\n---\nb: 2\n---\nc: 3\n", name="file.yaml", limit=LIMIT)
    assert [as_data(document) for document in documents] == [{"a": "1"}, {"b": "2"}, {"c": "3"}]
    assert [document.line for document in documents] == [1, 3, 5]


BOMB = "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\n"


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize(
    ("text", "place", "problem", "remedy"),
    [
        pytest.param("a: 1\nb: 2\na: 3", "3:1", "key 'a' again, first in line 1", "one of the two", id="duplicate-key"),
        pytest.param("x:\n  a: 1\n  a: 1", "3:3", "key 'a' again", "one of the two", id="duplicate-key-further-in"),
        pytest.param(BOMB, "1:4", "anchor &a", "write the value out", id="a-bomb-ends-at-its-first-anchor"),
        pytest.param("a: *b", "1:4", "alias *b", "in full", id="alias-without-anchor"),
        pytest.param("a: 1\nb: !!int 2", "2:4", "tag ", "take the tag out", id="standard-tag"),
        pytest.param("a: ! b", "1:4", "tag !", "take the tag out", id="tag-without-a-name"),
        pytest.param("? [a, b]\n: c", "1:3", "a key has to be a text", "plain word", id="list-as-key"),
        pytest.param("a:\n  <<: b", "2:3", "merge key <<", "write the merged keys out", id="merge-key"),
        pytest.param("a: 1\n---\nb: 2", "3:1", "a second document", "one document", id="second-document"),
        pytest.param("", "1:1", "the file is empty", "fill it", id="empty-file"),
        pytest.param("# only\n# comments\n", "1:1", "the file is empty", "fill it", id="only-comments"),
        pytest.param("%YAML 1.1\n---\na: b", "1:1", "directives", "line with %", id="directive"),
        pytest.param("a: b\n\tc: d", "2:1", "not YAML", "indent with spaces", id="tab-as-indentation"),
        pytest.param("a: b: c", "1:5", "not YAML: mapping values", "quotes", id="two-colons"),
        pytest.param("a: [1, 2\nb: 3", "2:", "not YAML", "mend", id="open-bracket"),
        pytest.param("a: @b", "1:4", "not YAML", "mend", id="reserved-indicator"),
        pytest.param("a: b\nc: d\x00e", "2:5", "the character U+0000", "UTF-8", id="nul"),
        pytest.param("a: \x1b[2Jb", "1:4", "the character U+001B", "UTF-8", id="escape-sequence"),
        pytest.param("# safe\u2028a: b", "1:7", "the character U+2028", "UTF-8", id="line-end-that-editors-hide"),
        pytest.param("a: \u202eb", "1:4", "the character U+202E", "UTF-8", id="text-that-runs-backwards"),
        pytest.param("a: \ud800", "1:4", "the character U+D800", "UTF-8", id="lone-surrogate"),
        pytest.param('a: "\\0"', "1:4", "the escape makes the character U+0000", "printable", id="escaped-nul"),
    ],
)
def test_refuses_with_place_and_remedy(text: str, place: str, problem: str, remedy: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(text)
    assert caught.value.problem.startswith(f"file.yaml:{place}")
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy
    assert caught.value.slug == "bad-yaml"


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param('a: "\\ud800"', id="escaped-surrogate"),
        pytest.param('a: "\\UFFFFFFFF"', id="escape-beyond-unicode"),
        pytest.param(f"%YAML 1.{'9' * 5000}\n---\na: b", id="version-of-5000-digits"),
        pytest.param("---\n---\na: b", id="empty-first-document"),
        pytest.param("a: b\n---\n", id="empty-last-document"),
        pytest.param("- " * 5000 + "a", id="5000-lists-in-one-line"),
        pytest.param("{" * 5000, id="5000-open-braces"),
        pytest.param("a" * 2000 + ": b: c", id="endless-key"),
    ],
)
def test_refuses_what_the_two_parsers_place_differently(text: str) -> None:
    with pytest.raises(DocumentError, match=r"^file\.yaml:\d+:\d+: ") as caught:
        read_documents(text, name="file.yaml", limit=LIMIT)
    assert caught.value.slug == "bad-yaml"


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        pytest.param(b"a: b\nc: gr\xfcn", "2:6", "not UTF-8", id="latin-1"),
        pytest.param(b"\xff\xfea\x00:\x00 \x00b\x00", "1:1", "not UTF-8", id="utf-16-little-endian"),
        pytest.param(b"\x7fELF\x02\x01\x01\x00", "1:1", "U+007F", id="a-program"),
        pytest.param(b"a: \xed\xa0\x80", "1:4", "not UTF-8", id="surrogate-in-utf-8"),
    ],
)
def test_refuses_binary(content: bytes, place: str, problem: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(content)
    assert caught.value.problem.startswith(f"file.yaml:{place}: ")
    assert problem in caught.value.problem
    assert caught.value.slug == "bad-yaml"


@pytest.mark.parametrize(
    ("text", "limit", "is_read"),
    [
        pytest.param("a: " + "b" * 97, 100, True, id="exactly-the-limit"),
        pytest.param("a: " + "b" * 98, 100, False, id="one-byte-more"),
        pytest.param("a: " + "ü" * 49, 100, False, id="bytes-count-not-characters"),
        pytest.param("a: " + "b" * 10_000_000, LIMIT, False, id="ten-megabytes"),
    ],
)
def test_size_limit(text: str, limit: int, is_read: bool) -> None:
    for content in (text, text.encode()):
        if is_read:
            read_document(content, name="file.yaml", limit=limit)
            continue
        with pytest.raises(DocumentError, match=rf"^file\.yaml:1:1: bigger than {limit} bytes") as caught:
            read_document(content, name="file.yaml", limit=limit)
        assert caught.value.slug == "bad-yaml"


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize(
    "nest",
    [
        pytest.param(lambda depth: "[" * depth + "]" * depth, id="lists"),
        pytest.param(lambda depth: "{a: " * depth + "b" + "}" * depth, id="mappings"),
        pytest.param(lambda depth: "\n".join(" " * level + "a:" for level in range(depth)), id="indentation"),
    ],
)
def test_depth_limit(nest: Callable[[int], str]) -> None:
    read(nest(MAX_DEPTH))
    with pytest.raises(DocumentError, match=r"^file\.yaml:\d+:\d+: nested deeper than 32 levels") as caught:
        read(nest(MAX_DEPTH + 1))
    assert caught.value.slug == "bad-yaml"
    with pytest.raises(DocumentError, match="nested deeper"):
        read(nest(400))


@pytest.mark.processes
def test_yaml_is_imported_by_the_first_reader_only() -> None:
    code = (
        "import sys; from phase_gate.config import configuration, files, workflow;"
        "from phase_gate.config import yaml as yaml_text;"
        "assert 'yaml' not in sys.modules, 'too early';"
        "yaml_text.read_document('a: b', name='n', limit=9); assert 'yaml' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Files


#: Windows has no named pipes in its folders. Elsewhere nobody may wait at one.
PIPES = [pytest.param(os.mkfifo, "f: this is not a regular file", id="named-pipe")] if hasattr(os, "mkfifo") else []


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        pytest.param(lambda path: None, "f: there is no such file", id="absent"),
        pytest.param(lambda path: path.mkdir(), "f: this is a folder", id="folder"),
        pytest.param(lambda path: path.symlink_to("nowhere"), "f: there is no such file", id="dangling-link"),
        pytest.param(lambda path: path.symlink_to(path), "f: can't be read", id="link-to-itself"),
        *PIPES,
    ],
)
def test_refuses_what_is_no_file(tmp_path: Path, make: Callable[[Path], None], problem: str) -> None:
    make(tmp_path / "f")
    with pytest.raises(CriteriaError) as caught:
        read_bytes(tmp_path / "f", name="f", limit=10, error=CriteriaError)
    assert caught.value.problem.startswith(problem)
    assert caught.value.slug == "bad-criteria"


# Fields


def fields_of(text: str, error: type[PhaseGateError] = WorkflowError) -> Fields:
    return Fields(read(text), file="file.yaml", error=error)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1", 1, id="integer"),
        pytest.param("-3", -3, id="negative"),
        pytest.param("1.10", 1.1, id="float"),
        pytest.param("1e3", 1000.0, id="exponent"),
        pytest.param(".5", 0.5, id="no-leading-digit"),
        pytest.param("true", True, id="true"),
        pytest.param("False", False, id="yaml-1.2-allows-a-capital"),
        pytest.param("on", "on", id="on-is-a-text"),
        pytest.param("null", None, id="null"),
        pytest.param("2026-01-13", "2026-01-13", id="date-is-a-text"),
        pytest.param("1_000", "1_000", id="underscores-make-a-text"),
        pytest.param("0x10", "0x10", id="hexadecimal-is-a-text"),
        pytest.param(".nan", ".nan", id="not-a-number-is-a-text"),
        pytest.param(".", ".", id="a-dot-is-a-text"),
        pytest.param("١", "١", id="foreign-digits-are-a-text"),
        pytest.param("'1'", "1", id="quotes-make-a-text"),
        pytest.param('"true"', "true", id="quoted-boolean-is-a-text"),
    ],
)
def test_value_by_its_look(text: str, expected: object) -> None:
    value = fields_of(f"k: {text}").value("k")
    assert (type(value), value) == (type(expected), expected)


READERS: dict[str, Callable[[Fields], object]] = {
    "text": lambda fields: fields.text("k"),
    "boolean": lambda fields: fields.boolean("k"),
    "integer": lambda fields: fields.integer("k", minimum=1),
    "number": lambda fields: fields.number("k", minimum=0),
    "value": lambda fields: fields.value("k"),
    "choice": lambda fields: fields.choice("k", ("any", "first")),
    "list": lambda fields: fields.text_list("k"),
    "list_or_one": lambda fields: fields.text_list("k", or_one=True),
    "mapping": lambda fields: fields.mapping("k").text("inner"),
}


@pytest.mark.parametrize(
    ("reader", "text", "expected"),
    [
        pytest.param("text", "k: 1.10", "1.10", id="a-text-may-look-like-a-number"),
        pytest.param("text", "k: on", "on", id="a-text-may-look-like-a-switch"),
        pytest.param("boolean", "k: true", True, id="boolean"),
        pytest.param("integer", "k: 7", 7, id="integer"),
        pytest.param("number", "k: 7", 7, id="a-whole-number-is-a-number"),
        pytest.param("number", "k: 0.5", 0.5, id="number"),
        pytest.param("choice", "k: 'first'", "first", id="choice-in-quotes"),
        pytest.param("list", "k: [a, 1, no]", ("a", "1", "no"), id="list-of-texts"),
        pytest.param("list", "k: []", (), id="empty-list"),
        pytest.param("list_or_one", "k: a", ("a",), id="one-text-for-a-list"),
        pytest.param("mapping", "k: {inner: x}", "x", id="mapping"),
    ],
)
def test_typed_reading(reader: str, text: str, expected: object) -> None:
    assert READERS[reader](fields_of(text)) == expected


@pytest.mark.parametrize(
    ("reader", "text", "place", "problem", "remedy"),
    [
        pytest.param("text", "a: b", "1:1", "the key 'k' is missing", "add it", id="missing"),
        pytest.param("text", "a: b\nk:", "2:1", "k has no value", "quotes", id="text-of-nothing"),
        pytest.param("text", "k: '  '", "1:4", "k is blank", "give it a text", id="blank-text"),
        pytest.param("text", "k: [a]", "1:4", "k has to be a text, not a list", "one text", id="list-for-text"),
        pytest.param("boolean", "k: yes", "1:4", "has to be a boolean, not 'yes'", "true or false", id="yes"),
        pytest.param("boolean", "k: 'true'", "1:4", "has to be a boolean", "without quotes", id="quoted-true"),
        pytest.param("boolean", "k:", "1:1", "not nothing", "true or false", id="boolean-of-nothing"),
        pytest.param("boolean", "k: [true]", "1:4", "one value, not a list", "one number", id="list-for-boolean"),
        pytest.param("integer", "k: 1.5", "1:4", "whole number", "digits", id="fraction-for-integer"),
        pytest.param("integer", "k: '5'", "1:4", "whole number", "without quotes", id="quoted-integer"),
        pytest.param("integer", "k: 0", "1:4", "k can't be 0", "1 or more", id="below-the-minimum"),
        pytest.param("integer", "k: 010", "1:4", "leading zero", "quotes", id="octal-or-decimal"),
        pytest.param("integer", f"k: {'9' * 5000}", "1:4", "too big", "shorter", id="5000-digits"),
        pytest.param("number", "k: 1e999", "1:4", "too big", "shorter", id="infinity"),
        pytest.param("number", "k: -1", "1:4", "k can't be -1", "0 or more", id="negative-number"),
        pytest.param("value", "k: {}", "1:4", "one value, not a mapping", "one number", id="mapping-for-value"),
        pytest.param("choice", "k: frist", "1:4", "k can't be 'frist'", "first, any", id="closest-choice-first"),
        pytest.param("choice", "k: Any", "1:4", "k can't be 'Any'", "any", id="choices-have-one-spelling"),
        pytest.param("list", "k: a", "1:4", "k has to be a list, not 'a'", "[one, two]", id="text-for-list"),
        pytest.param("list", "k:\n- a\n- [b]", "3:3", "an item of k", "one text", id="list-in-list"),
        pytest.param("list_or_one", "k: {}", "1:4", "has to be a list, not a mapping", "[one", id="mapping-for-list"),
        pytest.param("mapping", "k: a", "1:4", "k has to be a mapping, not 'a'", "key: value", id="text-for-mapping"),
        pytest.param("mapping", "k: {a: b}", "1:4", "the key 'inner' is missing in k", "add it", id="path-in-words"),
    ],
)
def test_typed_reading_refuses(reader: str, text: str, place: str, problem: str, remedy: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        READERS[reader](fields_of(text))
    assert caught.value.problem.startswith(f"file.yaml:{place}: ")
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy
    assert caught.value.slug == "bad-workflow"


@pytest.mark.parametrize(
    ("error", "slug"),
    [
        pytest.param(WorkflowError, "bad-workflow", id="workflow"),
        pytest.param(ConfigurationError, "bad-configuration", id="configuration"),
        pytest.param(SignalError, "bad-signal", id="signal"),
        pytest.param(CriteriaError, "bad-criteria", id="criteria"),
    ],
)
def test_unknown_key_names_the_known_ones(error: type[PhaseGateError], slug: str) -> None:
    fields = fields_of("reason: a\nphsae: b", error)
    for key in ("reason", "task", "phase"):
        fields.text(key, None)
    with pytest.raises(error) as caught:
        fields.finish()
    assert caught.value.problem == "file.yaml:2:1: unknown key 'phsae'"
    assert caught.value.remedy == "use one of: phase, reason, task"
    assert caught.value.slug == slug


@given(st.text(st.sampled_from("0123456789.eE+-_xo"), max_size=30))
def test_whatever_looks_like_a_number_is_finite_or_refused(text: str) -> None:
    with suppress(ValueError):
        value = scalar_value(YamlScalar(text=text, is_plain=True, line=1, column=1))
        assert value is None or isinstance(value, str) or abs(value) < float("inf")
