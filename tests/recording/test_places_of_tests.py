"""Where a file defines a test, as its text tells: only what is plain there needs no syntax tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.recording.tamper.definitions import _defined_once


@pytest.mark.parametrize(
    ("source", "name", "line"),
    [
        pytest.param("def test_x():\n    assert 1\n", "test_x", 1, id="first"),
        pytest.param("import os\n\n\nasync def test_x():\n    pass\n", "test_x", 4, id="async"),
        pytest.param("class TestA:\n    def test_x(self):\n        pass\n", "test_x", 2, id="in-a-class"),
        pytest.param("x = default\ndef test_default(): pass\ndef test_x(): pass\n", "test_x", 3, id="other-words"),
        pytest.param("@mark\ndef test_y(): pass\n\n\ndef test_x(): pass\n", "test_x", 5, id="after-a-decorated-one"),
    ],
)
def test_a_plain_definition_is_found(tmp_path: Path, source: str, name: str, line: int) -> None:
    assert _places(tmp_path, source).get(name) == line


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def test_x(): pass\ndef test_x(): pass\n", id="defined-twice"),
        pytest.param("@deco\ndef test_x(): pass\n", id="decorated"),
        pytest.param("@deco(\n    1,\n)\n\n# a remark\ndef test_x(): pass\n", id="decorated-further-above"),
        pytest.param("@deco(default)\ndef test_x(): pass\n", id="decorated-with-another-word"),
        pytest.param("def f(): pass; 'def'\ndef test_x(): pass\n", id="the-word-further-on"),
        pytest.param("x = 'def'\ndef test_x(): pass\n", id="the-word-elsewhere"),
        pytest.param("'''\ndef test_x(): pass\n'''\ndef test_x(): pass\n", id="also-in-a-text"),
        pytest.param("def test_x(): pass\ndef test_\uff58(): pass\n", id="spelled-with-other-letters"),
        pytest.param("def \\\ntest_x(): pass\n", id="on-two-lines"),
        pytest.param("x = 1\rdef test_x(): pass\n", id="another-end-of-a-line"),
    ],
)
def test_what_is_not_plain_is_left_to_the_syntax_tree(tmp_path: Path, source: str) -> None:
    assert _places(tmp_path, source).get("test_x", -1) == -1


def test_a_file_that_is_gone_defines_nothing(tmp_path: Path) -> None:
    assert _defined_once(tmp_path / "test_gone.py") == {}


def _places(folder: Path, source: str) -> dict[str, int]:
    file = folder / "test_it.py"
    file.write_bytes(source.encode())
    return dict(_defined_once(file))
