"""What tests leave behind: a function of Python that stays replaced, a closed stream, a removed folder.

The user's result is what it is without us. The run is recorded whole, or the output says that nothing is recorded and
the gate is closed; the next run works.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.faults.project import Ended, Project, red_exited
from tests.faults.sweep import assert_life_goes_on
from tests.support import CALC

pytestmark = [
    pytest.mark.processes,
    pytest.mark.sampled(14),
    pytest.mark.skipif(sys.platform == "win32", reason="descriptors, umask and signals of POSIX"),
]

BARE = ("pytest", "-p", "no:cacheprovider", "-p", "no:terminalprogress", "-q")
OURS = ("-p", "phase_gate.plugin", "--phase=green", "--phase-exit=tests")

#: The last test runs the script that is named there.
LEAVING = """\
def leave():
    import os

    if "LEAVE" in os.environ:
        with open(os.environ["LEAVE"], encoding="utf-8") as file:
            code = file.read()
        os.unlink(os.environ["LEAVE"])
        exec(code, {})


"""
REPLACE = """\
import importlib
from unittest import mock


def fail(*arguments, **options):
    raise RuntimeError("left by a test")


owner = importlib.import_module({module!r})
*outer, name = {path!r}.split(".")
for part in outer:
    owner = getattr(owner, part)
setattr(owner, name, {{"mock": mock.MagicMock(), "none": None, "raises": fail}}[{kind!r}])
"""
#: What pytest writes where it could not go on itself.
CRASHED = ("INTERNALERROR", "Traceback (most recent call last)", "node down: ")

#: What the end of a run calls, and tests often replace.
REPLACED = (
    *("os:replace", "os:open", "os:stat", "os:close", "os:fsync", "os:getpid", "json:dumps", "builtins:open"),
    *("subprocess:Popen", "pathlib:Path.exists", "time:time", "re:compile", "hashlib:sha256"),
)

#: Closes the descriptor of the run's own lock.
CLOSE_LOCK = """\
import os
from pathlib import Path

for lock in Path(".phase-gate/runs").glob("*.lock"):
    for number in range(3, 256):
        try:
            is_it = os.path.samestat(os.fstat(number), lock.stat())
        except OSError:
            continue
        if is_it:
            os.close(number)
"""
LEFT = {
    "a umask": "import os; os.umask(0o777)",
    "another locale": "import locale; locale.setlocale(locale.LC_ALL, 'C')",
    "no environment": "import os; os.environ.clear()",
    "another environment": "import os; os.environ = {'GIT_DIR': '/nowhere'}",
    "no current folder": "import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
    "no places to import from": "import sys; sys.path[:] = []; sys.meta_path[:] = []",
    "modules unloaded": "import sys; [sys.modules.pop(name) for name in ('json', 'zlib', 'hashlib')]",
    "output closed": "import os; os.close(1)",
    "children ignored": "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "the run's lock closed": CLOSE_LOCK,
    "every descriptor closed": "import os; os.closerange(3, 1024)",
    "a child that lives on": "import subprocess; subprocess.Popen(['sleep', '5'])",
    "a forked child that lives on": "import os, time; os.fork() or (time.sleep(5), os._exit(0))",
    "a patch that was stopped": "from unittest import mock\nwith mock.patch('os.replace'): pass",
}


class LeavingProject(Project):
    """A project in GREEN whose last test leaves something behind."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self._script = place / "leave.txt"
        red_exited(self)
        self.write({"calc.py": LEAVING + CALC.replace("return a - b", "leave()\n    return a - b")})
        self.must(10, *BARE, "-p", "phase_gate.plugin", "--phase=green")
        self.keep()

    def run_leaving(self, script: str, *words: str) -> Ended:
        self.restore()
        self._script.write_text(script, encoding="utf-8")
        ended = self.run(*words, LEAVE=str(self._script))
        assert not self._script.exists(), f"the last test did not run:\n{ended.text}"
        return ended

    def check(self, script: str, *words: str) -> Ended:
        """Leave something behind in a run without us and in one with us; return the latter."""
        bare = self.run_leaving(script, *BARE, *words)
        gated = self.run_leaving(script, *BARE, *words, *OURS)
        assert gated.code == bare.code or gated.code in (0, 10, 11), gated.text
        if has_crashed(bare):
            assert gated.code != 0, gated.text
        else:
            assert not has_crashed(gated), gated.text
            assert plain(gated.out).startswith(plain(bare.out)), f"{bare.out}\nis not the beginning of\n{gated.out}"
            assert self.ended_runs == 2 or "nothing recorded, the gate is closed" in gated.flat, gated.text
        self.store.check_objects(self.store.read().state)
        assert_life_goes_on(self)
        return gated

    @property
    def ended_runs(self) -> int:
        return sum(line.event.kind == "run-ended" for line in self.store.lines()) - 1


def has_crashed(ended: Ended) -> bool:
    # What Python ignores at its exit, of a library that is loaded here, is no crash of pytest's.
    text = ended.text.partition("Exception ignored in atexit callback")[0]
    return any(each in text for each in CRASHED)


def plain(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"in [\d.]+s", "in 0s", text)).rstrip()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> LeavingProject:
    return LeavingProject(tmp_path_factory.mktemp("left"))


@pytest.mark.parametrize("kind", ["mock", "none", "raises"])
@pytest.mark.parametrize("name", REPLACED)
def test_what_a_test_leaves_replaced_loses_nothing(project: LeavingProject, name: str, kind: str) -> None:
    module, _, path = name.partition(":")
    project.check(REPLACE.format(module=module, path=path, kind=kind))


@pytest.mark.parametrize("name", LEFT)
def test_what_a_test_leaves_behind_does_not_reach_us(project: LeavingProject, name: str) -> None:
    project.check(LEFT[name], *(("-s",) if "output" in name else ()))
    assert project.ended_runs >= 2, "recorded all the same"


def test_a_state_folder_that_a_test_removes_is_missed(project: LeavingProject) -> None:
    words = (*BARE, "-p", "phase_gate.plugin", "--phase=green")
    ended = project.run_leaving("import shutil; shutil.rmtree('.phase-gate')", *words)
    assert (ended.code, "2 passed" in ended.out) == (11, True)
    assert "nothing recorded, the gate is closed: the state folder .phase-gate was removed" in ended.flat


def test_what_a_test_leaves_in_a_worker_does_not_reach_us(project: LeavingProject) -> None:
    script = REPLACE.format(module="os", path="replace", kind="mock")
    project.check(script, "-p", "xdist.plugin", "-n", "2")
