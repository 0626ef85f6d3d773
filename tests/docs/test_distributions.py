"""Two distributions from one tree: the code, and the entry point that pytest finds it by.

`tox` runs the suite on the built code, and `tox -e release -- test` on both wheels.
"""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.warm import load_file


def read(*path: str) -> dict[str, Any]:
    document: dict[str, Any] = tomllib.loads(ROOT.joinpath(*path, "pyproject.toml").read_text(encoding="utf-8"))
    return document


CODE, PLUGIN = read()["project"], read("plugin")["project"]
#: Extras for those who work on the project itself.
INTERNAL = {"test", "lint", "types", "browser"}


HOOK = load_file(ROOT / "plugin" / "hatch_build.py")


def test_only_the_plugin_has_an_entry_point_and_both_say_the_same_of_themselves() -> None:
    assert ("entry-points" in CODE, list(PLUGIN["entry-points"])) == (False, ["pytest11"])
    for name in ("urls", "license", "requires-python", "authors"):
        assert CODE[name] == PLUGIN[name]
    assert (ROOT / "plugin" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_a_checkout_has_the_line_that_a_build_replaces() -> None:
    # One constant: the plugin's start asks no metadata of installed packages.
    version = HOOK.find_version() if (ROOT / "PKG-INFO").exists() else HOOK.UNKNOWN
    assert (ROOT / "src/phase_gate/_version.py").read_text("utf-8") == HOOK.LINE.format(version=version)


# --- the version


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=dev", "-c", "user.email=dev@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        pytest.param((), "0+unknown", id="without-a-tag"),
        pytest.param(("v1.10.0rc1", "v1.10.0", "v1.9.9"), "1.10.0", id="the-highest-of-several"),
        pytest.param(("v2.0.0b2",), "2.0.0b2", id="before-a-release"),
        pytest.param(("1.2.3", "v1.2", "v1.2.3-final", "v1.2.3.dev1", "docs-v1.2.3"), "0+unknown", id="other-tags"),
    ],
)
def test_the_version_is_the_tag(tmp_path: Path, tags: tuple[str, ...], expected: str) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    for tag in tags:
        git(tmp_path, "tag", "-m", tag, tag)
    assert HOOK.find_version(tmp_path) == expected


def test_a_tag_speaks_of_its_commit_alone(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-q", "-m", "first")
    git(tmp_path, "tag", "v1.2.3")
    (tmp_path / "below").mkdir()
    (tmp_path / "new.txt").write_text("what a build leaves", encoding="utf-8")
    assert HOOK.find_version(tmp_path) == "1.2.3"
    assert HOOK.find_version(tmp_path / "below") == "0+unknown", "sources in the repository of something else"
    (tmp_path / "a.txt").write_text("b", encoding="utf-8")
    assert HOOK.find_version(tmp_path) == "0+unknown", "files that the tagged commit does not have"
    git(tmp_path, "commit", "-q", "-a", "-m", "second")
    assert HOOK.find_version(tmp_path) == "0+unknown", "a later commit"
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: phase-gate\nVersion: 4.5.6\n", encoding="utf-8")
    assert HOOK.find_version(tmp_path) == "4.5.6", "a source distribution"


def test_the_plugin_asks_for_exactly_its_own_version_and_forwards_every_extra() -> None:
    metadata: dict[str, Any] = {"version": "9.8.7"}
    HOOK.SameVersion(str(ROOT / "plugin"), {}).update(metadata)
    assert metadata["dependencies"] == ["phase-gate==9.8.7", "pytest>=8.4"]
    public = set(CODE["optional-dependencies"]) - INTERNAL
    assert metadata["optional-dependencies"] == {name: [f"phase-gate[{name}]==9.8.7"] for name in public}


def test_the_command_does_not_need_pytest() -> None:
    needed = [each.partition(">=")[0] for each in CODE["dependencies"]]
    assert sorted(needed) == ["PyYAML", "filelock", "pluggy"]
