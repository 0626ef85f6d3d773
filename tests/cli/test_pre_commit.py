"""The hook for pre-commit: the manifest is what pre-commit wants, and the hook refuses a workflow that is wrong."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.support import Ran, Sample

MANIFEST = Path(__file__).parent.parent.parent / ".pre-commit-hooks.yaml"

#: As in the how-to, but for where our command comes from: the manifest's own way fetches packages.
CONFIGURATION = """\
repos:
  - repo: {repository}
    rev: {revision}
    hooks:
      - id: phase-gate-check-workflow
        language: system
        entry: "{python} -m phase_gate.cli workflow check"
"""

WORKFLOW = """\
workflow: own
phases:
  WORK:
    gate_1: {name: Works, condition: tests_total > 0}
"""


class Committer:
    def __init__(self, sample: Sample, folder: Path) -> None:
        self.sample, self._home = sample, folder / "home"
        hooks = folder / "hooks"
        hooks.mkdir()
        shutil.copy(MANIFEST, hooks)
        sample.git("init", "-q", str(hooks))
        sample.git("-C", str(hooks), "add", "-A")
        sample.git("-C", str(hooks), "commit", "-q", "-m", "hooks")
        revision = sample.git("-C", str(hooks), "rev-parse", "HEAD").strip()
        text = CONFIGURATION.format(repository=hooks, revision=revision, python=sys.executable)
        sample.write({".pre-commit-config.yaml": text})

    def run(self, *words: str) -> Ran:
        self.sample.commit_all()
        return self.sample.process(sys.executable, "-m", "pre_commit", *words, PRE_COMMIT_HOME=str(self._home))


@pytest.fixture
def committer(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> Committer:
    return Committer(sample, tmp_path_factory.mktemp("pre-commit"))


def test_pre_commit_takes_the_manifest(committer: Committer) -> None:
    ran = committer.run("validate-manifest", str(MANIFEST))
    assert ran.code == 0, ran.out + ran.err


def test_the_hook_refuses_a_workflow_that_is_wrong(committer: Committer) -> None:
    committer.sample.write({"phase-gate.yaml": "workflow: own.yaml\n", "own.yaml": WORKFLOW})
    ran = committer.run("run", "--all-files")
    assert ran.code == 0, ran.out + ran.err
    assert ran.has("check the phase-gate workflow", "Passed")

    committer.sample.write({"own.yaml": WORKFLOW.replace("tests_total", "tests_totl")})
    ran = committer.run("run", "--all-files")
    assert ran.code == 1
    assert ran.has("exit code: 2", "own.yaml:4:38: unknown name")
