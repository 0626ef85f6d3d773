"""Shards by real sessions: what each writes, and the one run that `combine` makes of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.sessions import history_of
from tests.storage.stores import contents
from tests.support import CALC, Project, Result, call

FOLDER = "phase-gate-shards"
SPLIT = ("pytest_split.plugin",)

#: Thirteen tests in two files: with parameters, a class and a mark.
SUITE = {
    "pytest.ini": "[pytest]\nmarkers = slow\n",
    "calc.py": CALC,
    "tests/test_add.py": "import pytest\n\nfrom calc import add\n\n\n"
    "@pytest.mark.parametrize('n', range(8))\ndef test_add(n):\n    assert add(n, 1) == n + 1\n\n\n"
    "@pytest.mark.slow\ndef test_slow():\n    assert add(2, 2) == 4\n",
    "tests/test_sub.py": "from calc import sub\n\n\nclass TestSub:\n"
    + "".join(f"    def test_{name}(self):\n        assert sub(3, 1) == 2\n\n" for name in "abcd"),
}


@pytest.fixture
def suite(project: Project) -> Project:
    project.environment.syspath_prepend(str(project.root))
    return project.write(SUITE)


def gate(*arguments: str) -> Result:
    return call(Path.cwd(), *arguments)


def run_shard(project: Project, index: int, total: int, *arguments: str, phase: str = "green") -> Result:
    """One shard, split by pytest-split."""
    split = ("--splits", str(total), "--group", str(index))
    return project.run(f"--phase={phase}", f"--phase-shard={index}/{total}", *split, *arguments, plugins=SPLIT)


def run_shards(project: Project, total: int, *arguments: str, phase: str = "green") -> list[Result]:
    return [run_shard(project, index, total, *arguments, phase=phase) for index in range(1, total + 1)]


def test_a_shard_writes_its_record_and_touches_no_ledger(suite: Project) -> None:
    ran = run_shard(suite, 2, 3)
    assert ran.code == 0
    assert ran.has("shard 2/3 of GREEN", f"recorded in {FOLDER}/", "a shard alone has no verdict")
    assert [path.name for path in (suite.root / FOLDER).glob("*.gz")] == ["2-of-3.shard.gz"]
    assert not (suite.root / ".phase-gate").exists()


@pytest.mark.parametrize(
    ("made", "key", "slug"),
    [
        pytest.param("k", "k", None, id="the-key-from-the-beginning"),
        pytest.param("", "k", "state-key", id="a-ledger-without-the-key"),
        pytest.param("k", "", "state-key", id="the-key-is-left-out"),
    ],
)
def test_shards_where_a_key_is_set_or_a_ledger_has_one(suite: Project, made: str, key: str, slug: str | None) -> None:
    suite.environment.setenv("PHASE_GATE_KEY", made)
    suite.run("--phase=green")
    suite.environment.setenv("PHASE_GATE_KEY", key)
    before = contents(suite.root / ".phase-gate")
    # A shard keeps no ledger: its tests run, and whoever combines has to answer for the ledger.
    assert [ran.code for ran in run_shards(suite, 2)] == [0, 0]
    assert contents(suite.root / ".phase-gate") == before
    if slug is None:
        assert gate("ci", "combine").code == 0
        return
    ran = gate("ci", "combine", "--json")
    assert (ran.code, ran.document["error"]["slug"]) == (11, slug)
    assert contents(suite.root / ".phase-gate") == before


# --- who splits, and how


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(("--phase-shard=4/3",), "not I/N with I from 1 to N", id="beyond"),
        pytest.param(("--phase-shard=1/3", "--exit-signal=x"), "--exit-signal needs a verdict", id="signal"),
        pytest.param(("--phase-shard=1/3", "--phase-confirm"), "run all shards once more", id="way-to-confirm"),
        pytest.param(
            ("--phase-shard=1/3", "--phase-report=x.md"), "ci combine phase-gate-shards --report FILE", id="report"
        ),
        pytest.param(("--phase-shard=1/3", "--phase=auto"), "a shard has to name its phase", id="phase-auto"),
    ],
)
def test_words_that_are_off(suite: Project, arguments: tuple[str, ...], says: str) -> None:
    ran = suite.run("--phase=green", *arguments, plugins=SPLIT)
    assert ran.code == 4
    assert ran.has(says)
    assert not (suite.root / FOLDER).exists()


# --- the same path as one run


OUTCOMES = {
    "tests/test_all.py": "import pytest\n\nfrom calc import add\n\n\n"
    "def test_wrong():\n    assert add(1, 1) == 3\n\n\n"
    "@pytest.fixture\ndef broken():\n    raise RuntimeError('no')\n\n\n"
    "def test_setup(broken):\n    pass\n\n\n"
    "@pytest.mark.skip\ndef test_skipped():\n    pass\n\n\n"
    "@pytest.mark.xfail\ndef test_expected():\n    assert 0\n\n\n"
    "@pytest.mark.xfail\ndef test_better():\n    assert add(1, 1) == 2\n\n\n"
    "@pytest.mark.criterion('AC-1')\ndef test_linked():\n    assert add(1, 2) == 4\n",
    "tests/test_missing.py": "import mul\n\n\ndef test_mul():\n    assert mul.mul(2, 2) == 4\n",
    "tests/test_optional.py": "import pytest\n\npytest.importorskip('not_there')\n\n\ndef test_x():\n    pass\n",
    "criteria.md": "- AC-1: adds\n- AC-2: multiplies\n",
}


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """Without what differs between any two runs."""
    for name in ("run", "timestamp", "shards"):
        document.pop(name, None)
    document["metrics"].pop("duration_s")
    return document


def both_ways(project: Project, total: int, *arguments: str, phase: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The verdict on one run, and on the same as shards."""
    project.run(f"--phase={phase}", "--phase-report=whole.json", "--phase-dir=.whole", *arguments)
    run_shards(project, total, *arguments, phase=phase)
    parts = gate("ci", "combine", "--json", "--dir=.parts", "--report", "parts.json").document
    project.remove(*(f"{FOLDER}/{index}-of-{total}.shard.gz" for index in range(1, total + 1)))
    assert {**project.report("parts.json"), "shards": total} == parts
    return comparable(project.report("whole.json")), comparable(parts)


@pytest.mark.parametrize(
    ("phase", "arguments"),
    [
        pytest.param("red", ("--phase-criteria=criteria.md",), id="red-with-criteria"),
        pytest.param("green", ("-m", "not slow", "--ignore=tests/test_missing.py"), id="narrowed"),
    ],
)
def test_the_verdict_is_that_of_one_run(suite: Project, phase: str, arguments: tuple[str, ...]) -> None:
    suite.write(OUTCOMES)
    whole, parts = both_ways(suite, 3, *arguments, phase=phase)
    assert parts == whole
    assert whole["metrics"]["suite_failing"] > 0


def test_a_cycle_in_shards(suite: Project) -> None:
    """RED, freeze and GREEN: each judged as if one session had run."""
    suite.write({"calc.py": "def add(a, b): ...\n\n\ndef sub(a, b): ...\n", "tests/data.txt": "3"})
    whole, parts = both_ways(suite, 2, phase="red")
    assert parts == whole
    assert parts["gate_1"]["satisfied"]
    for folder in (".whole", ".parts"):
        assert gate("signal", f"--dir={folder}", "--reason", "red").code == 0
    suite.write({"calc.py": CALC})
    whole, parts = both_ways(suite, 2, phase="green")
    assert parts == whole
    assert parts["gate_1"]["values"]["consecutive_green_runs"] == 1
    # What was frozen is still compared: a test gone, another altered, data changed.
    suite.write({"tests/test_sub.py": "def test_nothing():\n    pass\n", "tests/data.txt": "4"})
    whole, parts = both_ways(suite, 2, phase="green")
    assert parts == whole
    assert {row["slug"] for row in parts["findings"]} >= {"tests-kept", "tests-unchanged"}


# --- what is refused, by real shards


def test_sources_that_are_not_those_here_are_refused(suite: Project) -> None:
    run_shards(suite, 2)
    suite.write({"calc.py": CALC + "\n# later\n"})
    refused = gate("ci", "combine")
    assert refused.code == 11
    assert refused.has("the shards ran on other sources than this checkout has")
    assert not (suite.root / ".phase-gate").exists()


def test_the_order_of_phases_is_looked_at_before_the_tests_run_and_when_they_are_combined(suite: Project) -> None:
    suite.remove("calc.py")
    run_shards(suite, 2, phase="red")
    assert gate("ci", "combine").code == 0
    refused = run_shard(suite, 1, 2, phase="green")
    assert (refused.code, refused.has("RED has not exited")) == (13, True)
    shutil.move(suite.root / ".phase-gate", suite.root / "aside")
    run_shards(suite, 2, phase="green")
    shutil.move(suite.root / "aside", suite.root / ".phase-gate")
    assert gate("ci", "combine").code == 13
    assert len(history_of(suite)) == 1


def test_a_record_that_can_not_be_written_is_said(suite: Project) -> None:
    suite.write({FOLDER: "a file in its place"})
    ran = run_shard(suite, 1, 2)
    assert ran.code == 11
    assert ran.has("nothing recorded, so this shard is missing")


def test_the_exit_signal_goes_with_the_whole_run(suite: Project) -> None:
    suite.remove("calc.py")
    run_shards(suite, 2, phase="red")
    ran = gate("ci", "combine", "--exit-signal", "all fail for the missing module", "--exit=dual")
    assert ran.code == 0
    assert ran.has("RED has exited")
