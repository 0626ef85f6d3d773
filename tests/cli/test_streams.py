"""What commands print: visible text only, by one printer; and what happens when the output is closed or full."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import phase_gate
from phase_gate.cli._streams import _fold, render_json
from phase_gate.cli._table import COMMANDS
from tests.cli.conftest import Begin
from tests.cli.test_call import CALLS, STORIES
from tests.storage.stores import contents
from tests.warm import WarmServer

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
        ("fix it [not-allowed]", ["fix it", "  [not-allowed]"]),
        ("  \u5b57\u5b57 \u5b57\u5b57 \u5b57\u5b57", ["  \u5b57\u5b57 \u5b57\u5b57", "    \u5b57\u5b57"]),
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


# --- closed or full output: every command does its work, and ends with a code of the table and no traceback


LOST: dict[str, dict[str, str]] = {
    "closed-output": {"stdout": "closed"},
    "full-output": {"stdout": "full"},
    "all-closed": {"stdin": "closed", "stdout": "closed", "stderr": "closed"},
    "closed-input": {"stdin": "closed"},
    "closed-errors": {"stderr": "closed"},
    "full-errors": {"stderr": "full"},
    "both-full": {"stdout": "full", "stderr": "full"},
    "nobody-reads": {"stdout": "nobody-reads"},
    "nobody-reads-either": {"stdout": "nobody-reads", "stderr": "nobody-reads"},
    "terminal-hung-up": {"stdin": "hung-up", "stdout": "hung-up", "stderr": "hung-up"},
}

ROWS = [(name, way) for way in LOST for name in COMMANDS]


@pytest.fixture(scope="module")
def streamless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    server = WarmServer(tmp_path_factory.mktemp("children"), str(Path(__file__).with_name("lost_streams.py")))
    yield server
    server.close()


def expected(code: int, streams: dict[str, str]) -> int:
    """A 0 does not stand for an answer that could not be written; whoever closed the output did not want it."""
    return 11 if code == 0 and streams.get("stdout") in ("full", "hung-up") else code


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("name", "way"), ROWS)
def test_a_lost_output_costs_no_answer(
    begin: Begin, streamless: WarmServer, monkeypatch: pytest.MonkeyPatch, name: str, way: str
) -> None:
    gated = begin(STORIES.get(name, "green"))
    monkeypatch.setenv("PYTEST_PLUGINS", "phase_gate.plugin")
    code, words = CALLS[name]
    ended, out, err = streamless.run(gated.root, ("phase-gate", *words), dict(os.environ), streams=LOST[way])
    assert ended == expected(code, LOST[way]), out + err
    assert "Traceback" not in out + err
    assert "Exception ignored" not in out + err
    if expected(code, LOST[way]) != code and "stderr" not in LOST[way]:
        assert "the answer could not be written: No space left on device [output-lost]" in err


def test_what_is_done_is_done(begin: Begin, streamless: WarmServer) -> None:
    """The signal is in the ledger, whoever could read what we said about it."""
    gated = begin("green")
    words = ("phase-gate", "signal", "--reason", "done")
    assert streamless.run(gated.root, words, dict(os.environ), streams={"stdout": "full"})[0] == 11
    assert gated.gate("check").code == 0


@pytest.mark.parametrize("way", ["closed", "full", "nobody-reads", "hung-up"])
def test_watching_ends_where_nobody_watches(begin: Begin, streamless: WarmServer, way: str) -> None:
    gated = begin("green")
    words = ("phase-gate", "status", "--watch")
    code, out, err = streamless.run(gated.root, words, dict(os.environ), streams={"stdout": way})
    assert (code, out) == (10, "")
    assert "Traceback" not in err


@pytest.mark.parametrize("name", [("claim", "-"), ("verify", "executor", "-"), ("pipeline", "vote", "-")], ids=" ".join)
def test_input_that_is_closed_is_a_usage_error(begin: Begin, streamless: WarmServer, name: tuple[str, ...]) -> None:
    gated = begin("green")
    before = contents(gated.root)
    code, _, err = streamless.run(gated.root, ("phase-gate", *name), dict(os.environ), streams={"stdin": "closed"})
    if name[0] == "pipeline":
        assert code == 13, "the task asks for none"
    else:
        assert code == 2
        assert "standard input can't be read: it is closed [bad-usage]" in err
    assert "Traceback" not in err
    assert contents(gated.root) == before
