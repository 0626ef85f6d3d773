"""Rows 32, 34, 38 and 39: the plugin, the rules, or a command that is meant for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.doors import CLOSED, NOT_ALLOWED, Door
from tests.integrity.rows import BAD, TESTS, Attempt

_SKIPPED = TESTS.replace("def test_total_of_nothing", "@pytest.mark.skip\ndef test_total_of_nothing")


@pytest.fixture
def failing(bench: Workbench, tmp_path: Path) -> Door:
    """One test fails, and that was recorded."""
    return Door.open(bench, tmp_path / "bad", code=BAD, green_runs=1)


# --- the plugin is not there (32)


@pytest.mark.cheats(32)
def test_without_the_plugin_the_option_is_unknown(failing: Door) -> None:
    # The environment of the bench loads no plugin by itself.
    code, said = failing.plain_pytest("--phase=green")
    assert (code, "unrecognized arguments: --phase=green" in said) == (4, True), said
    assert failing.check()[0] == CLOSED


@pytest.mark.cheats(32)
def test_a_run_that_nobody_recorded_proves_nothing(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "good")
    code, said = door.plain_pytest()
    assert (code, "5 passed" in said) == (0, True), said
    code, said = door.check()
    assert code == CLOSED, said


def test_a_part_of_the_plugin_is_blocked(failing: Door) -> None:
    code, said = failing.pytest("--phase=green", "-p", "no:phase_gate_session")
    assert code != 0, said
    assert failing.check()[0] == CLOSED


# --- the rules (34)

_WEAKER = {
    "threshold": "parameters: {required_green_runs: 0}\n",
    "condition": "phases:\n  GREEN:\n    condition: tests_total >= 0\n    replace: true\n",
    "guards": "phases:\n  GREEN:\n    guards: [complete-run]\n    replace: true\n",
    "workflow": "workflow: lax.yaml\n",
    "documents": 'docs: ["*.py", "*.md"]\n',
    "overrides": "overrides: {allow_non_interactive: true}\n",
}
_LAX = """\
workflow: tdd
phases:
  RED:
    tests: failing
    scope: targets
    gate_1: {name: Any, condition: tests_total >= 0}
    next: GREEN
  GREEN:
    gate_1: {name: Any, condition: tests_total >= 0}
    next: DONE
"""


@pytest.mark.cheats(34)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", _WEAKER.values(), ids=_WEAKER)
def test_weaker_rules_close_the_gate_that_was_open(bench: Workbench, tmp_path: Path, text: str) -> None:
    door = Door.open(bench, tmp_path / "good", green_runs=2)
    assert door.check()[0] == 0
    door.write("lax.yaml", _LAX)
    door.write("phase-gate.yaml", text)
    code, said = door.check()
    assert code != 0, said
    code, said = door.pytest("--phase=green")
    assert code != 0, said
    code, said = door.check()
    assert code != 0, said
    assert "rules-unchanged" in said or "phase-gate.yaml" in said, said


def test_twin_a_report_is_asked_for(bench: Workbench) -> None:
    bench.check_twin(Attempt(arguments=("--phase-report=report.json", "--phase-exit=gate1")))


# --- facts and baselines (38)


@pytest.mark.cheats(38)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", [("baseline",), ("baseline", "--", "-k", "not nothing")], ids=["whole", "narrow"])
def test_no_baseline_excuses_a_skip(failing: Door, words: tuple[str, ...]) -> None:
    failing.write("tests/test_price.py", _SKIPPED)
    code, said = failing.gate(*words)
    assert (code, "cycle 1 has begun" in said) == (NOT_ALLOWED, True), said
    for _ in range(2):
        failing.pytest("--phase=green")
    code, said = failing.check()
    assert (code, "no-new-skips" in said or "tests-unchanged" in said) == (CLOSED, True), said


def test_no_baseline_by_the_hidden_option(failing: Door) -> None:
    code, said = failing.pytest("--phase-baseline=")
    assert (code, "cycle 1 has begun" in said) == (NOT_ALLOWED, True), said
    assert failing.check()[0] == CLOSED


@pytest.mark.cheats(38)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("fact", ["tests_failing=0", "consecutive_green_runs=2", "outcomes_doubtful=0"])
def test_nothing_measured_is_declared(failing: Door, fact: str) -> None:
    code, said = failing.gate("declare", fact, "--reason", "so it is")
    assert (code, "is measured" in said) == (NOT_ALLOWED, True), said
    assert failing.check()[0] == CLOSED


# --- overrides (39)


@pytest.mark.cheats(39)
def test_a_script_waives_nothing(failing: Door) -> None:
    failing.write("tests/test_price.py", _SKIPPED)
    failing.pytest("--phase=green")
    for text in ("", _WEAKER["overrides"]):
        if text:  # only what stood there when the cycle began counts
            failing.write("phase-gate.yaml", text)
            failing.pytest("--phase=green")
        code, said = failing.gate("waive", "tests-unchanged", "--reason", "it is fine", "--by", "agent")
        assert (code, "terminal" in said) == (NOT_ALLOWED, True), said
        assert failing.check()[0] == CLOSED


def test_what_is_no_guard_can_not_be_waived(failing: Door) -> None:
    code, said = failing.gate("waive", "complete-run", "--reason", "it is fine", "--by", "agent")
    assert (code, "is not what closes the gate" in said) == (NOT_ALLOWED, True), said


def test_twin_a_person_said_beforehand_that_scripts_may(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "good")
    for path in door.folder.iterdir():
        if path.is_file():
            path.unlink()
    fresh = Door(bench, door.root.rename(tmp_path / "fresh"))
    fresh.write("phase-gate.yaml", _WEAKER["overrides"])
    (fresh.root / "price.py").unlink()
    assert fresh.pytest("--phase=red", "--exit-signal=five failing tests")[0] == 0
    door = Door(bench, fresh.root)
    door.write("price.py", BAD)
    door.write("tests/test_price.py", _SKIPPED)
    door.pytest("--phase=green")
    code, said = door.gate("waive", "tests-unchanged", "--reason", "the old test was wrong", "--by", "dev")
    assert code == 0, said
