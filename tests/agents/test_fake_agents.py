"""Agents that follow the hooks: an honest one comes to an open gate, a stubborn one to an end, neither goes round."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from phase_gate.agents.agent import AGENT_NAMES
from tests.agents.fake import FakeAgent, next_of
from tests.support import CALC, FAILING_TESTS, Sample

pytestmark = pytest.mark.sampled(3)

Hire = Callable[[str], FakeAgent]


@pytest.fixture
def hire(sample: Sample, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Hire:
    """Return a function that lets an agent begin: its tests are written, and fail."""
    for name in ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)

    def begin(name: str) -> FakeAgent:
        sample.write(test_calc=FAILING_TESTS)
        assert sample.pytest("--phase=red").code == 0
        return FakeAgent(name, sample, capsys, monkeypatch)

    return begin


def write_code(agent: FakeAgent, command: str) -> None:
    if command.startswith("pytest --phase=green"):
        assert agent.write("calc.py", CALC) is None


@pytest.mark.parametrize("name", AGENT_NAMES)
def test_one_that_does_what_it_is_told_comes_to_an_open_gate(hire: Hire, name: str) -> None:
    agent = hire(name)
    agent.work(write_code)
    signal = 'phase-gate signal  # --reason "..." says why'
    assert agent.typed == [signal, "pytest --phase=green", "pytest --phase=green", signal]
    assert agent.type("phase-gate check").code == 0
    assert agent.shown == "", "no person is needed"


@pytest.mark.parametrize("name", AGENT_NAMES)
def test_one_that_only_says_done_comes_to_an_end(hire: Hire, name: str) -> None:
    agent = hire(name)
    agent.repeat()
    assert len(agent.told) == 3
    assert "a person is needed" in agent.shown
    assert next_of(agent.shown) == 'phase-gate signal  # --reason "..." says why'
    assert agent.type("phase-gate check").code == 10


@pytest.mark.parametrize("name", AGENT_NAMES)
def test_one_whose_tools_do_not_work_comes_to_an_end(hire: Hire, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = hire(name)
    assert agent.type("phase-gate signal").code == 0
    # pytest is missing: the command does nothing, however often it is typed.
    monkeypatch.setattr(agent, "type", agent.typed.append)
    agent.work()
    assert agent.typed[1:] == ["pytest --phase=green"] * 3
    assert "a person is needed" in agent.shown


@pytest.mark.parametrize("name", ["codex", "gemini"])
def test_one_that_runs_on_and_changes_nothing_comes_to_an_end(hire: Hire, sample: Sample, name: str) -> None:
    sample.write({"phase-gate.yaml": "agents: {stop_blocks: 1}\n"})
    agent = hire(name)
    agent.work()
    assert agent.typed[1:] == ["pytest --phase=green"] * 6
    assert "a person is needed" in agent.shown
    assert agent.type("phase-gate check").code == 10


@pytest.mark.parametrize("name", AGENT_NAMES)
def test_one_that_finds_a_test_wrong_says_so_and_stops(hire: Hire, name: str) -> None:
    agent = hire(name)
    agent.type("phase-gate signal")
    assert agent.write("calc.py", CALC.replace("a - b", "b - a")) is None
    other = FAILING_TESTS.replace("== 1", "== -1")
    denied = agent.write("test_calc.py", other)
    assert denied is not None
    assert agent.type(next_of(denied)).code == 10
    assert agent.stop() is None, "it may stop right away"
    assert "needs a person (test-wrong)" in agent.shown
    # The person types what the denial names, and the agent goes on.
    assert agent.type(denied.partition("a person goes back with: ")[2]).code == 0
    assert agent.write("test_calc.py", other) is None
