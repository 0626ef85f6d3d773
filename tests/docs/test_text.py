"""Links lead somewhere, and no text speaks of what is not the project's."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.M)
_FENCED = re.compile(r"^(`{3,})[^`\n]*$.*?^\1$", re.M | re.S)

#: Places on somebody's machine. What every system has (devices, the shell, the mount table) may be named.
MACHINE_PATHS = re.compile(
    r"""(?<![\w.~$}{/-])(?:/(?:home|root|work|tmp|opt|mnt|srv|var|private|Users)/[\w.-]|[A-Z]:\\\\?(?:Users|Program))"""
)

#: Whatever stands here says who or what wrote the project, where packages come from, or names a file that is not in it.
FORBIDDEN = re.compile(
    r"co-authored-by|generated (?:with|by an?)\b|written by an? (?:model|assistant)|language model"
    r"|pypi\.org|pythonhosted|index-url|artifactory"
    r"|\b(?:DESIGN|STYLE|CLAUSES|CHEATS|INTERFACES|PERF)\.md\b",
    re.I,
)


#: Folders whose files are the project's, tracked or not yet. Beside them lie an editor's files, notes, environments.
_FOLDERS = (".ci", ".github", "bench", "docs", "examples", "plugin", "scripts", "src", "tests")


@cache
def our_files() -> tuple[Path, ...]:
    """Return what git tracks, and what it would of our folders; where there is no repository, all of them."""
    git = ["git", "-C", str(ROOT), "ls-files", "-z"]
    asked = (["--cached"], ["--others", "--exclude-standard", *_FOLDERS])
    done = [subprocess.run([*git, *words], capture_output=True, check=False) for words in asked]
    if any(each.returncode for each in done):
        inside = (path for folder in _FOLDERS for path in (ROOT / folder).rglob("*"))
        found = [*ROOT.glob("*.md"), *(path for path in inside if "__pycache__" not in path.parts)]
    else:
        found = [ROOT / each for said in done for each in said.stdout.decode("utf-8").split("\0")]
    return tuple(path for path in found if path.is_file())


def documents() -> list[Path]:
    return sorted(path for path in our_files() if path.suffix == ".md")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, made as forges make them."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    words = (re.sub(r"[^\w\- ]", "", heading.replace("`", "")) for heading in _HEADING.findall(text))
    return {heading.lower().strip().replace(" ", "-") for heading in words}


#: The repository's address. It is set in pyproject.toml; if the project moves, the test below lists the other places.
REPOSITORY: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
#: Links to files of the repository: a package index shows the README without them.
_OURS = re.compile(rf"{re.escape(REPOSITORY)}/(?:blob|tree)/main/(?P<path>.*)")
_ADDRESS = re.compile(r"github(?:\.com|usercontent\.com)/[\w.-]+/pytest-phase-gate\b|uses: [\w.-]+/pytest-phase-gate\b")


def find_broken_links(page: Path) -> list[str]:
    broken = []
    for target in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        ours = _OURS.fullmatch(target)
        if ours is None and target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = (ours["path"] if ours else target).partition("#")
        goal = ((ROOT if ours else page.parent) / path).resolve() if path else page
        if not goal.exists() or (anchor and anchor not in anchors(goal)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", documents(), ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    assert find_broken_links(page) == []


def test_the_repository_has_one_address() -> None:
    """A file that can't read pyproject.toml repeats its address, and no file has another one."""
    expected = REPOSITORY.removeprefix("https://")
    found = {
        f"{name(path)}: {address}"
        for path in our_files()
        if path.suffix in (".md", ".toml", ".yml", ".yaml", ".cff", ".py")
        for address in _ADDRESS.findall(path.read_text(encoding="utf-8"))
        if re.sub(r"uses: |githubusercontent.com/", "github.com/", address) != expected
    }
    assert found == set()


def test_the_plugin_s_page_on_a_package_index_has_no_links_into_the_checkout() -> None:
    """Those of the README are rewritten when the package is built."""
    targets = _LINK.findall(_FENCED.sub("", (ROOT / "plugin" / "README.md").read_text(encoding="utf-8")))
    assert targets
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []


def find_in_files(pattern: re.Pattern[str], *, skip: str = "") -> list[str]:
    return [
        f"{name(path)}:{number}: {line.strip()}"
        for path in our_files()
        if path != Path(__file__) and not (skip and name(path).startswith(skip))  # here stands the list itself
        for number, line in enumerate(_text_of(path).splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_text_has_a_forbidden_word() -> None:
    assert find_in_files(FORBIDDEN) == []


def test_no_text_names_a_place_on_a_machine() -> None:
    # Tests have tables of invented mounts and folders; where this very suite runs stands nowhere.
    assert find_in_files(MACHINE_PATHS, skip="tests/") == []
    places = {str(place) for place in (ROOT, Path(sys.prefix), Path.home()) if len(place.parts) > 2}
    assert find_in_files(re.compile("|".join(map(re.escape, sorted(places))))) == []


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""
