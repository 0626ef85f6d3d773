"""Tests that are marked as passing already: `@pytest.mark.passes_already("why")`.

They guard what works, so a phase that wants failing tests does not count them. Looked at in such a phase only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from phase_gate.gate.outcomes import Bucket
from phase_gate.source.criteria import PASSES_ALREADY, guards_in_source

if TYPE_CHECKING:
    from phase_gate.recording.witness import SessionWitness

_PLUGIN = "phase_gate_guarding"


class GuardingMarks:
    """Looks at the marks of all tests, once they are collected; on a worker, too."""

    def __init__(self) -> None:
        #: Why each of them passes already, by pytest's own node ids; empty where the mark gives no reason.
        self.by_node: dict[str, str] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            mark = item.get_closest_marker(PASSES_ALREADY)
            if mark is not None:
                said = mark.args[0] if mark.args else mark.kwargs.get("reason")
                self.by_node[item.nodeid] = said.strip() if isinstance(said, str) else ""


def watch_guarding(config: pytest.Config) -> None:
    config.pluginmanager.register(GuardingMarks(), _PLUGIN)


def guarding_nodes(config: pytest.Config) -> dict[str, str]:
    """Return what this process has seen, by pytest's own node ids."""
    marks = config.pluginmanager.get_plugin(_PLUGIN)
    return marks.by_node if isinstance(marks, GuardingMarks) else {}


def take_guarding(config: pytest.Config, witness: SessionWitness, root: Path) -> dict[str, str]:
    """Return the marked tests of the session by our own ids: from the source where a module can't be imported."""
    nodes = {**witness.guarding, **guarding_nodes(config)}
    found = {witness.collection.test_id(node): why for node, why in nodes.items()}
    uncollectable = [each for each, bucket in witness.outcomes().items() if bucket is Bucket.UNCOLLECTABLE]
    if uncollectable:
        from phase_gate.recording.criteria import read_by_name

        found |= read_by_name(uncollectable, root, guards_in_source)
    return found


def unexplained(guarding: Mapping[str, str]) -> Iterable[str]:
    """Yield what is to be said of tests that are marked as passing already, and do not say why."""
    for test_id in sorted(test_id for test_id, why in guarding.items() if not why):
        yield f'{test_id}: the mark does not count without a reason; write @pytest.mark.{PASSES_ALREADY}("why")'
