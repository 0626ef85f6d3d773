"""Workflows can't be run here: what they say is held against the repository. `tox -e release` asks real linters."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

FORGE = ROOT / ".github"
FILES = sorted((FORGE / "workflows").glob("*.yml"))
CHECK = ROOT / ".ci" / "run"
TOX = configparser.ConfigParser(interpolation=None)
TOX.read(ROOT / "tox.ini", encoding="utf-8")
#: What may write, and why.
WRITES = {
    ("release.yml", "publish"): {"id-token": "write"},
    ("release.yml", "announce"): {"contents": "write"},
    ("release.yml", "document"): {"contents": "write"},
}
_NAMED = re.compile(r"tox -e ([\w.,-]+)")


def read(path: Path) -> dict[str, Any]:
    # "on" is a word here, as it is for the forge.
    document: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    return document


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path in FILES:
        for name, job in read(path)["jobs"].items():
            yield path.name, name, job


def tox_environments() -> set[str]:
    listed = {each.strip() for each in TOX["tox"]["env_list"].split(",")}
    return {"py", *listed, *(each.removeprefix("testenv:") for each in TOX.sections() if ":" in each)}


def test_the_workflows_are_there() -> None:
    assert [path.stem for path in FILES] == ["docs", "lint", "release", "tests", "weekly"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_is_allowed_but_what_a_job_asks_for(path: Path) -> None:
    document = read(path)
    assert document["permissions"] == {}
    for name, job in document["jobs"].items():
        assert job["permissions"] == WRITES.get((path.name, name), {"contents": "read"}), name
        assert int(job["timeout-minutes"]) <= 120


def named_environments() -> set[str]:
    """Return the environments that a workflow or `.ci/run` runs."""
    named = set(re.findall(r"[\w.]+", " ".join(re.findall(r"^environments=(.+)", CHECK.read_text("utf-8"), re.M))))
    for _, _, job in jobs():
        named |= set(job.get("strategy", {}).get("matrix", {}).get("environment", ()))
        for step in job["steps"]:
            for words in _NAMED.findall(step.get("run", "")):
                named |= set(words.split(","))
    return named


def test_every_tox_environment_is_run_and_what_is_named_exists() -> None:
    listed = {"py311", "py312", "py313", "py314"}  # `.ci/run` and the job `suite`, by the interpreter
    assert tox_environments() - listed == named_environments()


def test_the_tox_environments_are_few() -> None:
    named = {each for each in TOX.sections() if each.startswith("testenv:")}
    assert len(named) <= 10


def test_the_suite_switches_off_no_plugin_that_it_installs() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert [word for word in settings["addopts"] if word.startswith("no:")] == []


def test_the_pythons_are_those_that_the_package_promises() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = {each.rpartition(" ")[2] for each in project["classifiers"] if re.search(r"Python :: 3\.\d+$", each)}
    matrix = read(FORGE / "workflows" / "tests.yml")["jobs"]["suite"]["strategy"]["matrix"]
    tried = set(matrix["python"])
    assert tried == promised
    assert project["requires-python"] == f">={matrix['python'][0]}"
    assert {f"py{each.replace('.', '')}" for each in tried} <= tox_environments()
    assert {name.partition("-")[0] for name in matrix["system"]} == {"ubuntu", "macos"}


@pytest.mark.parametrize("file", [*FILES, CHECK, ROOT / "tox.ini"], ids=lambda path: path.name)
def test_the_tests_and_modules_that_are_named_exist(file: Path) -> None:
    """pytest runs nothing at all where one of its arguments is not there."""
    text = file.read_text(encoding="utf-8")
    modules = re.findall(r"python -m ((?:tests|scripts|bench)\b[.\w]*)", text)
    named = [*(each.replace(".", "/") for each in modules), *re.findall(r"(?<![\w/])tests/[\w./]*\w", text)]
    assert [each for each in named if not ((ROOT / each).exists() or (ROOT / f"{each}.py").exists())] == []


def test_nothing_is_published_before_the_wheels_were_tested() -> None:
    release = read(FORGE / "workflows" / "release.yml")["jobs"]
    assert (release["built"]["needs"], release["publish"]["needs"], release["announce"]["needs"]) == (
        "build",
        "built",
        "publish",
    )
    (publish,) = (step for step in release["publish"]["steps"] if "pypi-publish" in step["uses"])
    assert publish["with"]["attestations"] == "true"
    assert set(release["publish"]["environment"]) == {"name"}
