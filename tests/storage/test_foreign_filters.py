"""Which filters a repository brings along: read from settings, and never run. The user's own are."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.storage.tree.fingerprint import take_tree
from phase_gate.storage.tree.git import NoGitError, foreign_filters, run_git
from phase_gate.storage.tree.repository import blank, find_foreign, include_others, may_bring_filters
from tests.storage.repositories import commit_all, git, posix_only, write, write_project

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", False, id="nothing"),
        pytest.param("[core]\n\tbare = false\n", False, id="core"),
        pytest.param('[remote "origin"]\n\tpartialclonefilter = blob:none\n', False, id="a-partial-clone"),
        pytest.param("[lfs]\n\trepositoryformatversion = 0\n", False, id="git-lfs-is-used"),
        pytest.param('[lfs "https://host/info/lfs"]\n\taccess = basic\n', False, id="git-lfs-is-used-with-a-server"),
        pytest.param('[filter "a"]\n', True, id="a-filter"),
        pytest.param('[FILTER "a"]\n', True, id="in-capitals"),
        pytest.param("[filter.a]\n", True, id="in-the-old-form"),
        pytest.param('[core] bare = false [filter "a"] clean = a\n', True, id="in-the-middle-of-a-line"),
        pytest.param("[include]\n", True, id="another-file"),
        pytest.param('[includeIf "gitdir:/"]\n', True, id="another-file-perhaps"),
        pytest.param('[lfs "extension.a"]\n', True, id="an-extension-of-git-lfs"),
        pytest.param('[LFS  "\\e\\xtension.a"]\n', True, id="an-extension-that-hides"),
        pytest.param("[lfs.extension.a]\n", True, id="an-extension-in-the-old-form"),
    ],
)
def test_when_git_has_to_be_asked(text: str, expected: bool) -> None:
    assert may_bring_filters((b"", text.encode())) is expected
    assert include_others((text.encode(), b"")) is ("nclude" in text)


def listing(*rows: tuple[str, str, str]) -> str:
    return "".join(f"{scope}\0{key}\n{value}\0" for scope, key, value in rows)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([("global", "filter.lfs.clean", "git-lfs")], set(), id="the-users-own"),
        pytest.param([("local", "filter.a.clean", "x")], {"a"}, id="the-repositorys"),
        pytest.param([("worktree", "filter.a.process", "x")], {"a"}, id="the-checkouts"),
        pytest.param([("local", "filter.a.b.clean", "x")], {"a.b"}, id="a-name-with-a-dot"),
        pytest.param([("local", "filter.a.required", "true")], {"a"}, id="any-key-of-it"),
        pytest.param(
            [("system", "filter.lfs.clean", "git-lfs"), ("local", "filter.lfs.clean", "git-lfs")],
            set(),
            id="the-same-as-the-users",
        ),
        pytest.param(
            [("global", "filter.lfs.clean", "git-lfs"), ("local", "filter.lfs.clean", "x")], {"lfs"}, id="another-one"
        ),
        pytest.param(
            [
                ("system", "filter.lfs.clean", "x"),
                ("global", "filter.lfs.clean", "y"),
                ("local", "filter.lfs.clean", "x"),
            ],
            {"lfs"},
            id="the-account-has-the-last-word",
        ),
        pytest.param(
            [("global", "filter.lfs.clean", "git-lfs"), ("local", "filter.lfs.process", "x")],
            {"lfs"},
            id="one-key-more",
        ),
        pytest.param(
            [
                ("global", "filter.lfs.clean", "git-lfs"),
                ("local", "filter.lfs.clean", "x"),
                ("local", "filter.lfs.clean", "git-lfs"),
            ],
            {"lfs"},
            id="one-of-several-values",
        ),
        pytest.param([("local", "lfs.extension.a.clean", "x")], {"lfs"}, id="what-git-lfs-runs"),
        pytest.param([("local", "lfs.url", "x"), ("local", "core.bare", "false")], set(), id="other-settings"),
        pytest.param([("unknown", "filter.a.clean", "x")], {"a"}, id="a-scope-that-we-do-not-know"),
    ],
)
def test_whose_a_filter_is(rows: list[tuple[str, str, str]], expected: set[str]) -> None:
    assert find_foreign(listing(*rows)) == expected


def test_a_name_that_can_not_be_blanked_is_said() -> None:
    with pytest.raises(ValueError, match="a=b"):
        blank(["a", "a=b"])


# --- with git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = write_project(tmp_path / "repo")
    write(folder / ".gitattributes", "*.csv filter=own\n")
    git(folder, "init", "-q")
    commit_all(folder)
    return folder


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return a function that makes a setting of the user's account."""
    file = tmp_path / "gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(file))

    def set_it(key: str, value: str) -> None:
        subprocess.run(["git", "config", "--file", str(file), key, value], check=True)

    return set_it


@posix_only
def test_filters_of_the_user_go_on_working(repo: Path, own: Callable[[str, str], None], tmp_path: Path) -> None:
    """As git-lfs does: what git keeps is short, and touching, staging and committing change nothing."""
    log = tmp_path / "log"
    own("filter.own.clean", f"echo called >> {log}; tr 0-9 a-j")
    (repo / "tests/table.csv").touch()
    before = take_tree(repo)
    assert log.read_text() == "called\n" * 2, "to compare, and to hash"
    write(repo / "tests/table.csv", "4,4,8\n")
    edited = take_tree(repo)
    assert edited != before
    # Here the helper has none of the user's settings, so it is told of the filter.
    git(repo, "-c", "filter.own.clean=tr 0-9 a-j", "commit", "-qam", "edit")
    assert take_tree(repo) == edited
    assert edited.files["tests/table.csv"] == git(repo, "rev-parse", ":tests/table.csv").strip()


@posix_only
def test_the_same_filter_in_the_repository_is_the_users(
    repo: Path, own: Callable[[str, str], None], tmp_path: Path
) -> None:
    """`git lfs install --local` on a machine that has git-lfs, as CI systems do it."""
    log = tmp_path / "log"
    clean = f"echo called >> {log}; cat"
    own("filter.own.clean", clean)
    git(repo, "config", "filter.own.clean", clean)
    assert foreign_filters(str(repo)) == frozenset()
    (repo / "tests/table.csv").touch()
    take_tree(repo)
    assert log.exists()
    git(repo, "config", "filter.own.clean", f"{clean} ")
    git(repo, "config", "filter.own.smudge", "cat")
    assert foreign_filters(str(repo)) == {"own"}


@posix_only
@pytest.mark.parametrize(
    "section",
    [
        pytest.param('[filter "a b"]\n\tclean = x\n', id="a-blank"),
        pytest.param('[filter "a\'b"]\n\tclean = x\n', id="a-quote"),
        pytest.param('[filter "a\\"b"]\n\tclean = x\n', id="a-double-quote"),
        pytest.param('[filter "A.b-C"]\n\tclean = x\n', id="dots-and-capitals"),
        pytest.param('[filter ""]\n\tclean = x\n', id="no-name"),
        pytest.param('[filter "ä"]\n\tclean = x\n', id="other-letters"),
        pytest.param('[filter "--x"]\n\tclean = x\n', id="like-an-option"),
    ],
)
def test_every_name_is_blanked(repo: Path, section: str) -> None:
    with (repo / ".git" / "config").open("a", encoding="utf-8") as file:
        file.write(section)
    (name,) = foreign_filters(str(repo))
    said = run_git(str(repo), "config", "--get-all", f"filter.{name}.clean").decode()
    assert said == "x\n\n", "the last value is what counts"


@posix_only
def test_a_name_that_can_not_be_blanked_means_walking(repo: Path) -> None:
    git(repo, "config", "filter.a=b.clean", "x")
    with pytest.raises(NoGitError):
        run_git(str(repo), "status")
    assert take_tree(repo).digest.startswith("walk:")


@posix_only
def test_included_settings_are_read_anew(repo: Path) -> None:
    git(repo, "config", "include.path", "../more.txt")
    assert foreign_filters(str(repo)) == frozenset()
    write(repo / "more.txt", '[filter "a"]\n\tclean = x\n')
    assert foreign_filters(str(repo)) == {"a"}


@posix_only
@pytest.mark.parametrize(
    ("settings", "processes"),
    [
        pytest.param((), 1, id="none-of-its-own"),
        pytest.param((("remote.origin.partialclonefilter", "blob:none"),), 1, id="a-partial-clone"),
        pytest.param((("lfs.repositoryformatversion", "0"),), 1, id="git-lfs"),
        # Asked once what the settings say; and which files these filters are for.
        pytest.param((("filter.other.clean", "x"),), 3, id="a-filter-for-no-file"),
    ],
)
def test_what_a_clean_tree_costs(
    repo: Path, fake_git: Callable[[str], Path], settings: tuple[tuple[str, str], ...], processes: int
) -> None:
    for setting in settings:
        git(repo, "config", *setting)
    calls = fake_git('exec "$REAL" "$@"')
    take_tree(repo)
    assert len(calls.read_text().splitlines()) == processes
