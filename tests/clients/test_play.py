"""A sample of what `tox -e agents` plays with the real clients, with a client that is a script here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phase_gate.values import replace
from tests.clients.__main__ import find_problems, play
from tests.clients.scenarios import SCENARIOS
from tests.clients.stage import Played
from tests.clients.table import CLAUDE


@pytest.mark.sampled(60)
@pytest.mark.processes
@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_a_scenario_comes_out_as_expected(name: str, tmp_path: Path) -> None:
    program, script = tmp_path / "claude", Path(__file__).parent / "fake_client.py"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{script}" "$@"\n')
    program.chmod(0o755)
    problem, _ = play(replace(CLAUDE, command=("claude",)), SCENARIOS[name], tmp_path, tmp_path)
    assert problem == ""


def test_what_is_not_as_expected_is_told(tmp_path: Path) -> None:
    class StubStage:
        client, root = CLAUDE, tmp_path

        def check(self) -> int:
            return 0

    (tmp_path / "test_fare.py").write_text("other")
    played = Played(code=None, out="", err="", seconds=0, asked=(), told="bad", strange=("/v1/x",), left=())
    wanted = {"told": ("good",), "not_told": ("bad",), "said": ("word",), "ending": "ended"}
    scenario = replace(SCENARIOS["frozen-edit"], **wanted)
    assert find_problems(StubStage(), scenario, played) == [  # type: ignore[arg-type]
        "it ended with None",
        "check says 0",
        "not told: good",
        "told: bad",
        "test_fare.py was changed",
        "not said: word",
        "taken for failed",
        "asked for /v1/x",
    ]
