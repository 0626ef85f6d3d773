"""An honest finisher: reads where the task stands, and does what is said there, until the exit is reached.

It decides on data only: `status`, `next_command`, `next_hint`, and which guards and clauses of the last verdict are
unmet. Where a message asks for honest work (fix the code, put the test back, write a test that fails), it knows how:
the project is small. What it does not understand is a dead end.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from tests.stateful.craft import CONFIGURATION, INI, Craft
from tests.typable import is_typable

#: Things done in one phase before the exit is out of reach (changed rules and tests and an open circuit at once take
#: 17); and in all, where phases send each other back.
STEPS_PER_PHASE, STEPS = 24, 100

_NOT_ALLOWED = 13
_FOR_A_PERSON = "is for a person at a terminal"
_COMMAND = re.compile(r"\b(?:phase-gate|pytest) [^;`]+")

#: Where the task stands, as far as a reader can tell.
_WHERE = ("phase", "cycle", "iteration", "status", "reason", "next_command", "next_hint", "problem", "remedy")

_MESSAGE = ("phase", "status", "reason", "next_command", "next_hint")
_EDIT = "an edit"
#: The slug of a refusal that asks for an edit.
_BAD_CONFIGURATION = "bad-configuration"

Json = dict[str, Any]


class DeadEndError(AssertionError):
    """There is no way on."""


class Finisher:
    """Continues where the steps ended.

    :param exits: the phases at whose exit the work is done; DONE ends every cycle.
    """

    def __init__(self, craft: Craft, exits: tuple[str, ...] = ()) -> None:
        self.craft, self.session, self.exits = craft, craft.session, exits
        self.steps = 0
        self._seen = ""
        #: What was typed after which message, since the last edit: the same again would lead round in a circle.
        self._answered: set[tuple[object, str]] = set()
        #: What was tried where the task stands now: commands, and the edit.
        self._tried: set[str] = set()
        #: What the commands printed that were typed where the task stands now.
        self._said: list[str] = []
        #: A test was wrong and has been corrected: that is not taken back.
        self._corrected = False

    def finish(self) -> None:
        """Go to the exit, or raise `DeadEndError`."""
        phase, since = "", 0
        while not self.is_at_exit(look := self.session.look()):
            if look.get("phase") != phase:
                phase, since = look.get("phase", ""), self.steps
            if self.steps >= min(since + STEPS_PER_PHASE, STEPS):
                raise DeadEndError(f"{self.steps - since} steps in {phase}, and no exit: {_tell(look)}")
            self.step(look)

    def is_at_exit(self, look: Json) -> bool:
        return look.get("status") == "open" and look["phase"] in (*self.exits, "DONE")

    def step(self, look: Json) -> None:
        """Do one thing."""
        self.steps += 1
        seen = repr([look.get(name) for name in (*_WHERE, "last_run", "breaker")])
        if seen != self._seen:
            self._seen, self._said = seen, self._said[-1:]
            self._tried.clear()
        if any(f"[{_BAD_CONFIGURATION}]" in shown for shown in self._said) and self.craft.fix_settings():
            self._said.clear()
            self._tried.clear()
            self._answered.clear()
        elif _EDIT in self._tried or not self._edit(look):
            self._type(look)
        elif look["status"] == "needs-person":
            self._type(look)  # "pytest --phase=red, after correcting the test" is one thing to do
        else:
            self._tried = {_EDIT}  # whatever was tried before may work now
            self._answered.clear()

    # --- typing --------------------------------------------------------------------------------------------------

    def _type(self, look: Json) -> None:
        """Type the first command that is offered and was not tried here before."""
        message = tuple(look.get(name) for name in _MESSAGE)
        for command in self._offered(look):
            if command not in self._tried and (message, command) not in self._answered:
                self._tried.add(command)
                self._answered.add((message, command))
                self.type(command)
                return
        if any(answered[0] == message for answered in self._answered):
            # Every way that it names was gone once: begin with the first again.
            self._answered = {answered for answered in self._answered if answered[0] != message}
            if any(command not in self._tried for command in self._offered(look)):
                self._type(look)
                return
        raise DeadEndError(f"nothing is left to type: {_tell(look)}")

    def _offered(self, look: Json) -> Iterator[str]:
        for shown in (look.get("next_command"), look.get("next_hint"), look.get("remedy"), *self._said):
            for line in (shown or "").splitlines():
                yield from find_commands(line)

    def type(self, command: str) -> None:
        """Type a command; where it is for a person, a person types it."""
        self.craft.prepare(command)
        done = self.session.type(command)
        if done.code == _NOT_ALLOWED and _FOR_A_PERSON in done.output:
            done = self.session.type(command, person=True)
        self._said.append(done.output)

    # --- honest work ---------------------------------------------------------------------------------------------

    def _edit(self, look: Json) -> bool:
        """Do what the last verdict asks for, where that is more than a command; return whether anything was done."""
        evaluation, status = look.get("evaluation"), look.get("status")
        if status == "unstarted" and self.craft.workflow == "verification":
            return self.craft.start_task()  # there is no trace of it: begin as at the beginning
        if status in ("unstarted", "stale") and (look.get("last_run") or {}).get("kind") == "empty":
            return self.craft.fix_tests() or self.craft.add_test()
        if evaluation is None or status not in ("closed", "early", "failed", "needs-person", "halted"):
            return False
        if status == "needs-person":
            # A person helps: with the test, or with whatever blocks the work.
            if evaluation["gate_2"]["answer"] == "test-wrong":
                self._corrected = True
                return self.craft.fix_tests()
            return self.craft.fix_settings() or self.craft.fix_code()
        is_broken = any(finding["slug"] == "broken-module" for finding in evaluation["findings"])
        if is_broken and self.craft.fix_code():
            return True
        if is_broken and self.craft.fix_tests():
            self._corrected = True
            return True
        for guard in evaluation["gate_1"]["guards"]:
            if not guard["met"] and not guard["waived"]:
                return self._by_guard(guard["name"], look)
        unmet = {name for each in evaluation["gate_1"]["clauses"] if each["met"] is not True for name in _names(each)}
        return self._by_clause(unmet, look, evaluation["metrics"])

    def _by_guard(self, guard: str, look: Json) -> bool:
        craft, evaluation = self.craft, look["evaluation"]
        found = [each for each in evaluation["findings"] if guard in (each["slug"], each["guard"])]
        ids = [finding["id"] for finding in found or evaluation["findings"] if finding["id"]]
        files = {each["file"] for each in evaluation["findings"] if each["file"]} | {
            test.split("::")[0] for test in ids
        }
        edits: dict[str, Callable[[], bool]] = {
            "complete-run": lambda: bool(evaluation["metrics"].get("collection_errors")) and self._let_tests_pass(),
            "tests-kept": lambda: craft.take_back(files) or craft.put_back(ids),
            "tests-unchanged": lambda: not self._corrected and craft.take_back(files),
            "rules-unchanged": lambda: craft.take_back({INI, CONFIGURATION}) or craft.fix_settings(),
            "no-new-skips": craft.fix_tests,
            "code-as-tested": lambda: craft.fix_code() or craft.fix_tests(),
            "baseline-kept": lambda: craft.fix_old_code() or craft.fix_tests(),
            "red-for-a-reason": lambda: craft.fix_tests() or craft.fix_settings(),
            "outcomes-genuine": craft.fix_settings,
            "rules-kept": craft.fix_settings,
        }
        return edits[guard]() if guard in edits else False

    def _by_clause(self, unmet: set[str], look: Json, metrics: Json) -> bool:
        craft = self.craft
        if look["phase"] == "RED":
            if metrics["tests_newly_skipped"] and craft.fix_tests():
                return True
            if metrics["tests_passing"]:
                early = [each["id"] for each in look["evaluation"]["findings"] if each["slug"] == "already-passing"]
                return craft.take_out_code() or craft.mark_tests(early) or craft.fix_tests() or craft.add_test()
            return not metrics["tests_total"] and craft.add_test()
        if "tests_total" in unmet and not metrics.get("tests_total"):
            return craft.add_test()
        if "tests_failing" in unmet:
            return self._let_tests_pass()
        if unmet & {"docs_generated", "diagrams_total", "diagrams_valid", "has_adr", "has_c4_diagrams"}:
            return craft.write_documents()
        if "tree_clean" in unmet:
            return craft.commit()
        return False

    def _let_tests_pass(self) -> bool:
        craft = self.craft
        if craft.fix_code():
            return True
        if craft.tests_are_wrong():
            words = ["phase-gate", "signal", "--test-wrong", "--reason", "the test expects a wrong sum"]
            self.type(shlex.join([*words, *self.session.asks]))
            return True
        return False


def _names(clause: Json) -> set[str]:
    return {*clause["values"], *clause["unknown"]}


def _tell(look: Json) -> str:
    return ", ".join(f"{name}={look[name]!r}" for name in _WHERE if name in look)


#: What has to be filled in, and with what.
_FILLED = {
    '"..."': '"walked through it by hand, as the log shows"',
    "claim FILE": "claim said.txt",
    "executor FILE": "executor result.yaml",
    "review FILE": "review verdict.yaml",
    "--by NAME": "--by ann",
    "--task-file FILE": "--task-file task.yaml",
}


def fill_in(command: str) -> str:
    """Put something in the place of what has to be filled in."""
    for old, new in _FILLED.items():
        command = command.replace(old, new)
    return command


def find_commands(text: str) -> list[str]:
    """Return the commands in a text, each as long as it can be typed."""
    found = []
    for match in _COMMAND.finditer(" ".join(text.split())):
        words = fill_in(match[0]).split(" ")
        for end in range(len(words), 1, -1):
            command = " ".join(words[:end]).rstrip(".,:)")
            if _is_typable(command):
                found.append(command)
                break
    return found


def _is_typable(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return False
    return is_typable(command)
