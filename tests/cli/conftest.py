"""Projects in the middle of a story, for tests of the command.

Each story is driven once a session by real processes; a test gets a copy of it, which is as good: nothing that is
stored names the folder. Commands are called in this process, except where the process is the point.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from phase_gate.cli import main
from phase_gate.cli.doctor import Diagnosis
from phase_gate.gate.state import Event
from phase_gate.storage.lock import KernelLock
from phase_gate.storage.opening import Place, guard_file
from phase_gate.storage.store import TaskStore
from tests.storage.stores import contents
from tests.support import CALC, FAILING_TESTS, OURS, Project, Result
from tests.warm import WarmServer

PYTEST = ("-m", "pytest", *OURS, "-q")
COMMAND = ("-m", "phase_gate.cli")

#: Story -> the story that it goes on from, the files it writes, and the processes it runs with their exit codes.
STORIES: dict[str, tuple[str, dict[str, str], list[tuple[int, tuple[str, ...]]]]] = {
    "red": ("", {"pytest.ini": "[pytest]\n", "test_calc.py": FAILING_TESTS}, [(0, (*PYTEST, "--phase=red"))]),
    "red-exited": ("red", {}, [(0, (*COMMAND, "signal", "--reason", "both fail"))]),
    "green-once": ("red-exited", {"calc.py": CALC}, [(10, (*PYTEST, "--phase=green"))]),
    "green": ("green-once", {}, [(0, (*PYTEST, "--phase=green"))]),
    "green-exited": ("green", {}, [(0, (*COMMAND, "signal", "--reason", "both pass, twice"))]),
    "refactor": ("green-exited", {}, [(10, (*PYTEST, "--phase=refactor"))]),
    "declared": ("refactor", {}, [(0, (*COMMAND, "declare", "refactoring_complete=true", "--reason", "tidy"))]),
    "refactor-exited": ("declared", {}, [(0, (*COMMAND, "signal", "--reason", "tidy"))]),
    "document": ("refactor-exited", {}, [(0, (*COMMAND, "advance"))]),
}

WRONG_CALC = CALC.replace("a + b", "a - b")
#: Five runs in GREEN, each on a new tree, with the same error: `stuck-5` has its circuit open.
for _try in range(1, 6):
    STORIES[f"stuck-{_try}"] = (
        f"stuck-{_try - 1}" if _try > 1 else "red-exited",
        {"calc.py": f"{WRONG_CALC}\n\nTRY = {_try}\n"},
        [(1, (*PYTEST, "--phase=green"))],
    )

STORIES["until-phase"] = (
    "",
    {"phase-gate.yaml": "agents: {until: phase}\n", "test_calc.py": FAILING_TESTS},
    [(0, (*PYTEST, "--phase=red", "--exit-signal=both fail"))],
)

#: The last phase of this one needs nothing but a signal, so that a cycle can end.
SHORT_WORKFLOW = """\
workflow: short
phases:
  GREEN:
    tests: passing
    gate_1: {name: Green, condition: tests_failing == 0 AND tests_total > 0}
    next: NOTES
  NOTES:
    tests: none
    gate_1: {name: Written, condition: iteration > 0}
    next: DONE
"""
STORIES["short-green"] = (
    "",
    {
        "phase-gate.yaml": "workflow: short.yaml\n",
        "short.yaml": SHORT_WORKFLOW,
        "test_ok.py": "def test_ok():\n    pass\n",
    },
    [(0, (*PYTEST, "--phase=green", "--exit-signal=it passes"))],
)
STORIES["notes"] = ("short-green", {}, [(0, (*COMMAND, "advance"))])
STORIES["done"] = ("notes", {}, [(0, (*COMMAND, "signal", "--reason", "written"))])


#: Seconds after which a story is built again: an open circuit cools down after half an hour.
LASTS = 900


class Stories:
    """Builds each story when it is first asked for."""

    def __init__(self, folder: Path, children: Callable[[], WarmServer]) -> None:
        self._folder, self._children = folder, children
        self._lock = FileLock(folder.with_suffix(".lock"))

    def copy_to(self, root: Path, name: str) -> None:
        if name:
            with self._lock:
                story = self._build(name)
            shutil.copytree(story, root, dirs_exist_ok=True)

    def _build(self, name: str) -> Path:
        root = self._folder / name
        if root.exists():
            if time.time() - root.stat().st_mtime < LASTS:
                return root
            shutil.rmtree(root)
        before, files, commands = STORIES[name]
        work = self._folder / f"{name}.unfinished"
        shutil.rmtree(work, ignore_errors=True)  # of a test that was stopped while it built this
        work.mkdir()
        self.copy_to(work, before)
        for path, text in files.items():
            (work / path).write_text(text, encoding="utf-8")
        for code, words in commands:
            ended, out, err = self._children().run(work, words[1:], self._environment())
            assert ended == code, f"{name}: {words}\n{out}\n{err}"
        os.utime(work)
        return work.rename(root)

    def _environment(self) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("PHASE_GATE_", "PYTEST_"))}
        # CI: no memory of folders that only live here.
        return {**kept, "CI": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="session")
def stories(tmp_path_factory: pytest.TempPathFactory, children: Callable[[], WarmServer]) -> Stories:
    """The stories of this session, which all workers share."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "stories"
    folder.mkdir(exist_ok=True)
    return Stories(folder, children)


class CommandProject:
    """A project, and the command called in it."""

    def __init__(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        self.project, self.root, self._capsys = project, project.root, capsys
        self.folder = project.root / ".phase-gate"

    def gate(self, *arguments: str) -> Result:
        """Call the command in this process."""
        self._capsys.readouterr()
        try:
            code: Any = main(list(arguments))
        except SystemExit as error:  # --help and --version end so
            code = error.code
        out, err = self._capsys.readouterr()
        return Result(code=int(code), out=out, err=err)

    def json(self, *arguments: str) -> Any:
        return self.gate(*arguments, "--json").document

    def error(self, *arguments: str) -> tuple[int, str, str]:
        """Return code, slug and problem of a command that is refused; asserts that it wrote nothing."""
        before = self.files()
        ran = self.gate(*arguments, "--json")
        after = self.files()
        assert after == before, sorted(name for name in {*after, *before} if after.get(name) != before.get(name))
        error = ran.document["error"]
        assert error["remedy"]
        return ran.code, error["slug"], error["problem"]

    def files(self) -> dict[str, bytes]:
        return contents(self.root)

    def store(self) -> TaskStore:
        return TaskStore(Place(self.folder, "default", guard=guard_file(self.folder, os.environ)))

    def edit_source(self) -> None:
        """Change the code under test: nobody has tested this."""
        (self.root / "calc.py").write_text(f"{CALC}\n\nMORE = 1\n", encoding="utf-8")

    def tamper(self) -> None:
        """Change the state by hand."""
        path = self.folder / "state.json"
        text = path.read_text(encoding="utf-8")
        changed, times = re.subn(r'("streak": )2\b', r"\g<1>9", text)
        assert times == 1
        path.write_text(changed, encoding="utf-8")

    def lose_run(self) -> str:
        """Leave the record of a run that began and was killed."""
        run = "feedfacefeedface"
        with self.store().transaction() as change:
            state = change.state
            data = {"run": run, "phase": state.phase, "tree": state.last_tree, "rules": state.rules}
            change.record(
                Event(kind="run-started", data={**data, "arguments": [], "python": "3.13.0", "pytest": "9.0.0"})
            )
        return run

    @contextlib.contextmanager
    def open_run(self) -> Iterator[str]:
        """Let a run be going on."""
        run = self.lose_run()
        lock = KernelLock(self.store().run_lock_file(run))
        lock.acquire()
        yield run
        lock.release()


@pytest.fixture
def unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` starts pytest to ask it for the plugin: that takes long, and runs the project's own code."""
    answer = Diagnosis(what="plugin", mark="good", says="not asked")
    monkeypatch.setattr("phase_gate.cli.doctor.check_plugin", lambda start: answer)


Begin = Callable[[str], CommandProject]


@pytest.fixture
def begin(project: Project, stories: Stories, capsys: pytest.CaptureFixture[str]) -> Begin:
    """Return a function that gives a project at a point of its story; '' is an empty folder."""

    def copy(name: str) -> CommandProject:
        stories.copy_to(project.root, name)
        return CommandProject(project, capsys)

    return copy
