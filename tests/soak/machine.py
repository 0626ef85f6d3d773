"""Drive the real plugin and the real command with any order of steps, beside the model.

Each step is a process of its own, forked from a warm one. After each, every invariant of the design is looked at.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from phase_gate.gate.codec import state_to_json
from phase_gate.gate.events import apply
from phase_gate.gate.state import NEW_STATE
from phase_gate.storage.store import TaskStore
from tests.integrity.forks import Forks
from tests.soak.model import CLOSED, HALTED, NOT_ALLOWED, OPEN, PHASES, TESTS_FAILED, Model
from tests.support import OURS

#: What a test asks for stands in a file that is no source, so that one tree may have any outcome.
CALC = """\
from pathlib import Path

EDIT = {edit}


def works(name):
    return name in Path(__file__).with_name("outcome.txt").read_text().split()
"""
TEST = '\n\ndef test_{name}():\n    assert works("{name}")\n'
NAMES = "abcdefghij"

#: What RED counts depends on what is new, which is the product's to say.
RULES = """\
phases:
  RED: {breaker: {no_progress: 0, same_error: 0}}
overrides: {allow_non_interactive: true}
"""

#: What was done, over all stories.
DONE: Counter[str] = Counter()


@cache
def _forks() -> Forks:
    folder = Path(tempfile.mkdtemp(prefix="phase-gate-forks-"))
    forks = Forks(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(forks.close)
    return forks


class GateMachine(RuleBasedStateMachine):
    """A person who does things in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="phase-gate-machine-"))
        self.root = self.folder / "root"
        self.root.mkdir()
        self.model = Model()
        self.tests = ["a", "b"]
        self.passing: set[str] = set()
        self.seen: dict[tuple[int, int], int] = {}
        self.entries = 0
        (self.root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (self.root / "phase-gate.yaml").write_text(RULES, encoding="utf-8")
        self._write()

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- the project ---------------------------------------------------------------------------------------------

    def _write(self) -> None:
        (self.root / "calc.py").write_text(CALC.format(edit=self.model.tree), encoding="utf-8")
        tests = "".join(TEST.format(name=name) for name in self.tests)
        (self.root / "test_it.py").write_text(f"from calc import works\n{tests}", encoding="utf-8")
        (self.root / "outcome.txt").write_text(" ".join(sorted(self.passing)), encoding="utf-8")

    def _run(self, *words: str) -> tuple[int, str]:
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "XDG_STATE_HOME": str(self.folder / "user"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "USER": "dev",
        }
        done = _forks().run(self.root, ["-m", *words], environment)
        return done.returncode, done.stdout + done.stderr

    def _gate(self, *words: str) -> tuple[int, str]:
        DONE[words[0]] += 1
        return self._run("phase_gate.cli", *words)

    # --- steps ---------------------------------------------------------------------------------------------------

    @rule(data=st.data())
    def change_outcomes(self, data: st.DataObject) -> None:
        """Without a change to the sources: a flaky world."""
        how = data.draw(st.sampled_from(["all", "all", "none", "none", "some"]))
        chosen = data.draw(st.sets(st.sampled_from(self.tests))) if how == "some" else set()
        self.passing = {"all": set(self.tests), "none": set(), "some": chosen}[how]
        DONE["outcomes"] += 1
        self._write()

    @rule()
    def edit(self) -> None:
        self.model.tree += 1
        DONE["edit"] += 1
        self._write()

    @precondition(lambda self: len(self.tests) < len(NAMES) and self.model.phase in (None, "RED", "GREEN", "REFACTOR"))
    @rule(passes=st.booleans())
    def add_test(self, passes: bool) -> None:
        name = NAMES[len(self.tests)]
        self.tests.append(name)
        self.passing |= {name} if passes else set()
        self.model.tree += 1
        DONE["new test"] += 1
        self._write()

    @rule(data=st.data(), is_narrow=st.sampled_from([False, False, False, True]), signals=st.booleans())
    def run_somewhere(self, data: st.DataObject, is_narrow: bool, signals: bool) -> None:
        """Mostly where the task is, or where it goes next; now and then anywhere."""
        model = self.model
        usual = [model.phase or "RED"] * 3
        if model.exited and model.phase is not None:
            usual = [PHASES[PHASES.index(model.phase) + 1]] * 3
        phase = data.draw(st.sampled_from([*usual, *PHASES]))
        self._run_in(phase, is_narrow=is_narrow and model.knows, signals=signals)

    @rule(is_narrow=st.sampled_from([False, False, True]))
    def run_here(self, is_narrow: bool) -> None:
        self._run_in(self.model.phase or "GREEN", is_narrow=is_narrow and self.model.knows, signals=False)

    @rule(times=st.integers(1, 3), signals=st.sampled_from([True, True, False]))
    def go_on(self, times: int, signals: bool) -> None:
        """What an honest person does: make it as the phase wants it, run until it holds, signal, go on."""
        phase = self.model.phase or "RED"
        if self.model.exited and phase != "DOCUMENT":
            phase = PHASES[PHASES.index(phase) + 1]
        self.passing = set() if phase == "RED" else set(self.tests)
        self._write()
        for number in range(times):
            self._run_in(phase, is_narrow=False, signals=signals and number == times - 1)

    def _run_in(self, phase: str, *, is_narrow: bool, signals: bool) -> None:
        model = self.model
        report = self.root / "verdict.json"
        report.unlink(missing_ok=True)
        words = [f"--phase={phase.lower()}", "--phase-report=verdict.json"]
        words += ["-k", "test_a"] if is_narrow else []
        words += ["--exit-signal=it is done"] if signals else []
        before = self._ledger_size()
        code, output = self._run("pytest", *OURS, "-q", *words)
        DONE[f"pytest {phase}"] += 1
        how = model.entry(phase)
        if how == "refused":
            assert code == NOT_ALLOWED, output
            assert self._ledger_size() == before, "a refused run writes nothing"
            assert not report.exists()
            return
        said = json.loads(report.read_text(encoding="utf-8"))
        ran = self.tests[:1] if is_narrow else self.tests
        is_green = set(ran) <= self.passing
        is_complete = not is_narrow
        model.start_run(phase, how)
        if how == "rewind":
            # Whether it goes back depends on what fails and is new, which is the product's to say.
            is_complete = said["iteration"] is not None
            assert not (is_narrow and is_complete), output
            if is_complete:
                model.enter(phase)
        assert (said["iteration"] is not None) == is_complete, output
        model.end_run(phase, is_complete=is_complete, is_green=is_green)
        self._check_report(phase, said, code, output, is_complete=is_complete, is_green=is_green, signals=signals)

    def _check_report(
        self, phase: str, said: Any, code: int, output: str, *, is_complete: bool, is_green: bool, signals: bool
    ) -> None:
        model = self.model
        gate_1 = said["gate_1"]["satisfied"]
        if is_complete:
            assert said["metrics"]["consecutive_green_runs"] == model.streak, output
            model.measured_red = gate_1 if phase == "RED" else False
            assert gate_1 == model.gate_1(), output
            if phase == "RED" and gate_1:
                assert not is_green, output
            answer = model.strictest("done" if signals else None)
            assert said["gate_2"]["answer"] == (answer or "absent"), output
            if phase != "RED":
                unmet = {f"guard {row['name']}" for row in said["gate_1"]["guards"] if not row["met"]}
                failing = frozenset({*self.tests} - self.passing) | unmet
                passing = len({*self.tests} & self.passing)
                needs_person = answer == "blocked"
                model.circuit.see(failing, passing, model.tree, holds=gate_1, needs_person=needs_person)
            assert said["breaker"]["state"] == model.circuit.status, output
            verdict = model.judge(answer, gate_1=gate_1)
            assert said["can_exit"] == verdict.can_exit, output
            assert (said["iteration"], said["cycle"]) == (model.iteration, model.cycle), output
        else:
            assert not gate_1, output
            assert not said["can_exit"], output
        expected = OPEN if gate_1 else CLOSED
        if model.is_halted and is_complete:
            expected = HALTED
        if phase != "RED" and not is_green:
            expected = TESTS_FAILED
        assert code == expected, output

    @rule(answer=st.sampled_from(["done", "done", "done", "not-done", "blocked"]))
    def signal(self, answer: str) -> None:
        code, output = self._gate("signal", "--reason", "so it is", *_flag(answer))
        assert code == self.model.signal(answer), output

    @rule(answer=st.sampled_from(["done", "done", "not-done", "blocked"]))
    def signal_next(self, answer: str) -> None:
        code, output = self._gate("signal", "--next", "--reason", "so it will be", *_flag(answer))
        assert code == OPEN, output
        self.model.waiting = answer

    @rule()
    def withdraw(self) -> None:
        code, output = self._gate("withdraw")
        assert code == self.model.withdraw(), output

    @rule()
    def declare(self) -> None:
        code, output = self._gate("declare", "refactoring_complete=true", "--reason", "tidy")
        assert code == self.model.declare(), output

    @rule()
    def advance(self) -> None:
        code, output = self._gate("advance")
        assert code == self.model.advance(), output

    @rule(phase=st.sampled_from(PHASES))
    def rewind(self, phase: str) -> None:
        code, output = self._gate("rewind", phase, "--reason", "once more")
        assert code == self.model.rewind(phase), output

    @precondition(lambda self: self.model.phase in ("GREEN", "REFACTOR") and not self.model.exited)
    @rule(times=st.integers(1, 6), resets=st.booleans())
    def go_in_circles(self, times: int, resets: bool) -> None:
        """Edit and run, and nothing gets better; somebody may help in the end."""
        phase = self.model.phase
        assert phase is not None
        self.passing = set()
        for _ in range(times):
            self.model.tree += 1
            self._write()
            self._run_in(phase, is_narrow=False, signals=False)
        if resets:
            code, output = self._gate("breaker", "reset", "--reason", "explained to them", "--by", "ann")
            assert code == self.model.circuit.reset(), output

    @rule(gate_1_only=st.booleans())
    def check(self, gate_1_only: bool) -> None:
        before = self._ledger_size()
        code, output = self._gate("check", *(["--gate1"] if gate_1_only else []))
        assert code == self.model.check(gate_1_only=gate_1_only), output
        assert self._ledger_size() == before, "it only looks"

    # --- what holds after every step -----------------------------------------------------------------------------

    @invariant()
    def the_product_and_the_model_agree(self) -> None:
        store, model = self._store(), self.model
        state = store.look().state
        found = (state.phase, state.cycle, state.iteration, state.exited, state.streak.count, state.signals_premature)
        assert found == (model.phase, model.cycle, model.iteration, model.exited, model.streak, model.premature)
        assert state.open_runs == ()
        assert store.signal_file.exists() == (model.waiting is not None)

    @invariant()
    def the_ledger_tells_an_honest_story(self) -> None:
        store = self._store()
        state, spent, entries = NEW_STATE, 0, 0
        highest: dict[tuple[int, int], int] = {}
        for line in store.lines():
            before, event = state, line.event
            state = apply(state, event)
            if event.kind == "phase-entered":
                entries += 1
                if event.data["how"] == "next":
                    assert before.exited, "a phase is left only by its exit"
                    assert before.phase is not None
                    assert PHASES.index(event.data["phase"]) == PHASES.index(before.phase) + 1, "none is skipped"
            elif event.kind == "run-ended" and event.data["iteration"] is not None:
                assert event.data["iteration"] == highest.get((state.cycle, entries), 0) + 1, "it only goes up, by one"
                highest[state.cycle, entries] = event.data["iteration"]
            elif event.kind == "evaluated":
                verdict = event.data["evaluation"]
                highest[state.cycle, entries] = max(highest.get((state.cycle, entries), 0), verdict["iteration"] or 0)
                both = verdict["gate_1"]["satisfied"] and verdict["gate_2"]["satisfied"]
                is_open = verdict["breaker"]["state"] == "open"
                assert verdict["can_exit"] == (both and not is_open), "both gates, in this iteration"
            elif event.kind == "signal-spent":
                spent += 1
            elif event.kind == "phase-exited":
                assert before.evaluation is not None
                assert before.evaluation["can_exit"]
                assert before.evaluation["iteration"] == event.data["iteration"]
        assert spent == self.model.spent, "each signal is spent once"
        if store.state_file.exists():
            assert json.loads(store.state_file.read_bytes())["state"] == state_to_json(state)

    def _store(self) -> TaskStore:
        return TaskStore(self.root / ".phase-gate", task="default")

    def _ledger_size(self) -> int:
        file = self._store().ledger_file
        return file.stat().st_size if file.exists() else 0


def _flag(answer: str) -> list[str]:
    return [] if answer == "done" else [f"--{answer}"]


def drive(*, stories: int, steps: int, derandomize: bool) -> str:
    """Tell that many stories of that many steps; returns what was done."""
    DONE.clear()
    chosen = settings(
        max_examples=stories,
        stateful_step_count=steps,
        derandomize=derandomize,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink) if not derandomize else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(GateMachine, settings=chosen)
    return f"{DONE.total()} steps: {', '.join(f'{number} {name}' for name, number in sorted(DONE.items()))}"
