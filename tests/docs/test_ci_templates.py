"""The pipelines that we offer, the composite action and the pre-commit hook: their own commands, in a real shell."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.blocks import ROOT, blocks_of
from tests.docs.ci_systems import Machine, Step, fill

pytestmark = pytest.mark.skipif(
    shutil.which("bash") is None or shutil.which("git") is None, reason="the templates are for a shell, with git"
)

EXAMPLES = ROOT / "examples"
WRONG = "class Basket:\n    def __init__(self, *prices):\n        pass\n\n    def total(self):\n        return 0\n"

#: Two tests: one needs `is_empty`, one does not.
NEEDS_AND_GUARDS = """import basket


def test_empty():
    assert basket.is_empty(basket.Basket())


def test_total():
    assert basket.Basket().total() == 0
"""


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., Machine]:
    def build(example: str, **files: str) -> Machine:
        project = tmp_path / "source"
        shutil.copytree(EXAMPLES / example, project)
        for name, text in files.items():
            (project / f"{name}.py").write_text(text, encoding="utf-8")
        return Machine(tmp_path / "machine", project)

    return build


def read(example: str, name: str) -> str:
    return (EXAMPLES / example / name).read_text(encoding="utf-8")


# --- templates


def test_one_job_on_github(machine: Callable[..., Machine]) -> None:
    gate, check = machine("ci-gate").github(read("ci-gate", "github.yml"))
    assert (gate.code, check.code) == (0, 0), gate.out
    assert (gate.outputs["gate1"], gate.outputs["streak"]) == ("true", "2")
    assert gate.summary.startswith("## Phase gate: GREEN")
    assert "::error" not in gate.out


def by_job(steps: list[Step]) -> tuple[list[Step], list[Step]]:
    return [step for step in steps if step.job == "shard"], [step for step in steps if step.job == "gate"]


@pytest.mark.sweep
def test_shards_on_github(machine: Callable[..., Machine]) -> None:
    shards, gate = by_job(machine("ci-gate").github(read("ci-gate", "github-shards.yml")))
    assert [step.code for step in shards] == [0] * 6, shards[0].out
    assert [step.code for step in gate] == [0, 0], gate[-1].out
    assert "GREEN · iteration 2 · 13 tests" in gate[-1].out


def test_shards_on_github_of_which_some_fail(machine: Callable[..., Machine]) -> None:
    shards, gate = by_job(machine("ci-gate", basket=WRONG).github(read("ci-gate", "github-shards.yml")))
    assert [step.code for step in shards] == [1] * 6, shards[0].out
    assert gate[0].code == 0, "closed, as it is after any first round"
    assert gate[1].code == 10
    assert " and 9 more fail" in gate[1].out


#: How a shard's numbers are written, and files that only one of the systems reads.
_SPELLINGS = {r"\$\{\{ matrix\.(\w+) \}\}": r"$\1", r" --(junitxml|report|phase-report)=\S+": ""}


def typed_in(name: str, job: str) -> list[str]:
    """Return the commands of a template's job."""
    document = yaml.safe_load(read("ci-gate", name))
    lines = (
        [step.get("run", "") for step in document["jobs"][job]["steps"]]
        if "jobs" in document
        else document[job]["script"]
    )
    for pattern, spelling in _SPELLINGS.items():
        lines = [re.sub(pattern, spelling, line) for line in lines]
    return [line.lower() for line in lines if line and not line.startswith("pip install")]


@pytest.mark.parametrize(("suffix", "job"), [("", "gate"), ("-shards", "shard"), ("-shards", "gate")])
def test_gitlab_types_what_was_run_on_github(suffix: str, job: str) -> None:
    assert typed_in(f"gitlab{suffix}.yml", job) == typed_in(f"github{suffix}.yml", job)


@pytest.mark.parametrize(
    ("page", "suffix"),
    [
        pytest.param("docs/how-to/ci.md", "", id="one-job"),
        pytest.param("docs/how-to/shards.md", "-shards", id="shards"),
    ],
)
def test_a_page_shows_the_templates_that_were_run(page: str, suffix: str) -> None:
    shown = {block.title: block.text for block in blocks_of(ROOT / page) if block.title is not None}
    for name in ("github", "gitlab"):
        file = f"{name}{suffix}.yml"
        assert shown[f"{name}.yml"] == read("ci-gate", file), f"{page}: {name}.yml is not examples/ci-gate/{file}"


# --- the composite action


ACTION: Any = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def act(machine: Machine, folder: Path, **given: str) -> Step:
    """Run the action's steps as the runner does."""
    values = {f"inputs.{name}": str(row["default"]) for name, row in ACTION["inputs"].items()}
    values |= {f"inputs.{name.replace('_', '-')}": text for name, text in given.items()}
    (step,) = ACTION["runs"]["steps"]
    assert "${{" not in step["run"], "inputs go by way of the environment"
    environment = {name: fill(text, values) for name, text in step["env"].items()}
    return machine.github_step(folder / fill(step["working-directory"], values), "action", step["run"], **environment)


def test_the_action_is_whole() -> None:
    assert ACTION["runs"]["using"] == "composite"
    (step,) = ACTION["runs"]["steps"]
    used = set(re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text(encoding="utf-8")))
    assert used == ACTION["inputs"].keys()
    for name, row in ACTION["outputs"].items():
        assert row["value"] == f"${{{{ steps.{step['id']}.outputs.{name} }}}}"


def test_the_action_gates(machine: Callable[..., Machine]) -> None:
    host = machine("ci-gate")
    folder = host.clone()
    step = act(host, folder)
    assert step.code == 0, step.out
    assert ACTION["outputs"].keys() <= step.outputs.keys()
    assert (folder / "verdict.json").is_file()
    assert "GREEN: open" in step.out
    # One argument a line, blanks and all, and nothing of it is a command.
    narrow = act(host, folder, arguments="-k\nprices or $(touch pwned)\n", confirm="false")
    assert narrow.code == 4
    assert not (folder / "pwned").exists()
    both = act(host, folder, exit="dual", confirm="false")
    assert (both.code, both.outputs["gate1"], both.outputs["can-exit"]) == (10, "true", "false")
    assert "::error title=Gate 2 is closed" in both.out


def test_the_action_shards_and_combines(machine: Callable[..., Machine]) -> None:
    host = machine("ci-gate")
    folder = host.clone()
    for index in ("1", "2"):
        step = act(host, folder, shard=f"{index}/2", arguments=f"--splits=2\n--group={index}")
        assert (step.code, step.outputs) == (0, {}), step.out
    combined = act(host, folder, combine="phase-gate-shards")
    assert (combined.code, combined.outputs["streak"]) == (10, "1")


@pytest.mark.sweep
def test_the_action_proves(machine: Callable[..., Machine]) -> None:
    host = machine("ci-gate")
    folder = host.clone()
    (folder / "test_more.py").write_text("def test_more():\n    assert 1 + 1 == 2\n", encoding="utf-8")
    step = act(host, folder, prove_base="HEAD")
    assert step.code == 0, step.out
    assert "only tests changed since HEAD" in step.out
    with (folder / "basket.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef is_empty(basket):\n    return basket.total() == 0\n")
    step = act(host, folder, prove_base="HEAD")
    assert step.code == 10, step.out
    assert "::error file=test_more.py,line=1,title=prove --base HEAD::test_more" in step.out
    assert "- test_more.py::test_more: passes without the change\n" in step.summary
    (folder / "test_more.py").write_text(NEEDS_AND_GUARDS, encoding="utf-8")
    assert act(host, folder, prove_base="HEAD").code == 0
    assert act(host, folder, prove_base="HEAD", prove_strict="true").code == 10


# --- pre-commit


HOOKS = {row["id"]: row for row in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
WORKFLOW = "workflow: own\nphases:\n  WORK:\n    gate_1: {name: Works, condition: tests_total > 0}\n"


def test_the_pre_commit_hook(machine: Callable[..., Machine]) -> None:
    hook = HOOKS["phase-gate-check"]
    assert (hook["language"], hook["pass_filenames"], hook["always_run"]) == ("python", False, True)
    assert hook["stages"] == ["pre-commit", "pre-push"]
    host = machine("ci-gate")
    folder = host.clone()
    entry = [*hook["entry"].split(), "--gate1"]
    assert host.run(folder, entry)[0] == 10
    host.run(folder, ["pytest", "--phase=green", "--phase-confirm"])
    assert host.run(folder, entry)[0] == 0
    (folder / "basket.py").write_text(WRONG, encoding="utf-8")
    assert host.run(folder, entry)[0] == 10


def test_the_pre_commit_hook_refuses_a_workflow_that_is_wrong(machine: Callable[..., Machine]) -> None:
    hook = HOOKS["phase-gate-check-workflow"]
    assert (hook["language"], hook["pass_filenames"], hook["types"]) == ("python", False, ["yaml"])
    host = machine("ci-gate")
    folder = host.clone()
    (folder / "phase-gate.yaml").write_text("workflow: own.yaml\n", encoding="utf-8")
    (folder / "own.yaml").write_text(WORKFLOW, encoding="utf-8")
    code, message = host.run(folder, hook["entry"].split())
    assert code == 0, message
    (folder / "own.yaml").write_text(WORKFLOW.replace("tests_total", "tests_totl"), encoding="utf-8")
    code, message = host.run(folder, hook["entry"].split())
    assert code == 2
    assert "own.yaml:4:38: unknown name" in message
