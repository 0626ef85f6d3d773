"""Two distributions from one tree: the code, and the entry point that pytest finds it by."""

from __future__ import annotations

import tomllib
from typing import Any

from phase_gate import __version__
from tests.conftest import ROOT


def read(*path: str) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads(ROOT.joinpath(*path, "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return project


CODE, PLUGIN = read(), read("plugin")
#: Extras for those who work on the project itself.
INTERNAL = {"test", "lint", "types", "browser"}


def test_the_plugin_asks_for_exactly_its_own_version() -> None:
    assert PLUGIN["version"] == __version__
    assert f"phase-gate=={__version__}" in PLUGIN["dependencies"]


def test_only_the_plugin_has_an_entry_point_of_pytest() -> None:
    assert "entry-points" not in CODE
    assert list(PLUGIN["entry-points"]) == ["pytest11"]


def test_the_command_does_not_need_pytest() -> None:
    assert not [each for each in CODE["dependencies"] if each.startswith("pytest")]
    assert [each for each in PLUGIN["dependencies"] if each.startswith("pytest>=")]


def test_every_extra_is_forwarded() -> None:
    public = sorted(set(CODE["optional-dependencies"]) - INTERNAL)
    assert PLUGIN["optional-dependencies"] == {name: [f"phase-gate[{name}]=={__version__}"] for name in public}
