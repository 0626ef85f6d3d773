"""A sample of what `tox -e agents` plays with the real clients, with a client that is a script here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phase_gate.values import replace
from tests.clients import __main__ as play
from tests.clients.driven import DRIVEN
from tests.clients.install import PACKAGE, version_of
from tests.clients.model import Edit, Shell, Write
from tests.clients.refusals import REFUSALS, script_for
from tests.clients.scenarios import SCENARIOS, Expected
from tests.clients.stage import Played
from tests.clients.table import CLAUDE, CLIENTS, CODEX

FAKE = replace(CLAUDE, command=("claude",))
BY_NAME = {scenario.name: scenario for scenario in (*SCENARIOS, *DRIVEN)}


@pytest.mark.sampled(60)
@pytest.mark.processes
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_a_scenario_comes_out_as_expected(name: str, tmp_path: Path) -> None:
    program, script = tmp_path / "claude", Path(__file__).parent / "fake_client.py"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{script}" "$@"\n')
    program.chmod(0o755)
    row = play.play(FAKE, BY_NAME[name], tmp_path, keep=tmp_path)
    assert row.problem == ""


def test_each_is_played_by_the_hooks_and_with_a_driver() -> None:
    """What only one of both can show has no twin."""
    driven = {scenario.name.removeprefix("drive-") for scenario in DRIVEN}
    assert driven ^ {scenario.name for scenario in SCENARIOS} == {"killed"}


def test_what_is_not_as_expected_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class StubStage:
        client, root = CLAUDE, tmp_path

        def check(self) -> int:
            return 0

    (tmp_path / "test_fare.py").write_text("other")
    played = Played(code=None, out="", err="", seconds=0, asked=(), told="bad", strange=("/v1/x",), left=())
    expected = Expected(told=("good",), not_told=("bad",), kept={"test_fare.py": "text"}, said=("word",))
    scenario = replace(BY_NAME["stubborn"], expected=expected)
    assert play.find_problems(StubStage(), scenario, played) == [  # type: ignore[arg-type]
        "it ended with None",
        "check says 0",
        "not told: good",
        "told: bad",
        "test_fare.py was changed",
        "not said: word",
        "taken for failed",
        "asked for /v1/x",
    ]


def test_every_refusal_is_in_the_words_of_each_server() -> None:
    for client in CLIENTS:
        for scenario in BY_NAME.values():
            faults = [fault for row in script_for(client.name, scenario).faults.values() for fault in row]
            if scenario.refused:
                assert set(faults) == {REFUSALS[client.name][scenario.refused]}


def test_each_client_has_a_tool_for_every_step(tmp_path: Path) -> None:
    steps = (Write(path="a.py", text="x\n"), Edit(path="a.py", old="x\n", new="y\n"), Shell(command="ls"))
    for client in CLIENTS:
        for step in steps:
            assert "a.py" in str(client.translate(step, tmp_path)) or step == steps[2]
    patched = CODEX.translate(Edit(path="a.py", old="x\n", new="y\n"), tmp_path)
    assert "*** Update File: a.py\n@@\n-x\n+y\n" in str(getattr(patched, "given", ""))


def test_every_client_has_a_version_that_was_tried(tmp_path: Path) -> None:
    text = PACKAGE.read_text(encoding="utf-8")
    for client in CLIENTS:
        assert f'"{client.package}": "' in text
        place = tmp_path / "node_modules" / client.package / "package.json"
        place.parent.mkdir(parents=True)
        place.write_text('{"version": "1.2.3"}')
        assert version_of(tmp_path / "node_modules" / ".bin", client.package) == "1.2.3"


def test_the_table_has_a_row_for_every_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        play.Row(client="claude", scenario=name, problem=problem, seconds=1)
        for name, problem in (("a", ""), ("b", "x"))
    ]
    play.show_table(rows, [("claude", "1.2.3")])
    assert capsys.readouterr().out.splitlines()[1:] == [
        "| scenario | claude 1.2.3 |",
        "| --- | --- |",
        "| a | yes |",
        "| b | no |",
    ]
