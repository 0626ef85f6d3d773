"""The story that events tell: runs, streaks, what happened beside them, and what is bounded."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.gate.state import Event
from phase_gate.report import story_builder
from phase_gate.report.story import Story
from tests.report.history import History, given
from tests.report.samples import build_sample

A, B = "tests/test_a.py::test_a", "tests/test_a.py::test_b"


def kinds(story: Story) -> list[tuple[int, str]]:
    return [(each.run, each.kind) for each in story.happenings]


def test_runs_with_counts_and_streaks() -> None:
    history = History()
    history.run("RED", {A: "f", B: "f"}, signal=given("both fail"))
    history.run("GREEN", {A: "p", B: "f"})
    history.run("GREEN", {A: "p", B: "p"}, tree="t")
    history.run("GREEN", {A: "p", B: "p"}, tree="t")
    history.run("GREEN", {A: "p", B: "f"}, tree="t")
    history.run("GREEN", {A: "p"}, unselected=1)
    story = history.story()
    assert [(run.number, run.phase, run.kind, run.iteration) for run in story.runs] == [
        (1, "RED", "complete", 1),
        (2, "GREEN", "complete", 1),
        (3, "GREEN", "complete", 2),
        (4, "GREEN", "complete", 3),
        (5, "GREEN", "complete", 4),
        (6, "GREEN", "partial", None),
    ]
    assert [(run.passed, run.failed) for run in story.runs] == [(0, 2), (1, 1), (2, 0), (2, 0), (1, 1), (1, 0)]
    assert [(run.streak, run.resets) for run in story.runs] == [
        *((0, False), (0, False), (1, False)),
        *((2, False), (0, True), (0, False)),
    ]
    assert [run.can_exit for run in story.runs][:2] == [True, False]
    assert story.runs[1].says == f"{B} fails"
    assert story.runs[5].says == "1 known test did not run (-k total)"


def test_what_happened_beside_the_runs() -> None:
    history = History()
    history.run("RED", {A: "f"}, signal=given("it fails"))
    history.run("GREEN", {A: "f"}, signal=given("done"))
    history.run("GREEN", {A: "p"}, tree="t", signal=given("not yet", answer="not-done"))
    history.run("GREEN", {A: "p"}, tree="t", signal=given("an access is missing", answer="blocked"))
    assert kinds(history.story()) == [
        *((0, "entered"), (1, "signal"), (1, "exited"), (1, "entered")),
        *((2, "too-early"), (3, "not-done"), (4, "needs-person")),
    ]


def test_the_breaker_and_whoever_resets_it() -> None:
    history = History()
    history.run("RED", {A: "f"}, signal=given("it fails"))
    for _ in range(5):
        history.run("GREEN", {A: "f"})
    assert history.story().standing.is_halted
    history.override("breaker-reset", reason="told it where to look", by="mara")
    history.run("GREEN", {A: "p"})
    story = history.story()
    assert [row for row in kinds(story) if "breaker" in row[1] or row[1] == "override"] == [
        *((5, "breaker-half-open"), (6, "breaker-open"), (6, "override"), (6, "breaker-half-open")),
        (7, "breaker-closed"),
    ]
    assert any("mara let the breaker try again" in each.text for each in story.happenings)


def test_a_run_that_never_ended() -> None:
    history = History()
    history.run("RED", {A: "f"})
    run = history.begin_run("RED")
    assert history.story().runs[-1].kind == "open"
    assert history.story(lost=(run,)).runs[-1].kind == "lost"


def test_where_the_task_stands() -> None:
    story = build_sample().story()
    state = story.state
    assert (state.phase, state.cycle, state.iteration, state.streak) == ("GREEN", 3, 9, 1)
    assert [(step.name, step.standing) for step in story.steps] == [
        *(("RED", "past"), ("GREEN", "now"), ("REFACTOR", "ahead"), ("DOCUMENT", "ahead")),
        ("DONE", "ahead"),
    ]
    assert [series.name for series in story.trend] == ["Quality", "Left to improve", "Tests", "Duration"]
    assert story.criteria is not None
    assert [row["id"] for row in story.criteria["criteria"]] == ["AC-1", "AC-2", "AC-6", "AC-7", "AC-8"]


def test_old_runs_and_events_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_builder, "KEPT_RUNS", 5)
    monkeypatch.setattr(story_builder, "KEPT_HAPPENINGS", 2)
    history = History()
    for _ in range(9):
        history.run("RED", {A: "f"}, signal=given("no", answer="not-done"))
    story = history.story()
    assert [run.number for run in story.runs] == [5, 6, 7, 8, 9]
    assert (story.runs_left_out, len(story.happenings), story.happenings_left_out) == (4, 2, 8)
    assert all(len(series.points) <= 5 for series in story.trend)


def test_an_object_that_is_gone_costs_its_part_and_no_more() -> None:
    history = build_sample()
    story = history.story(load=lambda name: None)
    assert len(story.runs) == 29
    assert (story.tests.rows, story.criteria, story.steps) == ((), None, ())


def test_every_kind_of_event_is_told_or_left_out_on_purpose() -> None:
    history = History()
    history.run("RED", {A: "f"})
    fact = {"name": "refactoring_complete", "value": True, "reason": "tidy", "by": "lee"}
    waiver = {"guard": "tests-kept", "findings": ["a"], "reason": "moved", "by": "lee", "expires": ""}
    told: dict[str, tuple[dict[str, Any], str, str]] = {
        "fact-declared": (fact, "note", "declared refactoring_complete = True (lee): tidy"),
        "waived": (waiver, "override", "waived tests-kept (1 finding) by lee, until the cycle ends: moved"),
        "rewound": (
            {"from": "GREEN", "to": "RED", "reason": "a test is wrong", "by": "lee"},
            "rewound",
            "back to RED (lee): a test is wrong",
        ),
        "repaired": ({"reason": "a bad disk", "by": "lee"}, "override", "the ledger was repaired (lee): a bad disk"),
        "signal-refused": ({"problem": "too late", "file": ""}, "too-early", "a refused signal: too late"),
    }
    builder = story_builder.StoryBuilder(history.objects.get)
    for event in history.events:
        builder.see(event)
    for kind, (data, _, _) in told.items():
        builder.see(Event(kind=kind, data=data, at=history.at))
    story = builder.build(history.story().standing, history.story().ledger, at=history.at, task="default", root="")
    assert [(each.kind, each.text) for each in story.happenings][-5:] == [
        (kind, text) for _, kind, text in told.values()
    ]
