"""Two distributions from one tree: the code, and the entry point that pytest finds it by.

Here they are built once, with a tag, and looked into; `tox -e release -- test` runs the suite on what was built.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT


def read(*path: str) -> dict[str, Any]:
    document: dict[str, Any] = tomllib.loads(ROOT.joinpath(*path, "pyproject.toml").read_text(encoding="utf-8"))
    return document


CODE, PLUGIN = read()["project"], read("plugin")["project"]
#: Extras for those who work on the project itself.
INTERNAL = {"test", "lint", "types", "browser"}
#: What a build reads.
BUILT_FROM = ("src", "plugin", "pyproject.toml", "README.md", "LICENSE")


def load_hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "plugin" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOK = load_hook()


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


# --- as built


class Built:
    """Both distributions of a tagged copy of the tree."""

    def __init__(self, folder: Path) -> None:
        self.dist, self.site = folder / "dist", folder / "site"
        top = folder / "top"
        for name in BUILT_FROM:
            place = top / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(ROOT / name, place)
        git(top, "init", "-q")
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", "first")
        git(top, "tag", "v9.8.7")
        for place in (top, top / "plugin"):
            words = [sys.executable, "-m", "hatchling", "build", "-d", str(self.dist)]
            done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        for wheel in self.dist.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(self.site)

    def metadata(self, name: str) -> Any:
        return HeaderParser().parsestr((self.site / f"{name}-9.8.7.dist-info" / "METADATA").read_text("utf-8"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("built"))


def test_the_command_does_not_need_pytest(built: Built) -> None:
    plain = [each for each in built.metadata("phase_gate").get_all("Requires-Dist") if "extra ==" not in each]
    assert sorted(each.partition(">=")[0] for each in plain) == ["filelock", "pluggy", "pyyaml"]


def test_the_plugin_asks_for_exactly_its_own_version_and_forwards_every_extra(built: Built) -> None:
    asked = built.metadata("pytest_phase_gate").get_all("Requires-Dist")
    public = sorted(set(CODE["optional-dependencies"]) - INTERNAL)
    extras = [f"phase-gate[{name}]==9.8.7; extra == '{name}'" for name in public]
    assert sorted(asked) == sorted(["phase-gate==9.8.7", "pytest>=8.4", *extras])


def test_a_wheel_has_the_whole_package_and_nothing_else(built: Built) -> None:
    def files(folder: Path) -> set[str]:
        found = (each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())
        return {each for each in found if "__pycache__" not in each}

    assert files(built.site / "phase_gate") == files(ROOT / "src" / "phase_gate")
    kept = {each.partition("/")[0] for each in files(built.site)}
    assert kept == {
        "phase_gate",
        *(f"{name}-9.8.7.dist-info" for name in ("phase_gate", "pytest_phase_gate")),
    }


def test_a_source_distribution_has_the_version_too(built: Built) -> None:
    with tarfile.open(built.dist / "phase_gate-9.8.7.tar.gz") as archive:
        inside = "phase_gate-9.8.7/src/phase_gate/_version.py"
        assert archive.getnames().count(inside) == 1
        file = archive.extractfile(inside)
        assert file is not None
        assert file.read().decode() == HOOK.LINE.format(version="9.8.7")
    with tarfile.open(built.dist / "pytest_phase_gate-9.8.7.tar.gz") as archive:
        assert "pytest_phase_gate-9.8.7/hatch_build.py" in archive.getnames()
