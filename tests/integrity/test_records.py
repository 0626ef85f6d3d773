"""Rows 27, 28, 31, 32, 34, 38, 39, 51: what takes more than one checkout, or a hand in the state folder.

The corpus has a cheat and its honest twin for each of these rows; here is what its steps can't say.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support import CALC, Project

CLOSED, UNTRUSTED, NOT_ALLOWED = 10, 11, 13
#: `test_sub` fails, and nothing else.
BAD = CALC.replace("a - b", "a")


def copy_to(project: Project, root: Path) -> Project:
    """Return the project once more, in another folder."""
    shutil.copytree(project.root, root)
    return project.at(root)


def fail(project: Project) -> Project:
    """A run of GREEN in which a test fails."""
    assert project.write(calc=BAD).run_process("--phase=green").code == 1
    return project


# --- the state folder (27, 31, 51)


@pytest.mark.cheats(27)
def test_the_folder_of_another_checkout(project: Project, tmp_path: Path) -> None:
    other = copy_to(project.red(), tmp_path / "other").write(calc=CALC)
    for _ in range(2):
        other.run_process("--phase=green")
    fail(project)
    shutil.rmtree(project.state)
    shutil.copytree(other.state, project.state)
    checked = project.gate("check", "--gate1")
    # Both began as copies of one folder, and this one was seen to go on otherwise.
    assert (checked.code, checked.has("not the one that was seen before")) == (UNTRUSTED, True)
    assert project.gate("signal", "--reason", "it was green over there").code == UNTRUSTED


def test_twin_the_whole_project_is_moved(project: Project, tmp_path: Path) -> None:
    moved = project.at(Path(shutil.move(project.green().root, tmp_path / "elsewhere")))
    assert moved.gate("check", "--gate1").code == 0
    ran = moved.run_process("--phase=green")
    assert (ran.code, "Warning" in ran.out) == (0, False)


# --- signals (28)

_WRITES = "from pathlib import Path\n\nPath('.phase-gate/exit-signal.yaml').write_text('exit_signal: true\\n')\n"


@pytest.mark.cheats(28)
@pytest.mark.parametrize("name", ["conftest.py", "test_more.py", "calc.py"])
def test_a_signal_that_the_project_writes(project: Project, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")  # as inherited from a worker
    project.red().write(calc=CALC)
    (project.root / name).write_text(f"{_WRITES}\n{CALC}\n\ndef test_more():\n    pass\n", encoding="utf-8")
    for _ in range(2):
        ran = project.run_process("--phase=green", "--phase-exit=dual", "-v")
        assert (ran.code, ran.has("made while the run was open")) == (CLOSED, True)
    assert project.gate("check").code == CLOSED


def test_twin_a_person_writes_it(project: Project) -> None:
    project.green().write({".phase-gate/exit-signal.yaml": "exit_signal: true\n"})
    ran = project.run_process("--phase=green", "--phase-exit=dual")
    assert (ran.code, "Warning" in ran.out) == (0, False)
    assert project.gate("check").code == 0


# --- the plugin (32) and the rules (34)


def test_a_part_of_the_plugin_is_blocked(project: Project) -> None:
    fail(project.red())
    assert project.run_process("--phase=green", "-p", "no:phase_gate_session").code != 0
    assert project.gate("check", "--gate1").code == CLOSED


_OVERRIDES = {"phase-gate.yaml": "overrides: {allow_non_interactive: true}\n"}


# --- facts, baselines and overrides (38, 39)


@pytest.mark.cheats(38)
def test_no_baseline_by_the_hidden_option(project: Project) -> None:
    ran = fail(project.red()).run_process("--phase-baseline=")
    assert (ran.code, ran.has("cycle 1 has begun")) == (NOT_ALLOWED, True)
    assert project.gate("check", "--gate1").code == CLOSED


@pytest.mark.cheats(39)
def test_overrides_that_are_allowed_later_do_not_count(project: Project) -> None:
    fail(project.red()).write(_OVERRIDES).run("--phase=green")
    waived = project.gate("waive", "rules-unchanged", "--reason", "it is fine", "--by", "agent")
    assert (waived.code, waived.has("terminal")) == (NOT_ALLOWED, True)


def test_an_option_that_was_added_is_left_out(project: Project) -> None:
    project.red().write(calc=CALC)
    ran = project.run("--phase=green", "-W", "error")
    assert ran.has("next    leave out -W, then run: pytest --phase=green;")
    project.write({"pytest.ini": "[pytest]\nxfail_strict = true\n"})
    ran = project.run("--phase=green", "-W", "error")
    assert " ".join(ran.out.split()).count("leave out -W, and restore them: ini xfail_strict") == 1


def test_twin_a_person_said_beforehand_that_scripts_may(project: Project) -> None:
    project.write(_OVERRIDES).red().write(calc=CALC, test_calc="def test_add():\n    pass\n")
    project.run("--phase=green")
    assert project.gate("waive", "tests-unchanged", "--reason", "it was wrong", "--by", "dev").code == 0
    refused = project.gate("waive", "complete-run", "--reason", "it is fine", "--by", "dev")
    assert (refused.code, refused.has("is not what closes the gate")) == (NOT_ALLOWED, True)
