"""Files as they were when a task was taken, with git and without; and the diff that a reviewer gets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from phase_gate.storage.tree.fingerprint import list_matcher, take_tree
from phase_gate.tasks.changes import ALL_LINES, FILE_LINES, WIDTH, TextChange, read_changes, remember_files, render_diff
from tests.evidence.test_git import context
from tests.support import Sample

pytestmark = pytest.mark.processes

LISTED = ["mine.py", "data/"]


def remember(root: Path) -> dict[str, Any]:
    listed = list_matcher(LISTED)
    always = tuple(str(path.relative_to(root)) for path in root.rglob("*") if listed(str(path.relative_to(root))))
    tree = take_tree(root, always=always, state_folder=root / ".phase-gate")
    return remember_files(context(root), tree, LISTED)


def changes(root: Path, memory: dict[str, Any], *paths: str) -> list[TextChange]:
    return read_changes(root, memory, paths)


@pytest.mark.parametrize("versioned", [True, False], ids=["git", "no-git"])
def test_a_file_then_and_now(sample: Sample, versioned: bool) -> None:
    sample.write({"mine.py": "a = 1\n", "test_it.py": "a = 1\n", "data/gone.txt": "x\n"})
    if versioned:
        sample.commit_all()
    memory = remember(sample.root)
    sample.write({"mine.py": "a = 2\n", "data/new.txt": "y\n"})
    sample.remove("data/gone.txt")
    assert changes(sample.root, memory, "mine.py", "test_it.py", "data/new.txt", "data/gone.txt") == [
        TextChange(path="data/gone.txt", before="x\n"),
        TextChange(path="data/new.txt", now="y\n"),
        TextChange(path="mine.py", before="a = 1\n", now="a = 2\n"),
    ]


def test_what_was_not_committed_then_is_kept_if_it_matters(sample: Sample) -> None:
    sample.write({"mine.py": "a = 1\n", "other.txt": "a\n"})
    sample.commit_all()
    sample.write({"mine.py": "a = 2\n", "test_new.py": "b = 1\n", "other.txt": "b\n", ".env": "SECRET=1\n"})
    memory = remember(sample.root)
    assert set(memory["texts"]) == {"mine.py", "test_new.py"}, "and nothing else of what lies around"
    sample.write({"mine.py": "a = 3\n", "test_new.py": "b = 2\n", "other.txt": "c\n"})
    assert changes(sample.root, memory, "mine.py", "other.txt", "test_new.py") == [
        TextChange(path="mine.py", before="a = 2\n", now="a = 3\n"),
        TextChange(path="other.txt", problem="it was not committed when the task was taken, and not kept"),
        TextChange(path="test_new.py", before="b = 1\n", now="b = 2\n"),
    ]


def test_below_the_top_of_a_repository(sample: Sample) -> None:
    sample.write({"package/mine.py": "a = 1\n", "mine.py": "wrong = 1\n"})
    sample.commit_all()
    root = sample.root / "package"
    memory = remember(root)
    (root / "mine.py").write_text("a = 2\n", encoding="utf-8")
    assert changes(root, memory, "mine.py") == [TextChange(path="mine.py", before="a = 1\n", now="a = 2\n")]


def test_what_can_not_be_shown_says_why(sample: Sample) -> None:
    sample.write({"data/big.txt": "x", "data/image": "x"})
    sample.commit_all()
    memory = remember(sample.root)
    sample.write({"data/big.txt": "x" * 300_000, "data/image": "\0"})
    os.mkfifo(sample.root / "data" / "pipe")
    (sample.root / "data" / "link").symlink_to("big.txt")
    found = changes(sample.root, memory, "data/big.txt", "data/image", "data/pipe", "data/link")
    assert {each.path.removeprefix("data/"): each.problem or each.now for each in found} == {
        "big.txt": "it has more than 256 KiB",
        "image": "it is no text",
        "pipe": "it is no file",
        "link": "big.txt",
    }


def test_not_more_files_than_a_person_reads(sample: Sample) -> None:
    memory: dict[str, Any] = {"git": None, "files": {}, "texts": {}}
    found = changes(sample.root, memory, *(f"data/{number:04}" for number in range(201)))
    assert found == [TextChange(path="data/0200", problem="more files changed than are compared")]


@pytest.mark.parametrize(
    ("change", "lines", "left_out"),
    [
        pytest.param(
            {"before": "a\nb\n", "now": "a\nc\n"},
            ["--- a/f", "+++ b/f", "@@ -1,2 +1,2 @@", " a", "-b", "+c"],
            [],
            id="changed",
        ),
        pytest.param({"now": "a\n"}, ["--- /dev/null", "+++ b/f", "@@ -0,0 +1 @@", "+a"], [], id="new"),
        pytest.param({"before": "a\n"}, ["--- a/f", "+++ /dev/null", "@@ -1 +0,0 @@", "-a"], [], id="gone"),
        pytest.param({"before": "a\r\n", "now": "a\n"}, [], [], id="only-other-line-ends"),
        pytest.param({"problem": "it is no text"}, [], ["f: it is no text"], id="nothing-to-show"),
        pytest.param({"now": "x\n" * 30_000}, [], ["f: 0 lines before, 30000 now"], id="too-long-to-compare"),
    ],
)
def test_one_file(change: dict[str, str], lines: list[str], left_out: list[str]) -> None:
    diff = render_diff([TextChange(path="f", **change)])
    assert (list(diff.lines), list(diff.left_out)) == (lines, left_out)


def test_no_file_and_no_line_takes_the_room_of_others() -> None:
    flood = [TextChange(path=f"a{number}", now="x\n" * 1000) for number in range(10)]
    diff = render_diff([*flood, TextChange(path="test_z.py", now="y" * 1000)], first={"test_z.py"})
    assert diff.lines[1] == "+++ b/test_z.py"
    assert (len(diff.lines), len(diff.lines[3])) == (ALL_LINES, WIDTH)
    assert len(diff.left_out) == 10
    assert diff.left_out[0] == f"a0: {1003 - FILE_LINES} more lines"
    assert diff.left_out[-1] == "a9: 1003 more lines", "all of it"
