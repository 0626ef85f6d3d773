"""One way out: nothing prints but the printer, which makes visible whatever it is given."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import phase_gate
from phase_gate.cli._streams import _fold, render_json
from tests.cli.conftest import Begin

SOURCE = Path(phase_gate.__file__).parent

#: What may write to a standard stream by itself, and why.
EXEMPT = {
    "cli/_streams.py": "the printer",
}


def _printing(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called == "print" or called.endswith((".stdout.write", ".stderr.write", "out.write", ".write_line")):
            yield node


def test_nothing_else_prints() -> None:
    found = {
        f"{path.relative_to(SOURCE).as_posix()}:{call.lineno}"
        for path in SOURCE.rglob("*.py")
        for call in _printing(ast.parse(path.read_text(encoding="utf-8")))
    }
    # Panels and the lines of CI systems: made visible there.
    allowed = (*EXEMPT, "recording/session.py", "recording/terminal.py")
    assert [place for place in sorted(found) if not place.startswith(allowed)] == []


@pytest.mark.parametrize("text", ["##[error]x", "a ##vso[b]", "\x7f", "###[", "\u202e\x1b\n::error::", "## [x](#y)"])
def test_a_document_means_the_same_and_gives_no_orders(text: str) -> None:
    for indent in (None, 2):
        shown = render_json({text: [text]}, indent=indent)
        assert json.loads(shown) == {text: [text]}
        assert "##[" not in shown
        assert "##vso[" not in shown
        assert shown.replace("\n", "").isprintable()
        assert not any(row.lstrip().startswith("::") for row in shown.splitlines())


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("short", ["short"]),
        ("  a long row of words", ["  a long row", "    of words"]),
        ("next: pytest --phase=green", ["next: pytest --phase=green"]),
        ("next: fix it at once, then run: pytest -q", ["next: fix it at once, then run: pytest -q"]),
    ],
)
def test_on_a_narrow_screen_a_command_stays_whole(row: str, expected: list[str]) -> None:
    assert _fold(row, 14) == expected


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        pytest.param({}, False, id="no-terminal-no-colour"),
        pytest.param({"FORCE_COLOR": "1"}, True, id="forced"),
        pytest.param({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, id="no-is-stronger-than-force"),
        pytest.param({"NO_COLOR": "1", "PY_COLORS": "1"}, True, id="pytest-s-own-is-strongest"),
        pytest.param({"FORCE_COLOR": "1", "PY_COLORS": "0"}, False, id="pytest-s-own-is-strongest-both-ways"),
    ],
)
def test_colours(begin: Begin, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], coloured: bool) -> None:
    monkeypatch.delenv("PY_COLORS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in begin("").gate("status").out) is coloured
