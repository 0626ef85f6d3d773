"""A task that is begun on one system and goes on with another: nothing of a machine decides anything."""

from __future__ import annotations

import shutil

import pytest

from phase_gate.cli import main
from tests.stores.in_memory import install
from tests.support import CALC, FAILING_TESTS, Sample

#: A frozen file beside the tests, and one with its own line ends.
HELPERS = {
    "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n",
    "data/rows.txt": "a\nb\n",
    "test_notes.txt": ">>> 1 + 1\n2\n",
}


@pytest.fixture
def shop(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Sample:
    install(monkeypatch)
    sample.write({**HELPERS, "test_calc.py": FAILING_TESTS, ".gitignore": ".phase-gate\n"})
    sample.commit_all()
    return sample


def check_out_elsewhere(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the same commit as a machine with Windows has it: without state, with its line ends, modes and clock."""
    sample.commit_all()
    shutil.rmtree(sample.root / ".phase-gate")
    for name, value in (("core.autocrlf", "true"), ("core.fileMode", "false"), ("core.symlinks", "false")):
        sample.git("config", name, value)
    for name in sample.git("ls-files").split():
        (sample.root / name).unlink()
    sample.git("checkout", "-q", "--", ".")
    assert b"\r\n" in (sample.root / "test_calc.py").read_bytes()
    monkeypatch.setattr("phase_gate.runs.recorder.host_name", lambda: "another")
    # It is an hour behind.
    monkeypatch.setattr("phase_gate.storage.store.now", lambda: "2020-01-01T00:00:00.000Z")
    monkeypatch.setattr("phase_gate.runs.ending.now", lambda: "2020-01-01T00:00:00.000Z")
    monkeypatch.setenv("XDG_STATE_HOME", str(sample.root.parent / "elsewhere"))


def test_red_on_linux_and_green_on_windows(shop: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shop.pytest("--phase=red", "--exit-signal=both fail").code == 0
    shop.write(calc=CALC)
    assert shop.pytest("--phase=green").code == 10
    check_out_elsewhere(shop, monkeypatch)
    # With other line ends it is another tree, so the streak starts over; the frozen tests are the same.
    for expected in (10, 0):
        ran = shop.pytest("--phase=green")
        assert ran.code == expected, ran.out
    assert main(["check", "--gate1"]) == 0


WEAKER = FAILING_TESTS.replace("== 3", "in (3, None)")


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["in-this-folder", "on-another-machine"])
def test_what_another_task_froze_holds_where_it_was_frozen(shop: Sample, is_elsewhere: bool) -> None:
    assert shop.pytest("--phase=red", "--exit-signal=both fail").code == 0
    if is_elsewhere:
        shutil.rmtree(shop.root / ".phase-gate")
        assert main(["status"]) == 0  # it is taken over, and nothing of it was made here
    shop.write(calc=CALC, test_calc=WEAKER)
    ran = shop.pytest("--phase=green", "--phase-task=other")
    assert ("tests-unchanged" in ran.out.partition("Gate 1")[2]) is not is_elsewhere, ran.out
