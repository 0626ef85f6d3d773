"""People and agents who do ordinary things in any order, in a small project, with real commands.

After each step the record is consistent. From wherever the steps end, an honest finisher reaches the exit.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from phase_gate.gate.brief import show_state
from phase_gate.gate.events import apply, verdict_of
from phase_gate.gate.state import NEW_STATE
from phase_gate.storage.opening import Place
from phase_gate.storage.store import TaskStore
from tests.stateful import child, papers
from tests.stateful.craft import CODE, CONFIGURATION, INI, SETTINGS, Craft, Test, write_code, write_test
from tests.stateful.finisher import DeadEndError, Finisher
from tests.stateful.session import Session
from tests.warm import WarmServer, lasting_server

#: What `phase-gate.yaml` contains, and the phases at whose exit the finisher may stop, in addition to DONE.
WORKFLOWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "tdd": ("", ("GREEN", "REFACTOR", "DOCUMENT")),
    "exit-gate": ("workflow: exit-gate\n", ("WORK",)),
    "confidence": ("workflow: confidence\n", ("WORK",)),
    "verification": ("", ("VERIFICATION",)),
    "tdd-to-the-end": ("", ()),
}

# --- what people do --------------------------------------------------------------------------------------------------

GIT = (
    ("git add -A",),
    ("git add -A", "git commit -q -m step"),
    ("git add -A", "git commit -q --amend --no-edit"),
    ("git stash -u -q",),
    ("git stash pop -q",),
    ("git stash -u -q", "pytest --phase=auto", "git stash pop -q"),
    ("git checkout -q other",),
    ("git checkout -q main",),
    ("git checkout -q other", "pytest --phase=auto", "git checkout -q main"),
    ("git rebase -q other", "git rebase --abort"),
    ("git clean -fdxq",),
    ("git checkout -q -- .",),
    ("git worktree add -q -f --detach beside",),
)

RUNS = (
    *(
        f"pytest --phase=auto {words}"
        for words in ("", "-k plus1", "--lf", "-x", "tests/test_first.py", "--co", "-n 2")
    ),
    "pytest -q --junitxml=junit.xml",
)

COMMANDS = (
    *(
        f'phase-gate signal {answer} --reason "I think so"'
        for answer in ("", "", "--not-done", "--blocked", "--test-wrong", "--next")
    ),
    "phase-gate withdraw",
    "phase-gate advance",
    "phase-gate baseline",
    'phase-gate declare refactoring_complete=true --reason "nothing is left to move"',
)

#: Files that are written, other than code and tests.
FILES = (
    ("conftest.py", "import pytest\n\n\n@pytest.fixture\ndef number():\n    return 4\n"),
    ("tests/conftest.py", "import pytest\n"),
    (INI, SETTINGS.replace("addopts =", "addopts = -ra")),
    (CONFIGURATION, "parameters: {required_green_runs: 3}\n"),
    ("data.csv", "a,b\n1,2\n"),
    ("NOTES.md", "Remember things.\n"),
)

CODE_EDITS: dict[str, Callable[[Craft], str | None]] = {
    "right": lambda craft: write_code(craft.numbers | craft.written),
    "wrong": lambda craft: write_code(craft.numbers | craft.written, frozenset({max(craft.numbers, default=1)})),
    "broken": lambda craft: "import not_there_yet\n\n\n" + write_code(craft.numbers | craft.written),
    "early": lambda craft: write_code(craft.numbers | craft.written | {craft.fresh}),
    "none": lambda craft: None,
}

TEST_EDITS: dict[str, Callable[[str], str | None]] = {
    "renamed": lambda text: re.sub(r"def (test_\w+)\(", r"def \1_renamed(", text, count=1),
    "reformatted": lambda text: "# reformatted\n\n" + text.replace("(4)", "( 4 )"),
    "expects something else": lambda text: text.replace("== ", "== 1"),
    "skipped": lambda text: "import pytest\n\n\n" + text.replace("def test_", "@pytest.mark.skip\ndef test_", 1),
    "broken": lambda text: "import not_there_yet\n\n\n" + text,
    "deleted": lambda text: None,
}

CLAIMS = (
    papers.CLAIM,
    "I think that it is done.\n",
    "EXIT_STATUS: COMPLETE | CONTINUE\n",
    "All tests pass. All tasks are completed. It is ready for review.\n",
    "EXIT_STATUS: CONTINUE\nEXIT_REASON: one test is left\nREMAINING_WORK: a test\n",
    "EXIT_STATUS: COMPLETE\nEXIT_REASON: it is fine\nREMAINING_WORK: the documentation\n",
)
REPORTS = (
    papers.REPORT,
    papers.REPORT.replace("success", "failure").replace("true", "false"),
    papers.REPORT.replace("calc.py, ", ""),
    "It is done.\n",
)
REVIEWS = (
    papers.APPROVAL,
    papers.APPROVAL.replace("APPROVED", "REJECTED") + "feedback: name it otherwise\n",
    papers.APPROVAL.replace("HIGH", "LOW"),
    "Looks good to me.\n",
)


@functools.cache
def _server() -> WarmServer:
    """Return the one server of this process."""
    return lasting_server("stateful", child.__file__)


class Work(RuleBasedStateMachine):
    """A person or an agent at work; a subclass names the workflow."""

    workflow: str

    def __init__(self) -> None:
        super().__init__()
        self.session = Session(_server())
        self.craft = Craft(self.session, WORKFLOWS[self.workflow][0], self.workflow)
        self.craft.begin()
        self.session.begun = len(self.session.typed)

    def teardown(self) -> None:
        try:
            self.session.say("the honest finisher takes over")
            Finisher(self.craft, WORKFLOWS[self.workflow][1]).finish()
            self.the_record_is_consistent()
        except AssertionError as error:
            raise AssertionError(f"{self.session.show()}\n{error}") from None
        finally:
            self.session.close()

    # --- steps -------------------------------------------------------------------------------------------------------

    @rule(times=st.integers(1, 8))
    def go_on(self, times: int) -> None:
        """Do what the last message asks for."""
        for _ in range(times):
            try:
                Finisher(self.craft).step(self.session.look())
            except DeadEndError as end:
                self.session.say(str(end))

    @rule(line=st.sampled_from(RUNS), is_killed=st.sampled_from([False, False, False, True]))
    def run(self, line: str, is_killed: bool) -> None:
        self.session.type(line, killed=is_killed)

    @rule(data=st.data())
    def run_somewhere(self, data: st.DataObject) -> None:
        self.session.type(f"pytest --phase={data.draw(st.sampled_from(self.craft.phases))}")

    @rule(lines=st.sampled_from(GIT))
    def use_git(self, lines: tuple[str, ...]) -> None:
        for line in lines:
            self.session.type(line)

    @rule(line=st.sampled_from(COMMANDS))
    def type_command(self, line: str) -> None:
        self.session.type(line)

    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        phase = data.draw(st.sampled_from(self.craft.phases))
        self.session.type(f'phase-gate rewind {phase} --reason "a case is missing"')

    @rule(kind=st.sampled_from(sorted(CODE_EDITS)))
    def edit_code(self, kind: str) -> None:
        self._put(CODE, CODE_EDITS[kind](self.craft))

    @rule(data=st.data(), kind=st.sampled_from(sorted(TEST_EDITS)))
    def edit_test(self, data: st.DataObject, kind: str) -> None:
        if files := self.craft.test_files:
            name = data.draw(st.sampled_from(files))
            self._put(name, TEST_EDITS[kind](self.session.read(name)))

    @rule(data=st.data(), place=st.sampled_from(["tests/unit/", "tests/x_"]))
    def move_test(self, data: st.DataObject, place: str) -> None:
        if files := self.craft.test_files:
            old = data.draw(st.sampled_from(files))
            self.session.move(old, old.replace("tests/", place))

    @rule(kind=st.sampled_from(["fails", "fails", "wrong", "passes"]))
    def add_test(self, kind: str) -> None:
        number = max(self.craft.written, default=1) if kind == "passes" else self.craft.fresh
        test = Test(name=f"test_plus{number}_{kind}", number=number)
        self._put(f"tests/test_{number}_{kind}.py", write_test(test, expected=99 if kind == "wrong" else 0))

    @rule(file=st.sampled_from(FILES))
    def write_file(self, file: tuple[str, str]) -> None:
        name, text = file
        self._put(name, self.craft.configuration + text if name == CONFIGURATION else text)

    @rule()
    def go_in_circles(self) -> None:
        """Change the code six times without getting anywhere, and let the circuit open."""
        text = write_code(self.craft.numbers | self.craft.written, frozenset(self.craft.numbers))
        for turn in range(6):
            self._put(CODE, f"{text}\n\nTURN = {turn}\n")
            self.session.type("pytest --phase=auto")

    @rule()
    def lose_the_state(self) -> None:
        self.session.remove(".phase-gate")

    @rule(minutes=st.sampled_from([5, 45, 600]))
    def wait(self, minutes: int) -> None:
        self.session.wait(minutes)

    @precondition(lambda self: self.workflow in ("exit-gate", "confidence"))
    @rule(text=st.sampled_from(CLAIMS))
    def claim(self, text: str) -> None:
        self._hand_in("said.txt", text, "phase-gate claim said.txt")

    @precondition(lambda self: self.workflow == "verification")
    @rule(text=st.sampled_from(REPORTS), does_it=st.booleans())
    def report(self, text: str, does_it: bool) -> None:
        if does_it:
            self.craft.do_the_task()
        self._hand_in("result.yaml", text, "phase-gate verify executor result.yaml")

    @precondition(lambda self: self.workflow == "verification")
    @rule(words=st.sampled_from(["run", "commit", "start --task-file task.yaml --untimed"]))
    def verify(self, words: str) -> None:
        self.session.type(f"phase-gate verify {words}")

    @precondition(lambda self: self.workflow == "verification")
    @rule(text=st.sampled_from(REVIEWS), by=st.sampled_from(["ann", "dev"]))
    def review(self, text: str, by: str) -> None:
        self._hand_in("verdict.yaml", text, f"phase-gate verify review verdict.yaml --by {by}")

    def _put(self, name: str, text: str | None) -> None:
        if text is None:
            self.session.remove(name)
        else:
            self.session.write(name, text)

    def _hand_in(self, name: str, text: str, command: str) -> None:
        self.session.write(name, text)
        self.session.type(command)

    # --- what holds after every step ---------------------------------------------------------------------------------

    @invariant()
    def the_record_is_consistent(self) -> None:
        folder = self.session.root / ".phase-gate"
        for ledger in folder.rglob("ledger.jsonl"):
            task = "default" if ledger.parent == folder else ledger.parent.name
            assert_consistent(TaskStore(Place(ledger.parent, task)))


def assert_consistent(store: TaskStore) -> None:
    """The state is what the events give, a phase is left only by its exit, and an exit needs both gates."""
    state, entries = NEW_STATE, 0
    highest: dict[tuple[int, int], int] = {}
    for line in store.lines():
        before, event, data = state, line.event, line.event.data
        state = apply(state, event)
        here = (state.cycle, entries)
        if event.kind == "phase-entered":
            entries += 1
            assert data["how"] != "next" or before.exited, "a phase is left only by its exit"
        elif event.kind == "run-ended" and data["iteration"] is not None:
            assert data["iteration"] == highest.get(here, 0) + 1, "iterations go up by one"
            highest[here] = data["iteration"]
        elif event.kind == "evaluated":
            verdict = verdict_of(event)
            highest[here] = max(highest.get(here, 0), verdict.iteration or 0)
            if verdict.can_exit and not verdict.forced_exit:
                assert verdict.gate_1.is_open, "no exit without Gate 1"
                assert verdict.gate_2.is_done, "no exit without Gate 2"
                assert not verdict.breaker.is_open, "no exit while the circuit is open"
        elif event.kind == "phase-exited" and not data.get("forced"):
            assert before.evaluation is not None
            assert before.evaluation.can_exit, "no exit without a verdict that allows it"
            assert before.evaluation.iteration == data["iteration"], "the verdict is that of this iteration"
    if store.state_file.exists():
        stored = json.loads(store.state_file.read_bytes())
        assert stored["serial"] < len(list(store.lines())) or stored.items() >= show_state(state).items()
