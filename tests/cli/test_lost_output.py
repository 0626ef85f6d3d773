"""Closed or full output: every command does what it does, and ends with a code of the table and no traceback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from phase_gate.cli._table import COMMANDS
from tests.cli.conftest import Begin
from tests.cli.test_dispatch import CALLS, STORIES
from tests.storage.stores import contents
from tests.warm import WarmServer

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
