"""Rows 28, 29, 30 and 40: a signal that nobody gave on purpose, or for other code than was tested.

What a signal file may say is in `tests/conformance`, what makes one stale in `tests/cli/test_signal.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.doors import CLOSED, NOT_ALLOWED, Door
from tests.integrity.rows import BAD, GOOD

_WRITES = "from pathlib import Path\n\nPath('.phase-gate/exit-signal.yaml').write_text('exit_signal: true\\n')\n"
_MEANWHILE = "it was made while the run was open"


@pytest.mark.cheats(28)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("tests/conftest.py", _WRITES, id="a-conftest-as-it-is-imported"),
        pytest.param("tests/test_more.py", f"{_WRITES}\n\ndef test_more():\n    pass\n", id="a-test-file"),
        pytest.param("price.py", f"{_WRITES}\n{GOOD}", id="the-code-under-test"),
    ],
)
def test_a_signal_that_the_project_writes(bench: Workbench, tmp_path: Path, name: str, text: str) -> None:
    door = Door.open(bench, tmp_path / "good")
    door.write(name, text)
    for _ in range(2):
        code, said = door.pytest("--phase=green", "--phase-exit=dual")
        assert (code, _MEANWHILE in said) == (CLOSED, True), said
    assert door.gate("check")[0] == CLOSED


def test_twin_a_person_writes_it(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "good", green_runs=1)
    (door.folder / "exit-signal.yaml").write_text("exit_signal: true\n", encoding="utf-8")
    code, said = door.pytest("--phase=green", "--phase-exit=dual")
    assert (code, "Warning" in said) == (0, False), said
    assert door.gate("check")[0] == 0


@pytest.mark.cheats(29)
def test_the_code_is_edited_after_the_green_run(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "good", green_runs=2)
    door.write("price.py", BAD)
    code, said = door.gate("signal", "--reason", "all pass")
    assert (code, "stale-signal" in said) == (NOT_ALLOWED, True), said
    assert door.gate("check")[0] == CLOSED


def test_twin_the_code_is_as_it_was(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "good", green_runs=2)
    door.write("price.py", BAD)
    door.write("price.py", GOOD)
    assert door.gate("signal", "--reason", "all pass")[0] == 0
    assert door.gate("check")[0] == 0


_EXCHANGES = f"""\
from pathlib import Path

place = Path("price.py")
kept = place.read_text()
place.write_text({GOOD!r})
import price
place.write_text(kept)


def test_more():
    pass
"""


@pytest.mark.cheats(30)
@pytest.mark.usefixtures("with_proof")
def test_the_code_is_exchanged_while_it_is_imported(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "bad", code=BAD)
    door.write("tests/test_a.py", _EXCHANGES)
    for _ in range(2):
        door.pytest("--phase=green")
    code, said = door.gate("signal", "--reason", "done")
    assert (code, "fails with the change" in said) == (CLOSED, True), said
    assert door.check()[0] == CLOSED


def test_twin_a_test_writes_a_source_as_it_was(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "good")
    door.write(
        "tests/test_a.py",
        "from pathlib import Path\n\n\ndef test_more():\n    place = Path('price.py')\n"
        "    text = place.read_text()\n    place.write_text('')\n    place.write_text(text)\n",
    )
    for _ in range(2):
        code, said = door.pytest("--phase=green")
    assert (code, "Warning" in said) == (0, False), said
    assert door.check()[0] == 0


@pytest.mark.cheats(40)
def test_a_standing_signal_in_green(bench: Workbench, tmp_path: Path) -> None:
    door = Door.open(bench, tmp_path / "good", green_runs=1)
    code, said = door.pytest("--phase=green", PYTEST_ADDOPTS="--exit-signal=always")
    assert (code, "--exit-signal came from" in said) == (4, True), said
    assert door.gate("check")[0] == CLOSED
