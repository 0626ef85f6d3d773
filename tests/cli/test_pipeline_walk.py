"""An honest user who goes by what messages say comes from an empty folder to DONE, by way of a recovery and STUCK."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.support import Project
from tests.tasks.pipelines import CONFIGURATION, Pipe

#: A recovery for the first failure, and none for the second.
RULES = CONFIGURATION + "parameters: {max_recoveries: 1}\noverrides: {allow_non_interactive: true}\n"
TEXT = (
    "The library lends books to its members for a while, and a late one costs twenty cents a day. Reminders are sent "
    "by hand, members stay anonymous, and whatever nobody has asked for yet waits until another year has come round "
    "again, with more money, time and people."
)
RIGHT, WRONG = "def fine(days):\n    return 20 * days\n", "def fine(days):\n    return 21 * days\n"
TESTS = "from lending import fine\n\n\ndef test_fine():\n    assert fine(2) == 40\n"
_NUMBERS = itertools.count(1)
#: More than the whole way takes: who goes round in a circle ends here.
MOST = 120


class HonestUser:
    """Types what is named as the next step; does what a phase asks for in its rows, and nothing else."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe
        self.session: list[str] = []

    def type(self, line: str) -> str:
        words = shlex.split(line.replace("NAME", "ann").replace('"..."', '"it is as the phase asks"'))
        self.session.append(line)
        assert len(self.session) < MOST, "\n".join(self.session)
        if words[0] == "pytest":
            return self.pipe.project.run(*words[1:]).out
        assert words[0] == "phase-gate", line
        ran = self.pipe.gate(*words[1:])
        assert ran.code in (0, 10, 12), f"{line}: {ran.err}"
        return ran.out

    def go_on(self) -> None:
        """Do the next step that the status names."""
        command = self.pipe.gate("status", "--json").document["next_command"]
        if command == "phase-gate advance" and not self.pipe.state.get("exited"):
            self.do_what_is_asked_for()
        self.type(command)

    def do_what_is_asked_for(self) -> None:
        said = self.type(f"phase-gate explain {self.pipe.phase}")
        for path, wants in re.findall(r"^  artifact: [\w-]+: (\S+) \((.*)\)$", said, re.M):
            self.write(path.replace("*", "first"), self.make(wants))
        for command in re.findall(r"then (phase-gate pipeline vote (\S+))", said):
            for name in ("ann", "bob"):
                self.write(command[1], f"vote: approve\nconfidence: 1.0\nby: {name}\n")
                self.type(command[0])

    def make(self, wants: str) -> str:
        """Return a new text that has what the row asks for."""
        text = f"{TEXT} Version {next(_NUMBERS)}."
        if "root_cause" in wants:
            said = {"failed_phase": self.pipe.pipeline["failed_phase"], "summary": text, "root_cause": text}
            return json.dumps({**said, "requires_phase_rewind_to": None})
        if "JSON" in wants:
            return json.dumps({"summary": text, "findings": []})
        return "\n\n".join((text, *re.findall('a line "(.*)"', wants)))

    def write(self, path: str, text: str) -> None:
        self.pipe.project.write({path: text})

    def reach(self, phase: str) -> None:
        while self.pipe.phase != phase:
            self.go_on()


@pytest.fixture
def user(project: Project) -> HonestUser:
    return HonestUser(Pipe(project))


@pytest.mark.sweep
def test_the_whole_way_with_a_failure_a_recovery_and_guidance(user: HonestUser) -> None:
    pipe = user.pipe
    pipe.project.write({"phase-gate.yaml": RULES, "CONSTITUTION.md": "Members stay anonymous.\n"})
    pipe.project.write({"lending.py": WRONG, "test_lending.py": TESTS})
    pipe.project.commit_all()
    user.type("phase-gate advance")
    user.reach("QA_VALIDATION")

    # The tests fail, and somebody says done.
    user.type("pytest --phase=qa_validation")
    user.type("phase-gate signal")
    assert pipe.phase == "RECOVERY_LOOP"
    assert pipe.gate("history", "--events", "--json").code == 0
    pipe.project.write({"lending.py": RIGHT})
    user.type("phase-gate pipeline recover")
    user.reach("QA_VALIDATION")
    user.reach("REVIEW")

    # Nothing is written, and no recovery is left.
    user.type("phase-gate signal")
    assert pipe.phase == "STUCK"
    user.go_on()
    report = pipe.gate("pipeline", "recover").out
    (resume,) = re.findall(r"phase-gate pipeline recover resume .*", report)
    user.type(resume)
    assert pipe.phase == "REVIEW"
    user.reach("DONE")
    assert Path(pipe.project.root, "docs/pipeline/production-report.md").is_file()
