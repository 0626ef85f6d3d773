"""Commands as evidence: real processes, their exit codes, their time, their output, and what they leave behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phase_gate.evidence import git
from phase_gate.evidence.commands import CommandProvider
from phase_gate.evidence.context import EvidenceContext
from phase_gate.evidence.gathering import gather_evidence
from phase_gate.gate.measured import Measured
from phase_gate.workflow.settings import EvidenceCommand
from tests.evidence.folders import Folder
from tests.evidence.processes import Reached, has_ended

pytestmark = pytest.mark.processes

PYTHON = sys.executable


def context(root: Path, *commands: EvidenceCommand, wanted: frozenset[str] = frozenset()) -> EvidenceContext:
    folder = Folder(root, wanted=wanted or frozenset(command.metric for command in commands))
    return folder.set(commands={command.name: command for command in commands}).context


def measure(tmp_path: Path, *commands: EvidenceCommand) -> Measured:
    return CommandProvider().measure(context(tmp_path, *commands))


def python(code: str, *, name: str = "build", **more: float) -> EvidenceCommand:
    return EvidenceCommand(name=name, run=f'{PYTHON} -c "{code}"', **more)  # type: ignore[arg-type]


def log(tmp_path: Path, name: str = "build") -> Path:
    return tmp_path / ".phase-gate" / "evidence" / f"{name}.txt"


def test_the_exit_code_is_the_evidence_and_the_output_is_kept(tmp_path: Path) -> None:
    assert measure(tmp_path, python("pass")) == Measured(metrics={"build_ok": True})
    measured = measure(tmp_path, python("import sys; print('out', flush=True); sys.exit('err')"))
    assert (measured.metrics, measured.warnings) == ({"build_ok": False}, ())
    (finding,) = measured.findings
    assert (finding.slug, finding.id) == ("command-failed", "build")
    assert finding.detail.endswith("ended with 1: its output is in .phase-gate/evidence/build.txt")
    assert log(tmp_path).read_text(encoding="utf-8").split() == ["out", "err"]


def test_one_that_takes_too_long_is_unknown_and_ended_with_its_children(tmp_path: Path) -> None:
    child = "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=-1)"
    code = f"{child}; open('pids', 'w').write(str(p.pid)); time.sleep(60)"
    measured = measure(tmp_path, python(code, timeout=Reached(tmp_path / "pids")))
    assert measured.metrics == {}
    assert "build_ok is unknown" in measured.warnings[0]
    assert "did not end within 60 s" in measured.warnings[0]
    assert has_ended(int((tmp_path / "pids").read_text(encoding="utf-8")))


def test_one_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    measured = measure(tmp_path, EvidenceCommand(name="build", run="no-such-program-here --all"))
    assert measured.metrics == {}
    assert measured.warnings == ("build_ok is unknown: 'no-such-program-here --all': No such file or directory",)


def test_it_runs_only_where_the_rules_speak_of_it(tmp_path: Path) -> None:
    commands = (python("pass", name="asked"), python("open('ran', 'w')", name="other"))
    wanted = frozenset({"asked_ok", "tests_failing"})
    measured = gather_evidence(context(tmp_path, *commands, wanted=wanted))
    assert {name: each.metrics for name, each in measured.items()} == {"commands": {"asked_ok": True}}
    assert not (tmp_path / "ran").exists()


def test_a_provider_that_raises_is_named_and_takes_nothing_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(given: EvidenceContext) -> Measured:
        raise ValueError("what now")

    monkeypatch.setattr(git.PROVIDER, "measure", fail)
    wanted = frozenset({"asked_ok", "tree_clean"})
    measured = gather_evidence(context(tmp_path, python("pass", name="asked"), wanted=wanted))
    assert measured["commands"].metrics == {"asked_ok": True}
    assert measured["git"].warnings == ("evidence of 'git' is unknown: ValueError: what now",)
