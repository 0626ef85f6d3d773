"""What the sweeps do to a task: each operation, and the story that leads up to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from phase_gate.storage.memory import Memory
from phase_gate.storage.store import TaskStore
from phase_gate.values import Value, field
from tests.faults.children import Children, Ended, Plan
from tests.storage.stores import edit_json, vouch_for_ledger
from tests.support import CALC, FAILING_TESTS, OURS

PYTEST = ("pytest", *OURS, "-p", "no:terminalprogress")
GATE = "phase-gate"

ALTERED = FAILING_TESTS.replace("sub(3, 2) == 1", "sub(4, 2) == 2")


class Project:
    """A project with its user's home, restored to a point of its story as often as one likes."""

    def __init__(self, place: Path, children: Children) -> None:
        self.root, self.home = place / "project", place / "home"
        self._kept = place / "kept"
        self._children = children

    @property
    def store(self) -> TaskStore:
        folder = self.root / ".phase-gate"
        return TaskStore(folder, task="default", memory=Memory.for_folder(folder, self._environment))

    @property
    def _environment(self) -> dict[str, str]:
        kept = ("PATH", "LANG", "TMPDIR", "PYTHONPATH", "SYSTEMROOT")
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home),
            "USER": "dev",
            "COLUMNS": "200",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }

    def environment(self) -> dict[str, str]:
        return self._environment

    def run(self, *words: str, plan: Plan | None = None, at_terminal: bool = False) -> Ended:
        return self._children.run(self.root, words, self._environment, plan=plan or Plan(), at_terminal=at_terminal)

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (self.root / name).write_text(text, encoding="utf-8")

    def keep(self) -> None:
        """Remember this point."""
        for name in ("project", "home"):
            shutil.copytree(self.root.parent / name, self._kept / name, dirs_exist_ok=True)

    def restore(self, kept: Path | None = None) -> None:
        """Go back to it. The same folder and the same user: whatever remembers them finds them."""
        for name in ("project", "home"):
            shutil.rmtree(self.root.parent / name, ignore_errors=True)
            shutil.copytree((kept or self._kept) / name, self.root.parent / name)
        if self.store.state_file.exists():
            try:
                # A copy has other times; with its own ones opening goes by the checkpoint, as it mostly does.
                vouch_for_ledger(self.store)
            except ValueError:
                return  # damaged on purpose


class Operation(Value):
    """One command, the code that it ends with if nothing happens to it, and what comes before it."""

    name: str
    words: tuple[str, ...]
    code: int
    story: Callable[[Project], None]
    at_terminal: bool = False
    is_run: bool = False
    #: What pytest's own output has to have in it, whatever happens to us.
    shows: tuple[str, ...] = field(default_factory=tuple)
    #: The task is damaged before it: the old state is one that can't be opened.
    repairs: bool = False


def must(project: Project, code: int, *words: str) -> None:
    ended = project.run(*words)
    assert ended.code == code, f"{words}: {ended.code}\n{ended.text}"


def nothing(project: Project) -> None:
    project.root.mkdir(parents=True, exist_ok=True)
    project.home.mkdir(parents=True, exist_ok=True)
    project.write({"pytest.ini": "[pytest]\n", "test_calc.py": FAILING_TESTS})


def red(project: Project) -> None:
    nothing(project)
    must(project, 0, *PYTEST, "--phase=red")


def green_once(project: Project) -> None:
    red(project)
    must(project, 0, GATE, "signal", "--reason", "both fail")
    project.write({"calc.py": CALC})
    must(project, 10, *PYTEST, "--phase=green")


def green_with_signal(project: Project) -> None:
    green_once(project)
    must(project, 0, GATE, "signal", "--next", "--reason", "it will be green")


def green(project: Project) -> None:
    green_once(project)
    must(project, 0, *PYTEST, "--phase=green")


def green_exited(project: Project) -> None:
    green(project)
    must(project, 0, GATE, "signal", "--reason", "both pass, twice")


def refactor(project: Project) -> None:
    green_exited(project)
    must(project, 10, *PYTEST, "--phase=refactor")


def altered(project: Project) -> None:
    green(project)
    project.write({"test_calc.py": ALTERED})
    must(project, 10, *PYTEST, "--phase=green")


def damaged(project: Project) -> None:
    """The last run's line was changed: it and the streak are not to be believed."""
    green(project)
    ledger = project.store.ledger_file
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(
        b"".join([*lines[:-2], lines[-2].replace(b'"tests_failing":0', b'"tests_failing":1'), lines[-1]])
    )
    project.store.state_file.unlink()


def broken_state(project: Project) -> None:
    green(project)
    edit_json(project.store.state_file, lambda stored: stored["state"].update(streak={"count": 9}))


FAILURES = ("= FAILURES =", "test_add", "test_sub", "2 failed")
PASSED = ("test_calc.py ..", "2 passed")

OPERATIONS: tuple[Operation, ...] = (
    Operation(name="first run", words=(*PYTEST, "--phase=red"), code=0, story=nothing, is_run=True, shows=FAILURES),
    Operation(name="run", words=(*PYTEST, "--phase=green"), code=0, story=green_once, is_run=True, shows=PASSED),
    Operation(
        name="run with a signal",
        words=(*PYTEST, "--phase=green", "--phase-exit=dual"),
        code=0,
        story=green_with_signal,
        is_run=True,
        shows=PASSED,
    ),
    Operation(name="signal", words=(GATE, "signal", "--reason", "twice"), code=0, story=green),
    Operation(name="signal --next", words=(GATE, "signal", "--next", "--reason", "soon"), code=0, story=green_once),
    Operation(
        name="declare",
        words=(GATE, "declare", "refactoring_complete=true", "--reason", "tidy"),
        code=0,
        story=refactor,
    ),
    Operation(name="advance", words=(GATE, "advance"), code=0, story=green_exited),
    Operation(
        name="waive",
        words=(GATE, "waive", "tests-unchanged", "--reason", "four minus two", "--by", "ann"),
        code=0,
        story=altered,
        at_terminal=True,
    ),
    Operation(
        name="audit --repair of a ledger", words=(GATE, "audit", "--repair"), code=0, story=damaged, repairs=True
    ),
    Operation(
        name="audit --repair of a state", words=(GATE, "audit", "--repair"), code=0, story=broken_state, repairs=True
    ),
)
