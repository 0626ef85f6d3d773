"""Shards that hand their records to a shared store: each in a clone of its own, and nothing is carried."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.shards import sharing
from tests.plugin.test_shards import FOLDER, SUITE, gate, run_shard
from tests.stores.in_memory import Server, install
from tests.support import Ran, Sample


class Clones:
    def __init__(self, sample: Sample, folder: Path) -> None:
        self.sample, self._folder = sample, folder

    def enter(self, name: str) -> Path:
        clone = self._folder / name
        if not clone.exists():
            self.sample.git("clone", "-q", str(self.sample.root), str(clone))
        self.sample.pytester.chdir()
        self.sample.environment.chdir(clone)
        return clone

    def shard(self, index: int, total: int = 2, *arguments: str) -> Ran:
        self.enter(f"shard-{index}")
        return run_shard(self.sample, index, total, *arguments)

    def gate(self, *words: str, where: str = "combining") -> Ran:
        self.enter(where)
        return gate(*words)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return install(monkeypatch)


@pytest.fixture
def clones(sample: Sample, server: Server, tmp_path: Path) -> Clones:
    sample.environment.syspath_prepend(str(sample.root))
    sample.write({**SUITE, ".gitignore": "__pycache__/\n"})
    sample.commit_all()
    return Clones(sample, tmp_path)


def test_a_round_is_one_run_and_is_spent_by_it(clones: Clones) -> None:
    first = clones.shard(1)
    assert first.code == 0
    assert first.has("recorded in git:../memory#shop", "next    phase-gate ci combine   (when all 2 are there)")
    waiting = clones.gate("ci", "combine")
    assert waiting.code == 11
    assert waiting.has("shard 2/2 of the run is missing")
    assert clones.shard(2).code == 0
    done = clones.gate("ci", "combine", "-v")
    assert done.code == 10
    assert done.has("GREEN - run 1 - 13 tests", "1 >= 2")
    again = clones.gate("ci", "combine", where="another")
    assert again.code == 11
    assert again.has("no shard that ran on commit", "waits in git:../memory#shop")
    assert clones.gate("history", where="another").has("13")


def test_it_waits_for_those_that_are_missing(clones: Clones, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    clones.shard(1)

    def arrive(store: object, task: str, after: object, seconds: float) -> bool:
        monkeypatch.setattr("tests.stores.in_memory.InMemoryStore.wait", lambda *words: False)
        assert clones.shard(2).code == 0
        clones.enter("combining")
        return True

    monkeypatch.setattr("tests.stores.in_memory.InMemoryStore.wait", arrive)
    done = clones.gate("ci", "combine", "--wait", "10m")
    assert done.code == 10, done
    assert "waiting for shards 2/2" in done.err
    assert done.has("13 tests")
    assert clones.gate("ci", "combine", "--wait", "soon").code == 2


def test_a_shard_that_ended_is_not_run_again_for_a_better_result(clones: Clones) -> None:
    clones.shard(1)
    clones.shard(2)
    clones.shard(1)
    refused = clones.gate("ci", "combine")
    assert refused.code == 11
    assert refused.has("shard 2/2 of the run is missing")


def test_other_sources_are_refused(clones: Clones) -> None:
    clones.shard(1)
    clone = clones.enter("shard-2")
    (clone / "calc.py").write_text((clone / "calc.py").read_text() + "\n\nMORE = 1\n", encoding="utf-8")
    clones.shard(2)
    refused = clones.gate("ci", "combine")
    assert refused.code == 11
    assert refused.has("the sources")


@pytest.mark.parametrize("key", ["", "another"])
def test_another_key_hands_nothing_in(clones: Clones, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("PHASE_GATE_KEY", "secret")
    clones.shard(1)
    monkeypatch.setenv("PHASE_GATE_KEY", key)
    ran = clones.shard(2)
    assert ran.code == 11
    assert ran.has("so this shard is missing")


def test_two_that_combine_at_once_make_one_run(clones: Clones, server: Server) -> None:
    clones.shard(1)
    clones.shard(2)
    faster: list[Ran] = []

    def combine() -> None:
        faster.append(clones.gate("ci", "combine", where="faster"))
        clones.enter("combining")

    server.before_append = combine
    slower = clones.gate("ci", "combine")
    assert faster[0].code == 10
    assert slower.code == 11
    assert slower.has("is part of run", "combining again is not running again")


def test_a_store_that_does_not_answer_loses_no_record(clones: Clones, server: Server) -> None:
    clones.shard(1)
    server.is_down = True
    ran = clones.shard(2)
    assert ran.code == 11
    assert ran.has("git:../memory#shop does not answer")
    server.is_down = False
    folder = clones.enter("combining") / FOLDER
    for index in (1, 2):
        shutil.copytree(folder.parents[1] / f"shard-{index}" / FOLDER, folder / str(index))
    assert clones.gate("ci", "combine", FOLDER).has("13 tests")


def test_a_begin_that_could_not_be_said_is_said_with_the_end(
    clones: Clones, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    clones.shard(1)
    write: Callable[..., None] = sharing.hand_in

    def hand_in(*words: object, **more: object) -> None:
        server.is_down = len(words) == 2
        try:
            write(*words, **more)
        finally:
            server.is_down = False

    monkeypatch.setattr("phase_gate.shards.session.hand_in", hand_in)
    assert clones.shard(2).code == 0
    assert clones.gate("ci", "combine").has("13 tests")
