"""Artifacts of a pipeline: what is looked at, what counts as the same, what is lacking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phase_gate.storage.git_command import head_of
from phase_gate.tasks.artifacts import find_drift, read_artifact
from phase_gate.workflow.model import Artifact, Drift, PipelineRules
from tests.evidence.folders import Folder
from tests.evidence.test_git import NAMES, commit, edit
from tests.support import Project

WORDS = "The post office sells parcels at its counter, and a clerk reads the price off the screen."


def artifact(path: str = "plan.md", **changes: Any) -> Artifact:
    return Artifact(name="plan", path=path, **changes)


def problem(root: Path, described: Artifact) -> str:
    return read_artifact(root, described).problem


@pytest.mark.parametrize(
    ("content", "changes", "words"),
    [
        pytest.param(WORDS, {"min_words": 10}, "", id="enough"),
        pytest.param(WORDS, {"min_words": 40}, "different words of text, at least 40", id="too-short"),
        pytest.param("plan " * 500, {"min_words": 2}, "1 different word", id="one-word-very-often"),
        pytest.param("", {}, "0 different words", id="empty"),
        pytest.param("# Plan\n\nTODO\n", {"min_words": 2}, "1 different word", id="nobody-has-written-it-yet"),
        pytest.param("# Plan\n\n{describe the plan here}\n", {}, "a template's text is still in it", id="a-template"),
        pytest.param("Well.\n\n  **decision:** approved.\n", {"line": "Decision: approved"}, "", id="has-the-line"),
        pytest.param(
            "Decision: approved if paid\n", {"line": "Decision: approved"}, "it has no line", id="another-line"
        ),
        pytest.param("> Decision: approved\n", {"line": "Decision: approved"}, "it has no line", id="a-quoted-line"),
        pytest.param(
            '{"failed_phase": "A", "summary": "<what happened, in a sentence>", "root_cause": "x", '
            '"requires_phase_rewind_to": null}',
            {"schema": "root-cause"},
            "a template's text is still in it",
            id="a-record-that-was-not-filled-in",
        ),
        pytest.param(b"\xff\xfe", {}, "not UTF-8 text", id="no-text"),
        pytest.param("x" * (1024 * 1024 + 1), {}, "larger than 1 MiB", id="too-large"),
        pytest.param("{", {"schema": "root-cause"}, "not JSON", id="no-json"),
        pytest.param('{"a": 1, "a": 2}', {"schema": "root-cause"}, "a key occurs twice", id="a-key-twice"),
        pytest.param("[" * 100_000, {"schema": "root-cause"}, "nested too deep", id="nested-too-deep"),
        # What the parser takes, and a reader that calls itself for each level does not.
        *(
            pytest.param("[" * depth + "]" * depth, {"schema": "root-cause"}, "nested too deep", id=f"{depth}-levels")
            for depth in (*range(900, 960, 20), 5000)
        ),
        pytest.param("{}", {"schema": "root-cause"}, "'failed_phase' is missing", id="not-what-the-schema-says"),
    ],
)
def test_what_an_artifact_lacks(tmp_path: Path, content: str | bytes, changes: dict[str, Any], words: str) -> None:
    (tmp_path / "plan.md").write_bytes(content if isinstance(content, bytes) else content.encode())
    found = problem(tmp_path, artifact(**changes))
    assert (words in found) if words else not found


def test_a_glob_finds_several_and_all_of_them_count(tmp_path: Path) -> None:
    described = artifact("roles/*.md", min_words=5)
    (tmp_path / "roles").mkdir()
    (tmp_path / "roles" / "a.md").write_text(WORDS)
    one = read_artifact(tmp_path, described)
    assert (one.files, one.problem) == (("roles/a.md",), "")
    (tmp_path / "roles" / "b.md").write_text("short")
    both = read_artifact(tmp_path, described)
    assert both.files == ("roles/a.md", "roles/b.md")
    assert both.problem == "roles/b.md: 1 different word of text, at least 5 are wanted"
    assert both.digest != one.digest


def test_only_the_state_folder_of_the_project_itself_is_left_out(tmp_path: Path) -> None:
    root = tmp_path / ".phase-gate" / "copy"
    for folder in (root, root / ".phase-gate"):
        folder.mkdir(parents=True)
        (folder / "plan.md").write_text(WORDS)
    assert read_artifact(root, artifact("**/*.md")).files == ("plan.md",)


def test_what_makes_a_new_version(tmp_path: Path) -> None:
    file = tmp_path / "plan.md"
    file.write_text(WORDS)
    first = read_artifact(tmp_path, artifact()).digest
    file.write_text(WORDS.replace(" ", "\n   ") + "\n\n")
    assert read_artifact(tmp_path, artifact()).digest == first, "wrapped otherwise"
    file.write_text(WORDS.replace("clerk", "Clerk"))
    assert read_artifact(tmp_path, artifact()).digest != first
    file.unlink()
    assert read_artifact(tmp_path, artifact()).digest == ""


@pytest.mark.processes
def test_lines_that_came_and_went_since_the_plan_was_approved(project: Project) -> None:
    project.write({"a.py": "a = 1\n"})
    project.commit_all()
    base = head_of(project.root)

    def count_lines() -> int:
        context = Folder(project.root, wanted=NAMES).context
        found = find_drift(context, PipelineRules(), Drift(files=("*.toml",), lines=400), base)
        assert found is not None
        return found.lines

    assert count_lines() == 0
    edit(project, "a.py", "a = 2\na = 3\n")
    edit(project, "new.py", "a = 1\n")
    assert count_lines() == 1 + 2 + 1
    commit(project)
    assert count_lines() == 1 + 2 + 1
