"""Proofs beside other runs, in odd places, where sandboxes are refused, and killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from phase_gate.proof import namespace, sandbox
from phase_gate.proof.experiment import make_proof
from phase_gate.proof.sandbox import Kind
from tests.conftest import ROOT
from tests.proof.stories import ADD, TEST_ADD, WRONG, plan, prove, verdicts, write
from tests.proof.test_sandbox import has_ended, kinds

pytestmark = [pytest.mark.processes, pytest.mark.sampled(3)]

TARGETS = ("test_calc.py::test_add",)


@pytest.fixture(params=["mounted", "copied"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """A system that allows mounts, and one that does not."""
    monkeypatch.setattr(sandbox, "_refused", {"mounted"} if request.param == "copied" else set())
    chosen: Kind = request.param
    return chosen if chosen in kinds() else "copied"


NAMES = ["with spaces, commas", "a:b=c;d", "größe-日本", "back\\slash 'quoted'", "-o [x]"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", NAMES)
def test_a_project_may_lie_anywhere(tmp_path: Path, kind: Kind, name: str) -> None:
    root = tmp_path / name
    root.mkdir()
    proof = prove(root, {"test_calc.py": TEST_ADD, "calc.py": WRONG}, {"calc.py": ADD}, TARGETS)
    assert (verdicts(proof), proof.sandbox, proof.unnoticed) == ({"test_add": "proven"}, kind, ())


def test_two_proofs_at_once_beside_a_run(tmp_path: Path, kind: Kind) -> None:
    writes = TEST_ADD.replace(":\n", ":\n    open('written.txt', 'x').close()\n")
    trial = plan(tmp_path, {"test_calc.py": writes, "calc.py": WRONG}, {"calc.py": ADD}, TARGETS)
    begun, done = tmp_path.parent / f"{tmp_path.name}-begun", tmp_path.parent / f"{tmp_path.name}-done"
    wait = (
        "import pathlib\nimport time\n\n\ndef test_waits():\n"
        f"    pathlib.Path({str(begun)!r}).touch()\n"
        f"    while not pathlib.Path({str(done)!r}).exists():\n        time.sleep(0.05)\n"
        "    import calc\n\n    assert calc.add(1, 2) == 3\n"
    )
    write(tmp_path, {"test_wait.py": wait})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_wait.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as running:
        while not begun.exists():
            assert running.poll() is None
            time.sleep(0.02)
        with ThreadPoolExecutor(2) as pool:
            proofs = list(pool.map(lambda _: make_proof(trial), range(2)))
        done.touch()
    assert [verdicts(proof) for proof in proofs] == [{"test_add": "proven"}] * 2
    assert running.returncode == 0
    assert not (tmp_path / "written.txt").exists()


def test_where_mounts_are_refused_the_sandbox_is_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuses = tmp_path / "refuses.py"
    refuses.write_text(f"import os\n\nos._exit({namespace.NO_SANDBOX})\n", encoding="utf-8")
    monkeypatch.setattr(namespace, "__file__", str(refuses))
    monkeypatch.setattr(sandbox, "_refused", set())
    proof = prove(tmp_path / "project", {"test_calc.py": TEST_ADD, "calc.py": WRONG}, {"calc.py": ADD}, TARGETS)
    assert (verdicts(proof), proof.sandbox) == ({"test_add": "proven"}, "copied")


#: Makes a proof whose target never ends, in a process that will be killed.
MAKES = """\
import sys
from pathlib import Path
from phase_gate.proof import sandbox
from tests.proof.stories import prove
kind, root, started = sys.argv[1:]
if kind == "copied":
    sandbox._refused.add("mounted")
test = f'''
import os, pathlib, time
def test_add():
    path = pathlib.Path({started!r})
    path.with_suffix(".new").write_text(str(os.getpid()))
    path.with_suffix(".new").rename(path)
    time.sleep(600)
'''
prove(Path(root), {"test_calc.py": test}, {"calc.py": "X = 1"}, ["test_calc.py::test_add"])
"""


def test_nothing_is_left_of_a_proof_that_was_killed(
    tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, root, started = tmp_path / "made", tmp_path / "project", tmp_path / "started"
    made.mkdir()
    root.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    command = [sys.executable, "-c", MAKES, kind, str(root), str(started)]
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "TMPDIR": str(made)}) as maker:
        while not started.exists():
            assert maker.poll() is None
            time.sleep(0.02)
        os.kill(maker.pid, signal.SIGKILL)
    assert has_ended(int(started.read_text(encoding="utf-8")))
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    assert sorted(path.name for path in root.iterdir()) == ["calc.py", "test_calc.py"]


def test_there_are_no_sandboxes_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be made there is said, and nothing is taken for proven."""
    monkeypatch.delattr(os, "killpg")
    monkeypatch.delattr(os, "getuid")
    proof = prove(tmp_path / "project", {"test_calc.py": TEST_ADD, "calc.py": WRONG}, {"calc.py": ADD}, TARGETS)
    assert "no sandboxes on Windows" in proof.problem
    assert not proof.targets
