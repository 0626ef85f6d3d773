"""Files beside the sources: which are outputs of tools, and which are data of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.project import Project as Place
from phase_gate.storage.fingerprint import name_blob, take_tree
from phase_gate.storage.listing import find_untracked_outputs, is_output
from tests.storage.repositories import commit_all, git, write
from tests.support import Project

OUTPUTS = (
    *(".coverage", ".coverage.host.1.2", "htmlcov/index.html", "coverage.xml", "coverage.json", "coverage.lcov"),
    *("junit.xml", "junit-3.11.xml", "reports/TEST-a.xml", "app.log", "logs/app.log", "src/app.py,cover"),
    *(".idea/workspace.xml", ".vscode/settings.json", ".claude/settings.local.json", ".testmondata", ".report.json"),
    *("__pycache__/a.pyc", ".pytest_cache/v/lastfailed", ".mypy_cache/3.11/a.json", ".hypothesis/examples/a"),
    *("a.egg-info/PKG-INFO", "src/.app.py.swp", "src/app.py~", ".DS_Store", "tests/.coverage"),
    *("phase-gate-shards/1-of-2.shard.gz", "round-1/a/1-of-2.shard.gz"),
)
FILES = (
    *("data.csv", "src/rates.toml", ".env", "junit.py", "junit.xsd", "coverage.py", ".coveragerc", "catalog", "blog"),
    # A test may compare with it.
    *("tests/data/expected.log", "test/coverage.xml"),
    # No name makes a source, or a setting of pytest's, an output.
    *(".idea/conftest.py", "htmlcov/code.py", "__pycache__/a.py", ".claude/hooks/look.py", ".vscode/pytest.ini"),
    "a.egg-info/pyproject.toml",
)


@pytest.mark.parametrize("path", FILES)
def test_a_file_that_counts(path: str) -> None:
    assert not is_output(path)


@pytest.mark.parametrize(
    ("path", "tracked", "counts"),
    [
        pytest.param(".venv/lib/a.py", "app.py", False, id="an-environment"),
        pytest.param("env/lib/a.py", "app.py", False, id="an-environment-by-its-mark"),
        pytest.param("node_modules/a/package.json", "app.py", False, id="packages-of-another-language"),
        pytest.param("build/lib/a.json", "app.py", False, id="what-is-built"),
        pytest.param("build/lib/a.py", "app.py", True, id="python-that-is-built"),
        pytest.param("src/build/a.json", "src/build/main.py", True, id="a-package-called-build"),
        pytest.param("src/build/lib/a.json", "src/build/main.py", True, id="deep-in-such-a-package"),
        pytest.param("src/build/.venv/a.py", "src/build/main.py", False, id="an-environment-in-such-a-package"),
        pytest.param("venv/a.py", "venv/b.py", True, id="sources-in-a-folder-called-venv"),
        pytest.param("data/a.csv", "app.py", True, id="any-other-folder"),
        pytest.param("a.csv", "build/app.py", True, id="the-top"),
    ],
)
def test_folders_that_git_does_not_track(path: str, tracked: str, counts: bool) -> None:
    assert (path not in find_untracked_outputs([path, "env/pyvenv.cfg"], [tracked])) is counts


# --- with real repositories


@pytest.mark.processes
def test_outputs_change_nothing_written_staged_or_committed(repo: Path) -> None:
    before = take_tree(repo)
    for path in OUTPUTS:
        write(repo / path, "1")
    assert take_tree(repo) == before
    git(repo, "add", "-A", "-f")
    assert take_tree(repo) == before
    for path in OUTPUTS:
        write(repo / path, "2")
    assert take_tree(repo) == before


@pytest.mark.processes
def test_reports_that_options_name(repo: Path) -> None:
    reports = ("out/../report.xml", "results/", "src/", "report.xml")
    before = take_tree(repo, reports=reports)
    for path in ("report.xml", "results/a.json", "results/deep/b.json"):
        write(repo / path, "1")
    assert take_tree(repo, reports=reports) == before
    commit_all(repo)
    assert take_tree(repo, reports=reports) == before
    write(repo / "src/app.py", "a = 1\n")
    assert take_tree(repo, reports=("src/app.py", *reports)) != before, "an option hides no source"


# --- files beside the tests: which are data, which are outputs, and what stands for their contents


#: Data and its neighbours; the last of them is what tools leave behind.
TRACKED = ("tests/test_a.py", "tests/table.csv", "tests/notes.md")
DATA = ("tests/data/prices.csv", "tests/new_helper.py", "tests/.env", "tests/größe ü.txt")
LEFT_BEHIND = (
    "tests/__pycache__/test_a.cpython-313.pyc",
    "tests/.pytest_cache/v/cache/lastfailed",
    "tests/.hypothesis/examples/a",
    "tests/data/.mypy_cache/a.json",
    "tests/old.pyc",
    "tests/.test_a.py.swp",
    "tests/test_a.py~",
    "tests/.#test_a.py",
    "tests/#test_a.py#",
    "tests/.DS_Store",
    "tests/.phase-gate/state.json",
)


def fill(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x", encoding="utf-8")


@pytest.fixture
def repository(project: Project) -> Project:
    fill(project.root, *TRACKED)
    project.write({".gitignore": "*.log\n"})
    project.commit_all()
    fill(project.root, *DATA, *LEFT_BEHIND, "tests/run.log", "src/beside.csv")
    return project


def take(root: Path, *folders: str) -> dict[str, str]:
    return Place.find(root, environment={}).take_data(folders, lambda path: True)


@pytest.mark.processes
def test_in_a_repository(repository: Project) -> None:
    found = take(repository.root, "tests")
    assert sorted(found) == sorted((*TRACKED, *DATA)), "not ignored, no output, and below that folder"


def test_without_git_it_is_everything(tmp_path: Path) -> None:
    fill(tmp_path, "tests/test_a.py", "tests/run.log", *DATA, *LEFT_BEHIND, "src/beside.csv")
    found = take(tmp_path, "tests")
    assert sorted(found) == sorted(("tests/test_a.py", "tests/run.log", *DATA))
    assert set(found.values()) == {name_blob(b"x")}
