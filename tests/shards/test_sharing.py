"""Which shards of a store belong together: a table of histories."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.gate.state import Event
from phase_gate.shards.sharing import find_round, round_of

COMMIT = "c" * 40


def event(kind: str, shard: str, index: int, total: int = 2, **more: Any) -> Event:
    data = {"shard": shard, "index": index, "total": total, "phase": "GREEN", "commit": COMMIT, "round": ""}
    return Event(kind=f"shard-{kind}", data={**data, "record": f"object-{shard}", "schema": 1, **more})


def began(shard: str, index: int, **more: Any) -> Event:
    return event("began", shard, index, **more)


def ended(shard: str, index: int, **more: Any) -> Event:
    return event("ended", shard, index, **more)


def ran(shard: str, index: int, **more: Any) -> tuple[Event, Event]:
    return began(shard, index, **more), ended(shard, index, **more)


def spent(*shards: str) -> Event:
    return Event(kind="run-started", data={"run": "r", "shards": list(shards)})


@pytest.mark.parametrize(
    ("history", "shards", "missing"),
    [
        pytest.param([], None, [], id="none"),
        pytest.param([*ran("a", 1)], ["a"], ["2/2"], id="one-is-missing"),
        pytest.param([*ran("a", 1), *ran("b", 2)], ["a", "b"], [], id="all-are-there"),
        pytest.param([*ran("b", 2), *ran("a", 1)], ["a", "b"], [], id="in-any-order"),
        pytest.param([*ran("a", 1), began("b", 2)], ["a", "b"], ["2/2"], id="one-goes-on-or-died"),
        pytest.param([began("a", 1), *ran("b", 2), *ran("c", 1)], ["c", "b"], [], id="one-that-died-runs-again"),
        pytest.param([*ran("a", 1), *ran("b", 2), spent("a", "b")], None, [], id="spent"),
        pytest.param(
            [*ran("a", 1), *ran("b", 2), spent("a", "b"), *ran("c", 1)], ["c"], ["2/2"], id="one-after-a-run-is-alone"
        ),
        pytest.param([*ran("a", 1), *ran("b", 2), *ran("c", 1)], ["c"], ["2/2"], id="done-again-is-another-round"),
        pytest.param(
            [*ran("a", 1), began("b", 2), *ran("c", 1), ended("b", 2)],
            ["c"],
            ["2/2"],
            id="a-straggler-of-a-round-before",
        ),
        pytest.param([began("a", 1), began("c", 1), ended("a", 1)], ["c"], ["1/2", "2/2"], id="begun-anew-elsewhere"),
        pytest.param([ended("a", 1)], None, [], id="an-end-without-a-begin"),
        pytest.param([*ran("a", 1), *ran("b", 1, total=3)], ["b"], ["2/3", "3/3"], id="another-number-of-shards"),
        pytest.param([*ran("a", 1), *ran("b", 2, phase="RED")], ["b"], ["1/2"], id="another-phase"),
        pytest.param([*ran("a", 1), *ran("b", 2, commit="d" * 40)], ["a"], ["2/2"], id="another-commit"),
        pytest.param([*ran("a", 1), *ran("b", 2, round="x")], ["b"], ["1/2"], id="another-pipeline"),
    ],
)
def test_what_belongs_together(history: list[Event], shards: list[str] | None, missing: list[str]) -> None:
    found = find_round(history, commit=COMMIT, name="")
    if shards is None:
        assert found is None
        return
    assert found is not None
    assert [each.shard for _, each in sorted(found.shards.items())] == shards
    assert found.missing == missing


def test_a_pipeline_gets_its_own_shards() -> None:
    both = [*ran("a", 1, round="x"), *ran("b", 1, round="y"), *ran("c", 2, round="x")]
    found = find_round(both, commit=COMMIT, name="x")
    assert found is not None
    assert [each.shard for _, each in sorted(found.shards.items())] == ["a", "c"]
    assert find_round(both, commit=COMMIT, name="z") is None


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "2"}, "7-2", id="github"),
        pytest.param({"CI_PIPELINE_ID": "9"}, "9", id="gitlab"),
    ],
)
def test_the_name_of_a_pipeline(variables: dict[str, str], name: str) -> None:
    assert round_of(variables) == name
