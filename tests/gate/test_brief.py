"""What the ledger leaves out of a line comes back when it is read behind the same lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phase_gate.gate.breaker import Breaker
from phase_gate.gate.brief import _less, _more, abridge, restore
from phase_gate.gate.events import apply
from phase_gate.gate.judging import judged_event
from phase_gate.gate.measured import Measured
from phase_gate.gate.state import NEW_STATE, Event, Measurement, State
from phase_gate.values import replace
from tests.gate.verdicts import AT, verdict

_NAMES = st.sampled_from(["a", "b", "c", "d"])
_SIMPLE = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "x"])
_VALUES = st.recursive(
    _SIMPLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=12,
)
_DOCUMENTS = st.dictionaries(_NAMES, _VALUES, max_size=4)


@given(_DOCUMENTS, _DOCUMENTS)
def test_the_difference_leads_back_to_the_document(value: dict[str, Any], known: dict[str, Any]) -> None:
    assert repr(_sorted(_more(_less(value, known), known))) == repr(_sorted(value))


def _sorted(value: Any) -> Any:
    """Return a document with its names in order, so that 1 and True can be told by what is printed."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("value", "known", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="the-same-is-nothing"),
        pytest.param({"a": True}, {"a": 1}, {"a": True}, id="true-is-not-1"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": 2}}, id="a-field-more"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, {"-": ["b"]}, id="a-field-less"),
        pytest.param({"a": [1, 2]}, {"a": [1, 3]}, {"a": [1, 2]}, id="a-list-as-a-whole"),
    ],
)
def test_only_what_is_new_is_written(value: dict[str, Any], known: dict[str, Any], expected: dict[str, Any]) -> None:
    assert _less(value, known) == expected
    assert _more(expected, known) == value


def _measured(**metrics: int) -> State:
    return replace(
        NEW_STATE, measurement=Measurement(run="r", iteration=1, tree="t", measured=Measured(metrics=metrics))
    )


def test_metrics_of_the_last_run_are_not_written_again() -> None:
    event = Event(kind="run-ended", data={"run": "s", "metrics": {"tests_total": 3, "tests_failing": 1}}, at="now")
    brief, restored = abridge(event, _measured(tests_total=3, tests_failing=0))
    assert brief.data["metrics"] == {"-": ["consecutive_green_runs", "iteration"], "tests_failing": 1}
    assert restore(brief, _measured(tests_total=3, tests_failing=0)) == event == restored


def test_a_verdict_like_the_last_one_is_not_written_again() -> None:
    evaluation = verdict(breaker=Breaker(no_progress=1, tree="t"))
    event = judged_event(evaluation, at=AT)
    state = replace(apply(NEW_STATE, event), task="default", cycle=1, phase="GREEN", last_tree="t")
    brief, restored = abridge(event, state)
    assert brief.data == {}
    assert restore(brief, state) == event == restored
    older = replace(brief, data={**brief.data, "evaluation": {"-": ["breaker"]}})
    assert restore(older, state) == event


def test_a_line_that_no_version_writes_is_an_error() -> None:
    with pytest.raises(TypeError):
        restore(Event(kind="run-ended", data={"metrics": {"-": 3}}, at="now"), _measured(tests_total=3))
