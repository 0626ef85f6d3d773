"""Strict YAML and TOML: what is read, what is refused and where, and that nothing else escapes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from phase_gate.config import documents
from phase_gate.config.configuration import load_configuration
from phase_gate.config.documents import MAX_BYTES, MAX_DEPTH, read_bytes, read_document, read_documents
from phase_gate.config.reading import Items, Node, Table, Text
from phase_gate.errors import ConfigurationError, DocumentError
from phase_gate.workflow.settings import Configuration

#: PyYAML's parsers, of which a project may have either: the pure one is always there, libyaml's mostly.
LOADERS = {"pure-python": yaml.SafeLoader, "libyaml": getattr(yaml, "CSafeLoader", None)}


@pytest.fixture(params=[name for name, loader in LOADERS.items() if loader is not None])
def any_loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with each of the parsers."""
    monkeypatch.setattr(documents, "choose_loader", lambda: LOADERS[request.param])


def read(text: str | bytes) -> Node:
    return read_document(text, name="file.yaml")


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("on: no\nyes: off", {"on": "no", "yes": "off"}, id="yaml-1.1-booleans-stay-text"),
        pytest.param("a: 1.10\nb: 007\nc: 1_000", {"a": "1.10", "b": "007", "c": "1_000"}, id="numbers-stay-text"),
        pytest.param("a:\nb: ~\nc: null", {"a": "", "b": "~", "c": "null"}, id="nothing-stays-text"),
        pytest.param("[a, {b: [c]}]", ["a", {"b": ["c"]}], id="flow-style"),
        pytest.param("a: |\n  x\n  y\nb: >\n  x\n  y\n", {"a": "x\ny\n", "b": "x y\n"}, id="block-text"),
        pytest.param("'<<': a", {"<<": "a"}, id="a-quoted-merge-key-is-a-key"),
        pytest.param("\ufeffa: b", {"a": "b"}, id="a-byte-order-mark-is-no-fault"),
    ],
)
def test_reads_texts(text: str, expected: object) -> None:
    assert read(text) == expected
    assert read(text.encode()) == expected


@pytest.mark.usefixtures("any_loader")
def test_every_node_has_its_place() -> None:
    root = read("a: b\nlist:\n  - 'x'\n  - {k: v}\nempty:\n")
    assert isinstance(root, Table)
    items = root["list"]
    assert isinstance(items, Items)
    a, _, empty = root
    nodes = [root, a, root["a"], *items, empty, root["empty"]]
    places = ["1:1", "1:1", "1:4", "3:5", "4:5", "5:1", "5:1"]
    assert [getattr(node, "at", "") for node in nodes] == [f"file.yaml:{place}" for place in places]
    assert [node.path for node in (root, root["a"], *items)] == ["", "a", "an item of list", "an item of list"]
    assert [node.is_plain for node in (root["a"], items[0]) if isinstance(node, Text)] == [True, False]


BOMB = "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\n"


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize(
    ("text", "place", "problem", "remedy"),
    [
        pytest.param("a: 1\nb: 2\na: 3", "3:1", "key 'a' again, first in line 1", "one of the two", id="duplicate-key"),
        pytest.param(BOMB, "1:4", "anchor &a", "write the value out", id="a-bomb-ends-at-its-first-anchor"),
        pytest.param("a: *b", "1:4", "alias *b", "in full", id="alias-without-anchor"),
        pytest.param("a: 1\nb: !!int 2", "2:4", "tag ", "remove the tag", id="standard-tag"),
        pytest.param("? [a, b]\n: c", "1:3", "a key has to be a text", "plain word", id="list-as-key"),
        pytest.param("a:\n  <<: b", "2:3", "merge key <<", "write the merged keys out", id="merge-key"),
        pytest.param("a: 1\n---\nb: 2", "3:1", "a second document", "one document", id="second-document"),
        pytest.param("", "1:1", "the file is empty", "fill it", id="empty-file"),
        pytest.param("%YAML 1.1\n---\na: b", "1:1", "directives", "line with %", id="directive"),
        pytest.param("a: b\n\tc: d", "2:1", "not YAML", "indent with spaces", id="tab-as-indentation"),
        pytest.param("a: b: c", "1:5", "not YAML: mapping values", "quotes", id="two-colons"),
        pytest.param("a: b\nc: d\x00e", "2:5", "the character U+0000", "UTF-8", id="nul"),
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
        read_documents(text, name="file.yaml")
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
        pytest.param("a: " + "b" * 10_000_000, MAX_BYTES, False, id="ten-megabytes"),
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


# Files


#: Windows has no named pipes in its folders. Elsewhere nobody may wait at one.
PIPES = [pytest.param(os.mkfifo, "f: this is not a regular file", id="named-pipe")] if hasattr(os, "mkfifo") else []


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        pytest.param(lambda path: None, "f: there is no such file", id="absent"),
        pytest.param(lambda path: path.mkdir(), "f: this is a folder", id="folder"),
        pytest.param(lambda path: path.symlink_to("nowhere"), "f: there is no such file", id="dangling-link"),
        *PIPES,
    ],
)
def test_refuses_what_is_no_file(tmp_path: Path, make: Callable[[Path], None], problem: str) -> None:
    make(tmp_path / "f")
    with pytest.raises(ConfigurationError) as caught:
        read_bytes(tmp_path / "f", name="f", error=ConfigurationError)
    assert caught.value.problem.startswith(problem)
    assert caught.value.slug == "bad-configuration"


# TOML: our table in pyproject.toml


def load(folder: Path, text: str | bytes) -> Configuration:
    (folder / "pyproject.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_configuration(folder)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[tool]\nphase-gate.lock_timeout = 3\n", id="dotted-key"),
        pytest.param("[ tool . 'phase-gate' ]\r\nlock_timeout = 3\r\n", id="spaces-and-quotes"),
        pytest.param(b"\xef\xbb\xbf[tool.phase-gate]\nlock_timeout = 3\n", id="byte-order-mark"),
    ],
)
def test_the_table_is_found_however_it_is_written(tmp_path: Path, text: str | bytes) -> None:
    assert load(tmp_path, text).lock_timeout == 3


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        pytest.param("[tool.phase-gate]\nlock_timout = 3\n", "2:1", "unknown key 'lock_timout'", id="unknown-key"),
        pytest.param("[tool.phase-gate]\nrun.exit = 'maybe'\n", "2:1", "run.exit can't be 'maybe'", id="dotted-key"),
        pytest.param("[tool.phase-gate]\nworkflow = ''\n", "2:1", "workflow is blank", id="blank"),
        pytest.param("[[tool.phase-gate]]\nrun = 3\n", "1:3", "has to be a mapping, not a list", id="array-of-tables"),
        pytest.param("[tool.phase-gate]\nlock_timeout = inf\n", "2:1", "has to be a number", id="infinity"),
        pytest.param(
            "[tool.phase-gate.phases.RED]\nguards = []\ncondition = '''\nlock_timeout = 3\n'''\n",
            "3:1",
            "phases.RED.condition: column 14: = is not an operator",
            id="a-condition-of-several-lines",
        ),
        pytest.param("[tool.phase-gate]\nrun = {\n", "2:8", "not TOML: ", id="syntax"),
        pytest.param("[tool.phase-gate]\na = 1\na = 2\n", "3:", "not TOML: ", id="a-key-twice"),
        pytest.param(
            '[tool.phase-gate]\nworkflow = "a\\u202eb"\n', "2:1", "the escape makes the character U+202E", id="escape"
        ),
        pytest.param(
            '[tool.phase-gate.parameters]\n"a\\u0000" = 1\n', "1:2", "the escape makes the character U+0000", id="key"
        ),
        pytest.param(b"# phase-gate =\n\xff\n", "2:1", "not UTF-8 text", id="bytes"),
    ],
)
def test_a_fault_has_its_place(tmp_path: Path, text: str | bytes, place: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, text)
    assert caught.value.problem.startswith(f"pyproject.toml:{place}")
    assert problem in caught.value.problem
    assert caught.value.remedy
