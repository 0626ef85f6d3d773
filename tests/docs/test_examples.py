"""Each example, copied into an empty folder and run as its README says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import ROOT, Session
from tests.sweeps import IS_WHOLE
from tests.warm import WarmServer

EXAMPLES = ROOT / "examples"

#: Examples with a test below, and workflows, which tests/cli/test_example_workflows.py drives; one that nobody runs
#: would rot.
DRIVEN = {
    "ci-gate",
    "custom-evidence",
    "drive",
    "release-pipeline",
    "workflows",
}

pytestmark = pytest.mark.skipif(shutil.which("sh") is None, reason="the examples are typed into a shell")


class Example:
    """A copy of an example, and a shell in it."""

    def __init__(self, session: Session) -> None:
        self.session, self.root = session, session.folder

    def copy(self, name: str) -> Example:
        shutil.copytree(EXAMPLES / name, self.root, dirs_exist_ok=True)
        return self

    def type(self, line: str, *, ends_with: int = 0) -> str:
        code, message = self.session.type(line)
        assert code == ends_with, f"$ {line}\n{message}"
        return message

    def status(self) -> Mapping[str, Any]:
        document: Mapping[str, Any] = json.loads(self.session.type("phase-gate status --json")[1])
        return document


@pytest.fixture
def example(tmp_path: Path, children: Callable[[], WarmServer]) -> Example:
    """With proofs in every sweep; the tutorial, which every run types, shows them."""
    return Example(Session(tmp_path, proofs=IS_WHOLE, children=children))


def test_every_example_is_driven_and_explained() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert folders == DRIVEN
    assert all((EXAMPLES / name / "README.md").is_file() for name in folders)


def test_ci_gate_opens_and_refuses_a_partial_run_and_a_damaged_record(example: Example) -> None:
    assert "GREEN: open" in example.copy("ci-gate").type("sh gate.sh -q")
    assert "Gate 1: All tests passing (stable)" in (example.root / "verdict.md").read_text(encoding="utf-8")
    message = example.type("sh gate.sh -q -k prices", ends_with=10)
    assert "gate closed" in message
    verdict = json.loads((example.root / "verdict.json").read_text(encoding="utf-8"))
    assert verdict["run_note"] == "12 known tests did not run (-k 'prices')"
    with (example.root / ".phase-gate" / "ledger.jsonl").open("a", encoding="utf-8") as ledger:
        ledger.write("{}\n")
    assert "the record can't be trusted" in example.type("sh gate.sh -q", ends_with=11)


@pytest.mark.sweep
def test_drive(example: Example) -> None:
    example.copy("drive")
    message = example.type("phase-gate drive")
    assert [row for row in message.splitlines() if row.startswith("iteration")] == [
        "iteration 1: RED",
        "iteration 2: GREEN",
        "iteration 3: GREEN",
    ]
    assert "tests    test_slug.py::test_signs_are_dropped fails" in message
    assert "drive ends: done: both gates are open: GREEN has exited (3 iterations," in message
    example.type("phase-gate report -o .phase-gate/report.html")
    assert "the last drive: done" in (example.root / ".phase-gate" / "report.html").read_text(encoding="utf-8")


def test_custom_evidence(tmp_path: Path, children: Callable[[], WarmServer]) -> None:
    packages = tmp_path / "packages"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    shutil.copytree(EXAMPLES / "custom-evidence", tmp_path / "source")
    done = subprocess.run(build, cwd=tmp_path / "source", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    shutil.unpack_archive(wheel, packages, "zip")
    example = Example(Session(tmp_path / "reader", packages=packages, children=children)).copy("custom-evidence/sample")
    # By the name of its entry point: the suite turns automatic loading off.
    command = "pytest -p open_questions --phase=green --phase-workflow=answered"

    message = example.type(command, ends_with=10)
    assert "no-open-questions: 1 open question(s) in the sources" in message
    assert "next    answer them, then run: pytest --phase=green" in message
    example.session.write("price.py", "def price_with_tax(price):\n    return round(price * 1.2, 2)\n")
    example.type(f"{command} --exit-signal='rounded to cents'")
    assert example.status()["reason"] == "both gates are open: GREEN has exited, the cycle is done"
    assert example.status()["evaluation"]["metrics"]["open_questions"] == 0

    verdicts = (example.root / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["can_exit"] for row in verdicts] == [False, True]


@pytest.mark.sweep
def test_release_pipeline(example: Example) -> None:
    example.copy("release-pipeline")
    rows = _told(example.type("python release.py"))
    output = [row for row in rows if "both gates are open" not in row or ";" in row]
    assert output == [
        "QA_VALIDATION: the gate of QA_VALIDATION failed: test_parcel.py::test_a_heavy_parcel_costs_a_surcharge fails; "
        "RECOVERY_LOOP begins: recovery 1 of 5",
        "RECOVERY_LOOP: both gates are open: RECOVERY_LOOP has exited; back to ROLE_PLANNING",
        "REVIEW: both gates are open: REVIEW has exited; CR-1 (config) leads back to QA_VALIDATION",
    ]
    assert rows[-1] == "PRODUCTION_GATE: both gates are open: PRODUCTION_GATE has exited, the cycle is done"
    assert example.status()["phase"] == "DONE"
    entered = [(line["phase"], line["how"]) for line in events(example, "phase-entered")]
    assert [phase for phase, how in entered if how not in ("begin", "next")] == [
        "RECOVERY_LOOP",
        "ROLE_PLANNING",
        "QA_VALIDATION",
    ]

    # The second run: nobody writes anything, somebody says that it is done.
    rows = _told(example.type("python release.py impatient", ends_with=12))
    assert [row.partition(": recovery ")[2] for row in rows[:-1]] == [f"{number} of 5" for number in range(1, 6)]
    assert rows[-1].startswith("RECOVERY_LOOP: STUCK: ")
    message = example.type("phase-gate pipeline recover", ends_with=12)
    for heading in ("Current failure", "Root cause", "Failed iterations", "Required human input"):
        assert f"\n{heading}\n" in message
    assert example.status()["phase"] == "STUCK"
    assert "intact" in example.type("phase-gate audit")


def _told(text: str) -> list[str]:
    """Return the rows without those for somebody who waits for a slow check."""
    return [row for row in text.splitlines() if not row.startswith("phase gate: ")]


def events(example: Example, kind: str) -> list[Mapping[str, Any]]:
    lines = json.loads(example.type("phase-gate history --events --json"))["events"]
    return [line for line in lines if line["kind"] == kind]


@pytest.mark.sweep
def test_release_pipeline_with_agents(example: Example) -> None:
    example.copy("release-pipeline")
    example.type("git init -q && git add -A && git commit -q -m 'before the pipeline'")
    message = example.type("phase-gate drive")
    begun = [row.rpartition(": ")[2] for row in message.splitlines() if row.startswith("iteration ")]
    assert begun[:2] == ["INTAKE", "CONSENSUS_MASTER_PLAN"]
    assert begun[-6:] == ["QA_VALIDATION", "RECOVERY_LOOP", "QA_VALIDATION", "REVIEW", "AUDIT", "PRODUCTION_GATE"]
    assert "drive ends: done" in message
    assert example.status()["phase"] == "DONE"
