"""A small project whose commands run in processes with a failing file system; and the operations that are swept."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from phase_gate.storage.opening import Place, guard_file
from phase_gate.storage.store import TaskStore
from phase_gate.values import Value
from tests.faults import file_system
from tests.storage.stores import edit_json, vouch_for_ledger
from tests.support import CALC, FAILING_TESTS, OURS
from tests.warm import WarmServer, clean_environment, lasting_server

PYTEST = ("pytest", *OURS, "-p", "no:terminalprogress")
GATE = "phase-gate"


class Plan(Value):
    """What happens at which call of the file system; nothing at call 0."""

    at: int = 0
    kind: str = "EIO"
    for_good: bool = False


class Ended(Value):
    """How a process ended, which calls it made, and which of them failed."""

    code: int
    out: str
    err: str
    calls: tuple[str, ...] = ()
    hits: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def flat(self) -> str:
        """The output as one line: a panel breaks lines anywhere."""
        return " ".join(self.text.split())


@functools.cache
def _server() -> WarmServer:
    """Return the one server of this process."""
    return lasting_server("faults", file_system.__file__)


class Project:
    """A project with its user's home, which can be restored to a remembered point."""

    def __init__(self, place: Path, task: str = "default") -> None:
        self.root, self.home, self._kept = place / "project", place / "home", place / "kept"
        self._log, self._task = place / "calls.txt", task
        for folder in (self.root, self.home):
            folder.mkdir(parents=True)

    @property
    def store(self) -> TaskStore:
        folder = self.root / ".phase-gate"
        if self._task != "default":
            folder = folder / "tasks" / self._task
        return TaskStore(Place(folder, self._task, guard=guard_file(folder, self.environment)))

    @property
    def environment(self) -> dict[str, str]:
        return clean_environment(self.home)

    def run(self, *words: str, plan: Plan | None = None, at_terminal: bool = False, **environment: str) -> Ended:
        """Run `pytest ...` or `phase-gate ...` in a process of its own."""
        more: dict[str, object] = {"at_terminal": at_terminal}
        if plan is not None:
            self._log.unlink(missing_ok=True)
            more["plan"] = {"at": plan.at, "kind": plan.kind, "for_good": plan.for_good, "log": str(self._log)}
        code, out, err = _server().run(self.root, words, {**self.environment, **environment}, **more)
        lines = [] if plan is None else self._log.read_text(encoding="ascii").splitlines()
        calls, hits = (
            tuple(line.removeprefix(word) for line in lines if line.startswith(word)) for word in ("call ", "hit ")
        )
        return Ended(code=code, out=out, err=err, calls=calls, hits=hits)

    def must(self, code: int, *words: str) -> None:
        ended = self.run(*words)
        assert ended.code == code, f"{words}: {ended.code}\n{ended.text}"

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, env=self.environment, check=True)

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (self.root / name).write_text(text, encoding="utf-8")

    def keep(self) -> None:
        """Remember this point."""
        for name in ("project", "home"):
            shutil.copytree(self.root.parent / name, self._kept / name, dirs_exist_ok=True)

    def restore(self) -> None:
        """Go back to it: the same folder, the same user."""
        for name in ("project", "home"):
            shutil.rmtree(self.root.parent / name, ignore_errors=True)
            shutil.copytree(self._kept / name, self.root.parent / name)
        if self.store.state_file.exists():
            try:
                vouch_for_ledger(self.store)  # a copy has other times, and would be read as a whole
            except (ValueError, OSError):
                return  # damaged on purpose


class Operation(Value):
    """One command, the code that it ends with, and the story that leads up to it."""

    words: tuple[str, ...]
    story: Callable[[Project], None]
    code: int = 0
    at_terminal: bool = False
    #: What pytest's own output contains, whatever happens to us.
    shows: tuple[str, ...] = ()
    #: The task is damaged before it: the old state is one that can't be opened.
    repairs: bool = False
    task: str = "default"

    @property
    def is_run(self) -> bool:
        return self.words[0] == "pytest"


# --- stories ---------------------------------------------------------------------------------------------------------


def nothing(project: Project) -> None:
    project.write({"pytest.ini": "[pytest]\n", "test_calc.py": FAILING_TESTS})


def red_exited(project: Project) -> None:
    nothing(project)
    project.must(0, *PYTEST, "--phase=red")
    project.must(0, GATE, "signal", "--reason", "both fail")


def green_once(project: Project) -> None:
    red_exited(project)
    project.write({"calc.py": CALC})
    project.must(10, *PYTEST, "--phase=green")


def green_with_signal(project: Project) -> None:
    green_once(project)
    project.must(0, GATE, "signal", "--next", "--reason", "it will be green")


def green(project: Project) -> None:
    green_once(project)
    project.must(0, *PYTEST, "--phase=green")


def green_exited(project: Project) -> None:
    green(project)
    project.must(0, GATE, "signal", "--reason", "both pass, twice")


def refactor(project: Project) -> None:
    green_exited(project)
    project.must(10, *PYTEST, "--phase=refactor")


def altered(project: Project) -> None:
    green(project)
    project.write({"test_calc.py": FAILING_TESTS.replace("sub(3, 2) == 1", "sub(4, 2) == 2")})
    project.must(10, *PYTEST, "--phase=green")


def damaged(project: Project) -> None:
    """The last run's line was changed: neither it nor the streak can be trusted."""
    green(project)
    ledger = project.store.ledger_file
    *lines, last, end = ledger.read_bytes().splitlines(keepends=True)
    changed = last.replace(b'"at":"20', b'"at":"21', 1)
    assert changed != last
    ledger.write_bytes(b"".join([*lines, changed, end]))
    project.store.state_file.unlink()


def broken_state(project: Project) -> None:
    green(project)
    edit_json(project.store.state_file, lambda stored: stored.update(streak=9))


_NAME = '"Task 1: Answer"'
PAPERS = {
    "task.yaml": f"name: {_NAME}\nfiles: [answer.py]\naction: Return the answer\n"
    f"verify: {sys.executable} check.py\ndone: answer() returns 42\n",
    "result.yaml": f"status: success\ntask_name: {_NAME}\nfiles_modified: [answer.py]\n"
    "verification: {command: python check.py, exit_code: 0, output_summary: ok}\n"
    "done_criteria_met: true\nevidence: check.py ends with 0\nby: eve\n",
    "verdict.yaml": f"verdict: APPROVED\ntask_name: {_NAME}\nconfidence: HIGH\nfindings: [it returns 42]\n"
    "recommendation: commit\nby: ann\n",
}
#: The steps of a verify task.
STEPS = (
    ("verify", "start", "--task-file", "task.yaml", "--untimed"),
    ("verify", "executor", "result.yaml"),
    ("verify", "run"),
    ("verify", "review", "verdict.yaml"),
    ("verify", "commit"),
)
ANSWER = "def answer():\n    return 42\n"


def verifying(steps: int) -> Callable[[Project], None]:
    """Return the story of a verify task after that many steps, its papers ready for the next one."""

    def story(project: Project) -> None:
        check = "from answer import answer\n\nassert answer() == 42\nprint('1 test passed')\n"
        project.write({"answer.py": "", "check.py": check, ".gitignore": "*.yaml\n__pycache__/\n", "pytest.ini": ""})
        project.git("init", "-q")
        project.git("add", "-A")
        project.git("commit", "-q", "-m", "before")
        project.write(PAPERS)
        for number, words in enumerate(STEPS[:steps]):
            project.must(0, GATE, *words)
            if number == 0:
                project.write({"answer.py": ANSWER})
            project.write({"verdict.yaml": PAPERS["verdict.yaml"]})  # a verdict is younger than what it is about

    return story


def _verify(step: int) -> Operation:
    return Operation(words=(GATE, *STEPS[step]), story=verifying(step), task="task-1-answer")


_FAILURES, _PASSED = ("= FAILURES =", "test_add", "test_sub", "2 failed"), ("test_calc.py ..", "2 passed")

OPERATIONS: Mapping[str, Operation] = {
    "first run": Operation(words=(*PYTEST, "--phase=red"), story=nothing, shows=_FAILURES),
    "run": Operation(words=(*PYTEST, "--phase=green"), story=green_once, shows=_PASSED),
    "run with a signal": Operation(
        words=(*PYTEST, "--phase=green", "--phase-exit=dual"), story=green_with_signal, shows=_PASSED
    ),
    "signal": Operation(words=(GATE, "signal", "--reason", "twice"), story=green),
    "signal --next": Operation(words=(GATE, "signal", "--next", "--reason", "soon"), story=green_once),
    "declare": Operation(words=(GATE, "declare", "refactoring_complete=true", "--reason", "tidy"), story=refactor),
    "advance": Operation(words=(GATE, "advance"), story=green_exited),
    "waive": Operation(
        words=(GATE, "waive", "tests-unchanged", "--reason", "four minus two", "--by", "ann"),
        story=altered,
        at_terminal=True,
    ),
    "audit --repair of a ledger": Operation(words=(GATE, "audit", "--repair"), story=damaged, repairs=True),
    "audit --repair of a state": Operation(words=(GATE, "audit", "--repair"), story=broken_state, repairs=True),
    **{" ".join(words[:2]): _verify(step) for step, words in enumerate(STEPS)},
}
