"""What an agent is given of the user's environment, and what it can look up: never the gate's keys."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.drive.clients import choose_environment
from phase_gate.project import Project
from tests.drive.conftest import RED, Track, answer

Begin = Callable[[str], Track]

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
    turn = {"run": ["env > env.txt", f"cat {driver} > seen.txt"], "say": "key sesame-open-up and hunter22\n"}
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


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_what_a_process_hides_no_other_of_the_user_can_read() -> None:
    """Root may read everything, so the test asks the kernel's mark as well."""
    code = """
import ctypes, subprocess
from phase_gate.evidence.process.tree import hide_environment
hide_environment()
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), flush=True)
subprocess.run(["sh", "-c", "cat /proc/$PPID/environ"])
"""
    told = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PHASE_GATE_KEY": "sesame"}, capture_output=True, text=True
    )
    mark, _, seen = told.stdout.partition("\n")
    assert mark == "0"
    assert not seen or os.geteuid() == 0
