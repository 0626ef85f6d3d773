"""A short sample of the benchmark: it measures what it says. Nothing here depends on how fast it is."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import kept, kit
from bench.__main__ import measure, write
from bench.contenders import ACTIVE, BARE, JUNIT
from bench.installed import interpreters
from bench.instructions import MEASURES
from bench.kit import Row
from bench.measure import interleave, ratios
from bench.plot import draw
from bench.sections import PASS, SECTIONS, Plan
from bench.varied import steps, write_project
from bench.walk import render, walk


def test_every_round_begins_with_another_one() -> None:
    order: list[str] = []

    def take(name: str) -> float:
        order.append(name)
        return 1.0

    interleave({"a": lambda: take("a"), "b": lambda: take("b")}, rounds=2)
    assert order == ["a", "b", "a", "b", "b", "a"]


def test_a_ratio_is_the_median_of_ratios_within_a_round() -> None:
    assert ratios({"base": [1.0, 10.0, 1.0], "other": [2.0, 20.0, 5.0]}, "base") == {"base": 1.0, "other": 2.0}


@pytest.mark.sweep
def test_a_small_benchmark_measures(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    plan = Plan(folder=tmp_path, sizes=(2, 4), files=3, rounds=1, contenders=(BARE, ACTIVE, JUNIT))
    # The others are the same with another argument; they are left to the whole benchmark.
    assert {"each-test", "commands", "fingerprint"} < set(SECTIONS)
    found = measure(plan, ("each-test", "commands", "fingerprint"))
    whole = next(table for title, table in found.items() if title.startswith("a run of 4 tests"))
    assert {BARE.name, ACTIVE.name, "--junitxml"} <= set(whole)
    assert whole[BARE.name] == 1.0
    assert (tmp_path / "suite-4" / "out.xml").exists()
    asked = found[f"a command: time beside {PASS}"]
    assert asked[PASS] == 1.0
    assert {"status", "check", "hook stop"} < set(asked)
    write(found, tmp_path / "results")
    assert json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8")) == found
    assert "| bare pytest | 1.000 |" in (tmp_path / "results" / "results.md").read_text(encoding="utf-8")


@pytest.mark.sweep
def test_a_proof_is_measured_beside_the_suite(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    found = measure(Plan(folder=tmp_path, proven=(2,), targets=(1,), rounds=1), ("proof",))
    timed, starts, counted, used = found.values()
    assert set(timed) == {"one run of the suite", "a proof"}
    # Without the change, with it, with other expectations, and both functions emptied at once: no target calls both.
    assert (starts, counted) == ({"2 tests": 4}, {"1 targets": 4})
    assert 0 < used["1 targets"] < 60


def test_what_is_kept_when_red_exits_is_measured(tmp_path: Path) -> None:
    found = measure(Plan(folder=tmp_path, proven=(3,), rounds=1), ("keeping",))
    timed, sizes = found.values()
    assert set(timed) == set(sizes) == {"all committed", "nothing in git"}
    assert sizes["all committed"] < sizes["nothing in git"]


def test_the_picture_has_a_bar_for_each_row() -> None:
    picture = ElementTree.fromstring(draw({"a & b": {"one": 1.0, "two": 2.0}}))
    bars = [each for each in picture.iter() if each.tag.endswith("rect") and each.get("height") == "16"]
    assert [float(each.get("width") or 0) for each in bars] == [210.0, 420.0]


def test_a_walk_counts_what_a_run_does(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    found = walk(tmp_path)
    assert found["green run"]["our modules"] > found["check"]["our modules"] > 0
    assert found["check"]["state openings"] == 1
    assert f"| our modules | {found['red run']['our modules']} |" in render(found)


_ROWS = [Row("a run", "1 M", "", "+2 M", "+3 M", True), Row("a walk", "1 M", "", "+9 M", "+3 M", False)]


def test_the_table_of_instructions_says_what_was_reached() -> None:
    shown = kept.render({"Python 3.13.0": _ROWS}).splitlines()
    assert shown[0] == "Python 3.13.0:"
    assert shown[-2:] == ["| a run | 1 M | | +2 M | +3 M: reached |", "| a walk | 1 M | | +9 M | +3 M: not reached |"]


def test_a_table_takes_the_old_ones_place_on_the_page() -> None:
    page = f"before\n{kept.BEGIN}old\n{kept.END}\nafter\n"
    assert kept.fill(page, "new\n\n") == f"before\n{kept.BEGIN}new\n{kept.END}\nafter\n"
    assert kept.BEGIN in kept.PAGE.read_text(encoding="utf-8")


def test_names_choose_measures_and_those_that_begin_with_them() -> None:
    assert kept.choose([]) == list(MEASURES)
    assert kept.choose(["memory"]) == ["memory-1", "memory-10000"]
    assert kept.choose(["watched", "mem"]) == ["watched"]


class _Here:
    """An interpreter that counts nothing."""

    version = "3"

    def python(self, kind: str, *more: str) -> str:
        return kind


def test_each_measure_counts_bare_pytest_beside_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[list[str]] = []

    def count(command: list[str], folder: Path, **more: str) -> int:
        counted.append(command)
        return 100 + ("--phase=green" in command)

    monkeypatch.setattr(kit, "count", count)
    monkeypatch.setattr(kit, "warm_up", lambda command, folder: None)
    (row,) = MEASURES["one-test"](kit.Kit(tmp_path, _Here()))  # type: ignore[arg-type]
    assert [command[0] for command in counted] == ["bare", "ours"]
    assert row.reached


def test_what_was_measured_on_the_same_sources_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []

    def take(of: kit.Kit) -> list[Row]:
        measured.append("one-test")
        return _ROWS

    monkeypatch.setitem(MEASURES, "one-test", take)
    file, said = tmp_path / "results" / "instructions.json", list[str]()
    for sources, times in (("a", 1), ("a", 1), ("b", 2), ("", 3), ("", 4)):
        rows = kept._rows_of("Python 3", "one-test", _Here(), kept.Kept(file, sources), said.append)  # type: ignore[arg-type]
        assert (rows, len(measured)) == (_ROWS, times)
    assert "Python 3, one-test: as measured before" in said


def test_steps_are_of_several_phases_and_change_what_is_tested(tmp_path: Path) -> None:
    write_project(tmp_path / "project")
    taken = list(itertools.islice(steps(tmp_path / "project"), 14))
    assert {words[0] for words in taken} == {"--phase=red", "--phase=green", "--phase=refactor"}
    assert (tmp_path / "project" / "test_step_1.py").exists()


def test_this_interpreter_or_another_one_is_found() -> None:
    assert all(Path(path).exists() for path in interpreters())
