"""What a run writes stays in the project: no folder of ours is a link, and no file of the project names another place.

A person may: by an option, or the environment.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from phase_gate.cli import main
from tests.e2e.sessions import state_of
from tests.storage.stores import contents
from tests.support import Project

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")

PASSING = "def test_one():\n    pass\n"


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outside")


@pytest.fixture
def project(project: Project) -> Project:
    return project.write({"test_a.py": PASSING})


def lead_away(project: Project, name: str, outside: Path) -> Path:
    """Put a link in the place of a folder, to its own content elsewhere; return the link."""
    link = project.root / name
    target = outside / link.name
    if link.exists():
        shutil.move(link, target)
    else:
        target.mkdir()
        link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    return link


# --- links


@pytest.mark.parametrize(
    ("name", "rules", "options"),
    [
        pytest.param(".phase-gate", "", (), id="the-state-folder"),
        pytest.param(".phase-gate/objects", "", (), id="objects"),
        pytest.param(".phase-gate/runs", "", (), id="the-locks-of-runs"),
        pytest.param(".phase-gate/evidence", "", (), id="output-of-commands"),
        pytest.param(".phase-gate/drive", "", (), id="output-of-agents"),
        pytest.param(".phase-gate/store", "", (), id="the-copy-of-a-store"),
        pytest.param(".phase-gate/tasks", "", (), id="all-tasks"),
        pytest.param(".phase-gate/tasks/other", "", ("--phase-task=other",), id="a-task"),
        pytest.param(".phase-gate/cache", "", ("--phase-task=other",), id="the-cache-of-all-tasks"),
        pytest.param("build", "run: {dir: build/gate}\n", (), id="a-folder-above-the-state-folder"),
    ],
)
def test_a_folder_of_ours_that_is_a_link(
    project: Project,
    outside: Path,
    name: str,
    rules: str,
    options: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    if rules:
        project.write({"phase-gate.yaml": rules})
    assert project.run("--phase=green", *options).code == 10, "an honest run first, so that everything is there"
    link = lead_away(project, name, outside)
    before = contents(outside)
    ran = project.run("--phase=green", *options)
    assert ran.code == 11
    assert ran.has("1 passed", f"{link} is a symbolic link", "[state-storage]", "PHASE_GATE_DIR")
    task = [option.replace("--phase-task", "--task") for option in options]
    for words in (["check"], ["status"], ["history"], ["audit"], ["signal", "--next", "--reason", "done"]):
        capsys.readouterr()
        assert main([*words, *task]) == 11, words
        assert f"{link} is a symbolic link" in capsys.readouterr().err, words
    assert contents(outside) == before


def test_a_command_for_all_tasks(project: Project, outside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = lead_away(project, ".phase-gate", outside)
    assert main(["verify", "status"]) == 11
    assert f"{link} is a symbolic link" in capsys.readouterr().err
    assert contents(outside) == {}


@pytest.mark.parametrize("name", [".phase-gate", "phase-gate-shards"])
def test_a_shard_writes_through_no_link(project: Project, outside: Path, name: str) -> None:
    link = lead_away(project, name, outside)
    ran = project.run("--phase=green", "--phase-shard=1/2")
    assert ran.code == 11
    assert ran.has("1 passed", f"{link} is a symbolic link")
    assert contents(outside) == {}


# --- settings


@pytest.mark.parametrize(("report", "link"), [("out/gate.json", "out"), ("gate.json", "gate.json")])
def test_a_file_of_the_project_names_no_other_place(project: Project, outside: Path, report: str, link: str) -> None:
    project.write({"phase-gate.yaml": f"run: {{report: {report}}}\n"})
    (project.root / link).symlink_to(outside if link == "out" else outside / "victim")
    beside = sorted(project.root.parent.iterdir())
    ran = project.run("--phase=green")
    assert ran.code == 4
    assert ran.has("run.report: a link takes", "[bad-configuration]", "try: ")
    assert (sorted(project.root.parent.iterdir()), contents(outside)) == (beside, {})


# --- honest twins


def honest(project: Project, *options: str) -> None:
    assert project.run("--phase=green", *options).code == 10
    assert project.run("--phase=green", *options).code == 0


def test_a_project_behind_a_link(project: Project, outside: Path) -> None:
    (outside / "way").symlink_to(project.root.parent)
    project.environment.chdir(outside / "way" / project.root.name)
    honest(project)
    assert state_of(project).streak == 2


@pytest.mark.parametrize(
    ("way", "place"),
    [
        pytest.param("option", "{outside}/state", id="elsewhere-by-an-option"),
        pytest.param("option", ".phase-gate", id="the-usual-one-and-it-is-a-link"),
        pytest.param("variable", "link", id="behind-a-link-by-the-environment"),
    ],
)
def test_a_person_may_name_any_folder(project: Project, outside: Path, way: str, place: str) -> None:
    for link in ("link", ".phase-gate"):
        (project.root / link).symlink_to(outside)
    named = place.format(outside=outside)
    if way == "option":
        honest(project, f"--phase-dir={named}")
        assert main(["check", "--gate1", "--dir", named]) == 0
    else:
        project.environment.setenv("PHASE_GATE_DIR", named)
        honest(project)
        assert main(["check", "--gate1"]) == 0


def test_a_person_may_name_any_report(project: Project, outside: Path) -> None:
    (project.root / "link").symlink_to(outside)
    assert project.run("--phase=green", "--phase-report=link/gate.json", f"--phase-report={outside}/a.md").code == 10
    assert sorted(contents(outside)) == ["a.md", "gate.json"]
