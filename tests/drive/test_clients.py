"""The agent's command and its environment: never with the gate's keys."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phase_gate.drive.clients import choose_environment
from phase_gate.project import Project
from tests.drive.conftest import RED, Track, answer
from tests.drive.pipelines import PipelineDrive

pytestmark = pytest.mark.processes

Begin = Callable[[str], Track]


def test_the_hooks_of_a_driven_agent(track: Begin) -> None:
    """It may stop, for the drive judges; of the state folder it may write its answer, and nothing else."""
    event = {"tool_name": "Write", "tool_input": {"file_path": "$PHASE_GATE_ANSWER", "content": "x"}}
    other = {"tool_name": "Write", "tool_input": {"file_path": ".phase-gate/state.json", "content": "x"}}
    hook = f"{sys.executable} -m phase_gate.cli hook"
    commands = [
        f"echo {{}} | {hook} stop --agent claude > stop.json",
        f"echo {shlex.quote(json.dumps(event))} | sed s,.PHASE_GATE_ANSWER,$PHASE_GATE_ANSWER,"
        f" | {hook} pre-tool --agent claude > answer.json",
        f"echo {shlex.quote(json.dumps(other))} | {hook} pre-tool --agent claude > state.json",
    ]
    driven = track("red-exited").plan({"run": commands})
    driven.drive("--iterations", "1")
    assert json.loads((driven.root / "stop.json").read_text()) == {}
    assert json.loads((driven.root / "answer.json").read_text()) == {}
    assert "deny" in (driven.root / "state.json").read_text()


DATABASE = "postgresql://db.example.org/gate#shop"


OF_DATABASE = ("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSSLKEY", "PGSSLPASSWORD")


@pytest.mark.parametrize(
    ("store", "seen", "withheld"),
    [
        pytest.param(None, None, (), id="without-a-store-they-are-the-users-own"),
        pytest.param(DATABASE, "withheld", OF_DATABASE, id="a-database"),
        pytest.param("folder", "folder", (), id="not-for-this-call"),
        pytest.param("git:https://example.org/x.git#shop", "withheld", (), id="a-git-remote-needs-none-of-them"),
    ],
)
def test_what_gives_access_to_the_record_is_withheld(
    tmp_path: Path, store: str | None, seen: str | None, withheld: tuple[str, ...]
) -> None:
    (tmp_path / "phase-gate.yaml").write_text("run: {}\n", encoding="utf-8")
    given = {} if store is None else {"PHASE_GATE_STORE": store}
    always = {"PHASE_GATE_KEY": "sesame-open-up", "PHASE_GATE_STORE_TOKEN": "hunter22"}
    usual = {"PATH": "/bin", "PGHOST": "db", **dict.fromkeys(OF_DATABASE, "hunter22")}
    project = Project.find(tmp_path, environment={**usual, **always, **given})
    chosen = choose_environment(project)
    # A word in place of the address, so that our own commands don't take the folder for all there is.
    assert chosen.pop("PHASE_GATE_STORE", None) == seen
    assert chosen.keys() == usual.keys() - set(withheld)


def test_keys_of_the_gate_never_reach_the_agent(track: Begin) -> None:
    driver = "/proc/$(cut -d' ' -f4 /proc/$PPID/stat)/environ"
    turn = {"run": ["env > env.txt", f"cat {driver} > seen.txt 2>&1"], "say": "key sesame-open-up and hunter22\n"}
    driven = track("").plan(turn)
    secret = {"PHASE_GATE_KEY": "sesame-open-up", "PHASE_GATE_STORE_URL": "postgres://u:pw@h", "MY_TOKEN": "hunter22"}
    driven.drive("--iterations", "1", real=True, **secret)
    given = (driven.root / "env.txt").read_text()
    assert "sesame-open-up" not in given
    assert "PHASE_GATE_STORE" not in given
    assert "MY_TOKEN=hunter22" in given, "the rest is the user's own"
    assert "sesame-open-up" not in (driven.root / "seen.txt").read_text(), "nor can it be looked up in the driver"
    (transcript_file,) = (driven.gated.folder / "drive").glob("*/0001.agent.log")
    transcript = transcript_file.read_text()
    assert transcript.startswith("key *** and ***"), "and neither stands in what is kept"


def test_an_agent_that_tests_leaves_a_store_s_copy_alone(track: Begin, tmp_path: Path) -> None:
    """The first drive of a task that the store has never heard of, and an agent that runs the phase itself."""
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    run = f"{sys.executable} -m pytest -p phase_gate.plugin -q --phase=red > run.txt 2>&1"
    driven = track("").plan({"write": {"test_calc.py": RED}, "run": [run], **answer()}, signal="agent", until="RED")
    ran = driven.drive(PHASE_GATE_STORE=f"git:{remote}#shop")
    assert ran.code == 0, ran.out + ran.err + (driven.root / "run.txt").read_text()
    assert "kept in a store that its agent is not given" in (driven.root / "run.txt").read_text()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"agent": []}, "no agent is named"),
        ({"phases": {"SHIP": "true"}}, "drive.phases has SHIP, which is no phase"),
        ({"phases": {"PLAN": "true"}, "reviewers": "true"}, "true works in PLAN, and would review its own work"),
        ({"reviewers": ["true", "true"]}, "drive.reviewers has the same command twice"),
    ],
)
def test_commands_that_are_refused(pipeline: PipelineDrive, settings: dict[str, Any], problem: str) -> None:
    pipeline.plan({"agent": [{}]}, [])
    document = json.loads((pipeline.track.root / "phase-gate.yaml").read_text())
    document["drive"].update(settings)
    pipeline.track.project.write({"phase-gate.yaml": json.dumps(document) + "\n"})
    ran = pipeline.track.project.gate("drive")
    assert ran.code == 2
    assert problem in ran.err
