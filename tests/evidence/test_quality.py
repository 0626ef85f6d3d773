"""Quality of real folders: what is looked at, what is remembered, and what can't cheat it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest

from phase_gate.evidence import quality
from phase_gate.gate.measured import Measured
from phase_gate.workflow.settings import QualitySettings
from tests.evidence.folders import Folder

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("quality_extra")]

CLEAN = "def add(a, b):\n    return a + b\n"
#: One finding.
UNTIDY = """\
import os


def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    else:
        return 0
"""
#: More branches than ruff takes by itself.
TANGLED = "def tangled(a):\n" + "".join(f"    if a > {number}:\n        a += 1\n" for number in range(11))


WANTED = frozenset({"no_more_improvements_identified"})


class Code(Folder):
    def begin_cycle(self) -> Self:
        self.remember("sources", quality.SOURCES)
        return self

    def begin_phase(self) -> Self:
        self.remember("quality", quality.PROVIDER)
        return self

    def read(self) -> Measured:
        return self.measure(quality.PROVIDER)

    def places(self) -> list[str]:
        return [f"{each.place} {each.detail}" for each in self.read().findings if each.slug == "could-improve"]


@pytest.fixture
def folder(tmp_path: Path) -> Code:
    return Code(tmp_path, wanted=WANTED)


@pytest.fixture(params=["git", "no-git"])
def any_folder(request: pytest.FixtureRequest, tmp_path: Path) -> Code:
    return Code(tmp_path, wanted=WANTED, has_git=request.param == "git")


# What is looked at


def test_a_small_clean_project_has_nothing_left(any_folder: Code) -> None:
    measured = any_folder.write(calc=CLEAN).begin_cycle().begin_phase().read()
    assert measured.metrics == {
        "quality_before": 0,
        "quality_after": 0,
        "quality_delta": 0,
        "improvements_found": 0,
        "no_more_improvements_identified": True,
    }
    assert (measured.findings, measured.warnings) == ((), ())


def test_an_untidy_one_is_told_where(any_folder: Code) -> None:
    any_folder.write(shop=f"{UNTIDY}\n\n{TANGLED}").begin_cycle().begin_phase()
    measured = any_folder.read()
    assert any_folder.places() == [
        "shop.py:1 F401 `os` imported but unused",
        "shop.py:13 C901 `tangled` is too complex (12 > 10)",
    ]
    assert measured.metrics["improvements_found"] == 2
    assert measured.metrics["no_more_improvements_identified"] is False


def test_better_code_is_better_quality(any_folder: Code) -> None:
    any_folder.write(shop=UNTIDY).begin_cycle().begin_phase()
    any_folder.write(shop="def sign(x):\n    return (x > 0) - (x < 0)\n")
    measured = any_folder.read()
    assert (measured.metrics["quality_before"], measured.metrics["quality_after"]) == (-1, 0)
    assert measured.metrics["quality_delta"] == 1
    (table,) = measured.tables
    assert (table.columns, table.rows) == (("file", "findings"), (("shop.py", "1->0"),))


@pytest.mark.parametrize(
    ("path", "is_looked_at"),
    [
        pytest.param("shop.py", True, id="a-module"),
        pytest.param("test_shop.py", False, id="tests-by-name"),
        pytest.param("tests/helper.py", False, id="what-tests-use"),
        pytest.param("checks.py", False, id="a-file-with-known-tests"),
        pytest.param("docs/conf.py", False, id="documents"),
        pytest.param("old/shop.py", False, id="what-is-excluded"),
    ],
)
def test_what_is_looked_at(folder: Code, path: str, is_looked_at: bool) -> None:
    folder.tests = frozenset({"checks.py"})
    folder.set(quality=QualitySettings(exclude=("old/**",)))
    assert bool(folder.write({path: UNTIDY}).places()) is is_looked_at


# Whose code it is


def test_a_legacy_project_is_asked_about_the_code_of_its_cycle(folder: Code) -> None:
    folder.write(old=UNTIDY).begin_cycle().write(new=CLEAN).begin_phase()
    measured = folder.read()
    assert measured.metrics["no_more_improvements_identified"] is True
    assert measured.metrics["quality_after"] == -1
    assert [row[0] for row in measured.tables[0].rows] == ["new.py", "all 2 files"]


# What makes nothing better


@pytest.mark.parametrize(
    "cheat",
    [
        pytest.param(lambda f: f.write(shop=UNTIDY.replace("import os", "import os  # noqa")), id="noqa"),
        pytest.param(lambda f: f.write(shop=f"# ruff: disable[F401]\n{UNTIDY}"), id="a-range-without-rules"),
        pytest.param(lambda f: f.remove("shop.py").write(renamed=UNTIDY), id="a-new-name"),
        pytest.param(
            lambda f: f.write(
                {"shop.py": UNTIDY, "more.py": "".join(f"def f{n}():\n    pass\n\n\n" for n in range(50))}
            ),
            id="clean-code-beside-it",
        ),
    ],
)
def test_what_makes_nothing_better(folder: Code, cheat: Callable[[Code], object]) -> None:
    folder.write(shop=UNTIDY, calc=CLEAN).write({"tests/helper.py": "", "docs/conf.py": ""}).begin_cycle().begin_phase()
    cheat(folder)
    measured = folder.read()
    assert measured.metrics["quality_delta"] == 0
    assert measured.metrics.get("no_more_improvements_identified") is not True


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("ruff.toml", "[lint]\nignore = ['F401']\n", id="ruff-toml"),
        pytest.param("pyproject.toml", "[tool.ruff.lint]\nignore = ['F']\n", id="pyproject"),
    ],
)
def test_rules_of_ruff_that_change_in_the_middle_make_it_unknown(folder: Code, name: str, text: str) -> None:
    folder.write(shop=UNTIDY).begin_cycle().begin_phase().write({name: text})
    measured = folder.read()
    assert measured.metrics == {}
    assert "ruff, its settings or those of evidence.quality changed since the phase began" in measured.warnings[0]
    assert folder.begin_phase().read().metrics["quality_delta"] == 0


def test_a_projects_own_rules_are_its_rules(folder: Code) -> None:
    folder.write(shop=UNTIDY).write({"ruff.toml": "[lint]\nselect = ['F']\nignore = ['F401']\n"})
    assert folder.begin_phase().places() == []
    folder.write({"ruff.toml": "fix = true\nunsafe-fixes = true\n[lint]\nselect = ['F', 'W']\n"})
    assert folder.begin_phase().places() == ["shop.py:1 F401 `os` imported but unused"]
    assert "import os" in (folder.root / "shop.py").read_text(encoding="utf-8"), "nothing is mended by looking"


def test_rules_about_reading_are_looked_for_in_every_project(folder: Code) -> None:
    folder.write({"ruff.toml": "[lint]\nselect = ['W']\nignore = ['C901']\n"}, shop=TANGLED)
    assert folder.begin_phase().places() == ["shop.py:1 C901 `tangled` is too complex (12 > 10)"]
    folder.write({"ruff.toml": "[lint.mccabe]\nmax-complexity = 12\n"})
    assert folder.begin_phase().places() == []


# Trouble


def test_a_file_that_can_not_be_read_is_a_finding(folder: Code) -> None:
    folder.write(broken="def f(:\n    pass\n", calc=CLEAN)
    (folder.root / "latin.py").write_bytes("name = 'Löwe'\n".encode("latin-1"))
    assert {each.partition(" ")[0] for each in folder.begin_phase().places()} == {"broken.py:1", "latin.py:1"}


def test_nothing_was_measured_when_the_phase_began(folder: Code) -> None:
    folder.wanted = frozenset({"quality_delta"})
    measured = folder.write(calc=CLEAN).read()
    assert "quality_delta" not in measured.metrics
    assert measured.warnings[0].startswith("quality_delta is unknown: nothing was measured when the phase began; ")


# Without the extra


def test_without_ruff_it_is_unknown_and_only_rules_that_ask_by_name_are_told(
    folder: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ruff", None)
    folder.write(calc=CLEAN).begin_cycle().begin_phase()
    assert folder.memory == {"sources": None, "quality": None}
    assert folder.read() == Measured()
    folder.wanted = frozenset({"quality_delta", "no_more_improvements_identified", "tests_failing"})
    assert folder.read().warnings == (
        "quality_delta is unknown: ruff is not installed; pip install 'pytest-phase-gate[quality]'",
    )


def test_it_can_be_switched_off(folder: Code) -> None:
    folder.set(quality=QualitySettings(enabled=False))
    assert folder.write(calc=UNTIDY).begin_phase().read() == Measured()
    folder.wanted = frozenset({"improvements_found"})
    assert "evidence.quality.enabled is false" in folder.read().warnings[0]
