"""A run on another machine lives until its time limit: real processes, killed ones and late ones among them."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.database import is_installed, shared_database
from tests.stores.kinds import make_bare
from tests.stores.proofs import Place, gate
from tests.support import OURS

pytestmark = [pytest.mark.processes, pytest.mark.sampled(2)]

#: Seconds that a run of these tests may take, and the same as `run_limit` has it: in hours.
LIMIT = 6.0
SETTINGS = f"run_limit: {LIMIT / 3600}\n"

#: Runs for as long as the file is there.
SLOW = (
    "import pathlib, time\n\n\ndef test_slow():\n    while pathlib.Path({go!r}).exists():\n        time.sleep(0.05)\n"
)

_NUMBERS = itertools.count()


@pytest.fixture(params=["git", "postgresql"] if is_installed() else ["git"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "git":
        return Place(f"git:{make_bare(tmp_path / 'shop.git')}#shop")
    database = shared_database()
    store = f"{database.place()}#limits-{os.getpid()}-{next(_NUMBERS)}"
    return Place(store, {"PGPASSFILE": str(database.folder / "pgpass")})


class Shop:
    """The same project on several machines, with a test that ends when it is let go."""

    def __init__(self, place: Place, folder: Path) -> None:
        self.place, self._folder, self._go = place, folder, folder / "go"
        self._go.touch()

    def machine(self, name: str) -> Path:
        root = self._folder / name
        if not root.exists():
            root.mkdir()
            (root / "phase-gate.yaml").write_text(SETTINGS, encoding="utf-8")
            (root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
            (root / "test_slow.py").write_text(SLOW.format(go=str(self._go)), encoding="utf-8")
        return root

    @contextlib.contextmanager
    def running(self, name: str) -> Iterator[subprocess.Popen[str]]:
        """Start a run, and wait until the store has its start."""
        root = self.machine(name)
        words = [sys.executable, "-m", "pytest", *OURS, "-q", "--phase=green"]
        process = subprocess.Popen(
            words,
            cwd=root,
            env=self.place.names(root),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            end = time.monotonic() + 60
            while not gate(self.place, self.machine("observer"), "status").get("open_runs"):
                assert time.monotonic() < end, "it was to begin"
            yield process
        finally:
            self._go.unlink(missing_ok=True)
            process.kill()
            process.communicate()

    def let_go(self) -> None:
        self._go.unlink()

    def look(self, name: str) -> tuple[int, int]:
        """Return how many runs live, and how many are lost, as a machine sees them."""
        status = gate(self.place, self.machine(name), "status")
        return len(status["open_runs"]), len(status["lost_runs"])

    def run(self, name: str) -> int:
        root = self.machine(name)
        words = [sys.executable, "-m", "pytest", *OURS, "-q", "--phase=green"]
        return subprocess.run(words, cwd=root, env=self.place.names(root), capture_output=True, check=False).returncode

    def kinds(self, name: str) -> list[str]:
        return sorted(run["kind"] for run in gate(self.place, self.machine(name), "history")["runs"])


@pytest.fixture
def shop(place: Place, tmp_path: Path) -> Shop:
    return Shop(place, tmp_path)


@pytest.mark.sweep
def test_a_killed_run_lives_for_others_until_its_limit(shop: Shop) -> None:
    with shop.running("one") as process:
        began = time.monotonic()
        process.kill()
        process.wait()
        assert shop.look("one") == (0, 1), "its own machine sees the free lock"
        if time.monotonic() - began < LIMIT - 3:
            assert shop.look("observer") == (1, 0)
    time.sleep(LIMIT)
    assert shop.look("observer") == (0, 1)
    assert shop.run("observer") == 10
    assert shop.kinds("one") == ["complete", "lost"]


def test_a_late_run_records_nothing_and_says_so(shop: Shop) -> None:
    with shop.running("one") as process:
        time.sleep(LIMIT + 1)
        shop.let_go()
        said = process.communicate(timeout=60)[0]
        assert process.returncode == 11
        for text in ("1 passed", "nothing recorded", "longer than its limit", "run_limit"):
            assert text in said, said
    assert shop.look("observer") == (0, 1)


@pytest.mark.sweep
def test_a_run_that_another_machine_has_given_up_is_told_so(shop: Shop) -> None:
    with shop.running("one") as process:
        time.sleep(LIMIT + 1)
        shop.let_go()
        process.send_signal(19)  # stopped in its tracks: it comes back when others have gone on
        assert shop.run("observer") == 10
        process.send_signal(18)
        said = process.communicate(timeout=60)[0]
        assert process.returncode == 11
        assert "nothing recorded" in said, said
    assert shop.kinds("observer") == ["complete", "lost"]
