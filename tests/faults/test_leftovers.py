"""A sample of what tests leave behind. The whole table, over every function that a run's end calls, runs with
`tox -e long -- faults --only leftovers`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.faults.behind import BEHIND, TWINS
from tests.faults.leftovers import KINDS, REPORTS, WORKERS, Leftovers, replacing

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="there is no fork"), pytest.mark.sampled(4)]

#: The worst ones, each in one of the ways.
SAMPLE = (
    ("os:replace", "mock"),
    ("os:open", "mock"),
    ("os:stat", "raises"),
    ("os:close", "mock"),
    ("os:fsync", "none"),
    ("os:getpid", "mock"),
    ("json:dumps", "mock"),
    ("builtins:open", "raises"),
    ("builtins:isinstance", "none"),
    ("subprocess:Popen", "mock"),
    ("pathlib:Path.exists", "none"),
    ("time:time", "mock"),
    ("re:compile", "mock"),
    ("hashlib:sha256", "mock"),
)


SAMPLE_BEHIND = (
    "no environment",
    "no current folder",
    "no places to import from",
    "a module exchanged",
    "output closed, not captured",
    "the run's lock closed",
    "the state folder removed",
)


@pytest.fixture(scope="module")
def leftovers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Leftovers]:
    found = Leftovers(tmp_path_factory.mktemp("left"))
    yield found
    found.close()


@pytest.mark.parametrize(("name", "kind"), SAMPLE, ids=str)
def test_what_a_test_leaves_replaced_loses_nothing(leftovers: Leftovers, name: str, kind: str) -> None:
    leftovers.check(replacing(name, kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["os:replace", "builtins:open", "time:time"])
def test_what_tests_mostly_mock_does_not_reach_us(leftovers: Leftovers, name: str, kind: str) -> None:
    recorded, crashed = leftovers.ended["recorded"], leftovers.ended["crashed"]
    leftovers.check(replacing(name, kind))
    assert (leftovers.ended["recorded"], leftovers.ended["crashed"]) in {
        (recorded + 1, crashed),
        (recorded, crashed + 1),
    }


@pytest.mark.parametrize("name", SAMPLE_BEHIND)
def test_what_a_test_leaves_behind_does_not_reach_us(leftovers: Leftovers, name: str) -> None:
    leftovers.check_case(BEHIND[name])


def test_what_tests_put_back_is_not_mentioned(leftovers: Leftovers) -> None:
    ended = leftovers.check("".join(TWINS.values()))
    assert "2 passed" in ended.out


def test_what_a_test_leaves_in_a_worker_does_not_reach_us(leftovers: Leftovers) -> None:
    leftovers.check(replacing("os:replace", "mock"), *WORKERS)


@pytest.mark.parametrize("kind", KINDS)
def test_what_only_reports_call_does_not_reach_us(leftovers: Leftovers, kind: str) -> None:
    name = "functools:cached_property.__get__"
    leftovers.check(replacing(name, kind), ours=REPORTS)
