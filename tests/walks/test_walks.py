"""A short sample of the walks, always the same ones; and what the finisher reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sweeps import IS_WHOLE
from tests.walks.finisher import find_commands
from tests.walks.many import show
from tests.walks.session import start_server
from tests.walks.walk import WORKFLOWS, Outcome, Walk, make_walk, read_walk, take
from tests.warm import WarmServer

#: Walks of each workflow, by their seeds.
SAMPLE = {"tdd": (1,), "exit-gate": (0,), "confidence": (0,)}
#: Workflows with short ways; the others take theirs in `tox -e sweeps`, and all of them in `tox -e long -- soak`.
SHORT = WORKFLOWS if IS_WHOLE else ("tdd", "exit-gate", "confidence", "verification")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    server = start_server(tmp_path_factory.mktemp("walks"))
    yield server
    server.close()


@pytest.mark.sampled(2)
@pytest.mark.processes
@pytest.mark.parametrize("workflow", SHORT)
def test_the_plain_way_leads_to_the_exit(workflow: str, server: WarmServer) -> None:
    _assert_exit(take(Walk(workflow=workflow, steps=()), server))


@pytest.mark.sampled(3)
@pytest.mark.processes
@pytest.mark.parametrize(("workflow", "seed"), [(name, seed) for name, seeds in SAMPLE.items() for seed in seeds])
def test_every_walk_leads_to_the_exit(workflow: str, seed: int, server: WarmServer) -> None:
    _assert_exit(take(make_walk(workflow, seed), server))


def _assert_exit(outcome: Outcome) -> None:
    assert not outcome.problem, show(outcome)


def test_a_walk_can_be_typed_again() -> None:
    walk = make_walk("tdd", 7)
    assert read_walk(str(walk)) == walk
    assert make_walk("tdd", 7) == walk != make_walk("tdd", 8)


def test_commands_are_found_in_sentences() -> None:
    assert find_commands("put it back, or go back with: pytest --phase=red") == ["pytest --phase=red"]
    assert find_commands("phase-gate claim FILE, with what the agent printed") == ["phase-gate claim said.txt"]
    assert find_commands("phase-gate explain tests-kept names them; phase-gate status") == [
        "phase-gate explain tests-kept",
        "phase-gate status",
    ]
    assert find_commands("wait for it to end") == []
