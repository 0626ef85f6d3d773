"""Which commits are a task's own, in real repositories. The task's file is `mine.py`; `theirs.py` is another one's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from phase_gate.storage.tree.git import head_of
from phase_gate.tasks.changes import OwnCommits, find_own_commits
from tests.support import Sample

pytestmark = pytest.mark.processes


def commit(sample: Sample, **files: str) -> str:
    sample.write(**files)
    sample.commit_all()
    return head_of(sample.root)


def own(sample: Sample, base: str, gate: tuple[str, ...] = ()) -> OwnCommits:
    return find_own_commits(
        sample.root, base, head_of(sample.root), gate=gate, is_ours=lambda path: path != "theirs.py"
    )


@pytest.fixture
def base(sample: Sample) -> str:
    return commit(sample, mine="a = 1\n", theirs="b = 1\n")


def amend_words(sample: Sample) -> None:
    sample.git("commit", "-q", "--amend", "-m", "in better words")


def commit_theirs(sample: Sample) -> None:
    commit(sample, theirs="b = 2\n")


def go_back(sample: Sample) -> None:
    sample.git("commit", "-q", "--allow-empty", "-m", "nothing")
    sample.git("reset", "-q", "--hard", "HEAD^")


@pytest.mark.parametrize("change", [amend_words, commit_theirs, go_back, lambda sample: None])
def test_what_is_no_commit_of_the_task(sample: Sample, base: str, change: Callable[[Sample], None]) -> None:
    change(sample)
    assert own(sample, base) == OwnCommits()


def test_a_commit_of_the_gate_is_none(sample: Sample, base: str) -> None:
    made = commit(sample, mine="a = 2\n")
    assert own(sample, base, gate=(made,)) == OwnCommits()
    assert own(sample, base) == OwnCommits(
        ids=(made,), undo=f"git reset --soft {base[:10]}", files=frozenset({"mine.py"})
    )


def test_several_are_taken_back_at_once_and_nobody_elses_with_them(sample: Sample, base: str) -> None:
    between = commit(sample, theirs="b = 2\n")
    made = (commit(sample, mine="a = 2\n"), commit(sample, mine="a = 1\n", theirs="b = 3\n"))
    found = own(sample, base)
    assert (found.ids, found.undo) == (made, f"git reset --soft {between[:10]}")
    assert found.files == {"mine.py", "theirs.py"}, "what they touched, also where the second took it back"
    commit(sample, theirs="b = 4\n")
    found = own(sample, base)
    assert (found.ids, found.undo) == (made, "")


def test_an_amended_commit_has_only_what_is_new_in_it(sample: Sample, base: str) -> None:
    sample.write(mine="a = 2\n")
    sample.git("commit", "-q", "-a", "--amend", "-m", "with more")
    found = own(sample, base)
    assert (found.files, found.undo) == (frozenset({"mine.py"}), f"git reset --soft {base[:10]}")


def test_a_merge_is_one_commit(sample: Sample, base: str) -> None:
    sample.git("checkout", "-q", "-b", "side")
    commit(sample, new="c = 1\n")
    sample.git("checkout", "-q", "-")
    sample.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    found = own(sample, base)
    assert (len(found.ids), found.files) == (1, frozenset({"new.py"}))


def test_a_merge_of_what_the_gate_committed_is_the_gate_s(sample: Sample, base: str) -> None:
    sample.git("checkout", "-q", "-b", "side")
    made = commit(sample, new="c = 1\n")
    sample.git("checkout", "-q", "-")
    sample.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    assert own(sample, base, (made,)) == OwnCommits()
    after = commit(sample, mine="a = 3\n")
    assert own(sample, base, (made,)).ids == (after,), "and what comes after it is not"


def test_the_first_commit_of_all(sample: Sample) -> None:
    made = commit(sample, mine="a = 1\n")
    assert own(sample, "") == OwnCommits(ids=(made,), undo="git update-ref -d HEAD", files=frozenset({"mine.py"}))


def test_without_git_there_are_none(sample: Sample) -> None:
    assert head_of(sample.root) == ""
    assert own(sample, "") == own(sample, "1234567") == OwnCommits()
