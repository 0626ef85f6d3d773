"""What git shows since a phase began, in real repositories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.evidence.git import PROVIDER
from phase_gate.gate.measured import Measured
from tests.evidence.folders import Folder
from tests.support import CALC, Project

pytestmark = pytest.mark.processes

NAMES = frozenset({"tree_clean", "files_changed", "files_changed_in_iteration", "commits"})

Change = Callable[[Project], object]


def since(root: Path, change: Callable[[], object]) -> Measured:
    """Remember, change, look."""
    folder = Folder(root, wanted=NAMES).remember("git", PROVIDER)
    change()
    return folder.measure(PROVIDER)


@pytest.fixture
def repository(project: Project) -> Project:
    project.write({"a.py": "a = 1\n", "b.py": "b = 1\n", "notes.txt": "", ".gitignore": "*.log\n"})
    project.commit_all()
    return project


def edit(project: Project, name: str = "a.py", text: str = "a = 2\n") -> None:
    project.write({name: text})


def commit(project: Project) -> None:
    project.git("add", "-A")
    project.git("commit", "-qm", "more")


def stage(project: Project) -> None:
    edit(project)
    project.git("add", "-A")


def nothing(project: Project) -> None:
    """Change nothing."""


def edit_and_commit(project: Project) -> None:
    edit(project)
    commit(project)


def there_and_back(project: Project) -> None:
    edit_and_commit(project)
    edit(project, text="a = 1\n")
    commit(project)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(nothing, (True, 0, 0), id="nothing"),
        pytest.param(edit, (False, 1, 0), id="unstaged"),
        pytest.param(stage, (False, 1, 0), id="staged"),
        pytest.param(edit_and_commit, (True, 1, 1), id="committed"),
        pytest.param(there_and_back, (True, 0, 2), id="there-and-back"),
        pytest.param(lambda project: edit(project, "new.py"), (False, 1, 0), id="untracked"),
        pytest.param(lambda project: edit(project, "né w.py"), (False, 1, 0), id="odd-name"),
        pytest.param(lambda project: project.remove("b.py"), (False, 1, 0), id="deleted"),
        pytest.param(lambda project: project.git("mv", "a.py", "c.py"), (False, 2, 0), id="renamed"),
        pytest.param(lambda project: edit(project, "out.log"), (True, 0, 0), id="ignored"),
        pytest.param(lambda project: edit(project, ".phase-gate/state.json"), (True, 0, 0), id="our-own-state"),
    ],
)
def test_since_the_phase_began(repository: Project, change: Change, expected: tuple[bool, int, int]) -> None:
    found = since(repository.root, lambda: change(repository)).metrics
    assert (found["tree_clean"], found["files_changed"], found["commits"]) == expected
    assert found["files_changed_in_iteration"] == expected[1], "no run yet: since the phase began"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(nothing, 0, id="still-the-same"),
        pytest.param(commit, 0, id="committed-as-it-was"),
        pytest.param(lambda project: edit(project, text="a = 3\n"), 1, id="edited-again"),
        pytest.param(lambda project: edit(project, text="a = 1\n"), 1, id="taken-back"),
        pytest.param(lambda project: (project.root / "new.py").unlink(), 1, id="an-untracked-one-is-gone"),
    ],
)
def test_what_was_uncommitted_before(repository: Project, change: Change, expected: int) -> None:
    edit(repository)
    edit(repository, "new.py")
    assert since(repository.root, lambda: change(repository)).metrics["files_changed"] == expected


def test_before_the_first_commit(project: Project) -> None:
    project.git("init", "-q")
    edit(project, "b.py")
    found = since(project.root, lambda: edit_and_commit(project)).metrics
    assert found == {"tree_clean": True, "files_changed": 1, "files_changed_in_iteration": 1, "commits": 1}


def test_a_project_below_the_top_of_its_repository(repository: Project) -> None:
    edit(repository, "part/inside.py")
    commit(repository)
    edit(repository, "outside.py")
    found = since(repository.root / "part", lambda: edit(repository, "part/inside.py", "a = 3\n")).metrics
    assert (found["tree_clean"], found["files_changed"]) == (False, 1)


def test_without_a_repository_it_is_unknown(tmp_path: Path) -> None:
    found = since(tmp_path, lambda: None)
    assert found.metrics == {}
    assert found.warnings[0].startswith(
        "commits, files_changed, files_changed_in_iteration, tree_clean are unknown: git"
    )


def test_without_a_memory_only_the_present_is_known(repository: Project) -> None:
    folder = Folder(repository.root, wanted=NAMES)
    found = folder.measure(PROVIDER)
    assert found.metrics == {"tree_clean": True}
    assert "nothing was remembered when the phase began" in found.warnings[0]
    # A commit that is gone.
    folder.memory["git"] = {"head": "1" * 40, "dirty": {}}
    found = folder.measure(PROVIDER)
    assert found.metrics == {"tree_clean": True}
    unknown = "files_changed and commits are unknown: git can't compare with the commit that the phase began with"
    assert found.warnings[0] == unknown


RULES = "phases:\n  GREEN: {condition: tree_clean AND files_changed > 0}\n"


def test_a_gate_may_ask_for_a_clean_tree(project: Project) -> None:
    project.write({"phase-gate.yaml": RULES, ".gitignore": "__pycache__\n"}).red()
    project.commit_all()
    assert project.run("--phase=green", "-v").has("+ tree_clean", "- files_changed > 0")
    project.write(calc=CALC)
    assert project.run("--phase=green", "-v").has("- tree_clean", "+ files_changed > 0")
    project.commit_all()
    assert project.run("--phase=green", "-v").has("+ tree_clean", "+ files_changed > 0")
