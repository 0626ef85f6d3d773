"""Sandboxes of both kinds: what lies in them, where they may lie, and what is left of them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any, cast

import pytest

from phase_gate.proof import overlay
from phase_gate.proof import sandbox as sandboxes
from phase_gate.proof.sandbox import Kind, Sandbox
from tests.conftest import ROOT
from tests.evidence.processes import has_ended, wait_for
from tests.proof.conftest import namespaces_work
from tests.proof.stories import ADD, TEST_ADD, WRONG, prove, run_in, verdicts, write
from tests.storage.repositories import git

pytestmark = [pytest.mark.processes, pytest.mark.sampled(4)]


def enter(root: Path, wanted: Collection[str] = (), **contents: str) -> dict[str, bool]:
    sandbox = Sandbox(root=root, contents={f"{name}.py": text.encode() for name, text in contents.items()})
    run = run_in(sandbox, "test_calc.py", wanted=wanted)
    assert not run.problem
    return {test.id: test.has_passed for test in run.tests}


@pytest.mark.sampled(1)
def test_what_is_laid_out_is_what_runs(tmp_path: Path, kind: Kind) -> None:
    write(tmp_path, {"test_calc.py": TEST_ADD, "calc.py": WRONG})
    assert enter(tmp_path) == {"test_calc.py::test_add": False}
    assert enter(tmp_path, calc=ADD) == {"test_calc.py::test_add": True}
    assert (tmp_path / "calc.py").read_text(encoding="utf-8") == WRONG


@pytest.mark.parametrize("is_worktree", [False, True])
def test_ignored_files_and_git_are_there(tmp_path: Path, kind: Kind, is_worktree: bool) -> None:
    root = tmp_path / "project"
    test = (
        "import pathlib, subprocess\n\n\ndef test_add():\n    assert pathlib.Path('.env').read_text() == 'SECRET=1'\n"
        "    assert subprocess.run(['git', 'status'], capture_output=True).returncode == 0\n"
    )
    write(root, {"test_calc.py": test, ".gitignore": ".env\n"})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "state")
    if is_worktree:
        git(root, "worktree", "add", "-q", str(tmp_path / "tree"))
        root = tmp_path / "tree"
    write(root, {".env": "SECRET=1"})
    index = Path(git(root, "rev-parse", "--path-format=absolute", "--git-path", "index").strip())
    before = index.read_bytes()
    assert enter(root) == {"test_calc.py::test_add": True}
    assert index.read_bytes() == before, "git writes what it has seen of another copy"


def test_one_of_several_packages_finds_its_neighbours(tmp_path: Path, kind: Kind) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    root = tmp_path / "packages" / "calc"
    write(tmp_path, {"shared.txt": "3", "packages/other/one.py": "ONE = 1\n"})
    test = (
        "import pathlib\nimport subprocess\n\nfrom one import ONE\nfrom calc import add\n\n\ndef test_add():\n"
        "    wanted = (pathlib.Path(__file__).parent / '../../shared.txt').read_text()\n"
        "    assert add(ONE, 2) == int(wanted)\n"
        "    subprocess.run(['git', 'rev-parse', '--show-toplevel'], check=True)\n"
    )
    write(root, {"pytest.ini": "[pytest]\npythonpath = . ../other\n", "test_calc.py": test, "calc.py": WRONG})
    assert enter(root, calc=ADD) == {"test_calc.py::test_add": True}
    assert (tmp_path / "shared.txt").exists(), "a link is taken away, not what it points at"


def test_bytecode_goes_nowhere(tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "users"))
    root = tmp_path / "project"
    write(root, {"test_calc.py": TEST_ADD, "calc.py": WRONG})
    assert enter(root, calc=ADD) == {"test_calc.py::test_add": True}
    assert not any("calc" in path.name for path in (tmp_path / "users").rglob("*"))
    assert sorted(path.name for path in root.iterdir()) == ["calc.py", "test_calc.py"]


def test_a_module_from_the_project_itself_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxes, "_refused", {"mounted"})
    there = str(tmp_path / "lib")
    test = f"import sys\n\nsys.path.insert(0, {there!r})\nfrom calc import add\n\n\ndef test_add():\n    pass\n"
    write(tmp_path, {"test_calc.py": test, "lib/calc.py": ADD})
    run = run_in(Sandbox(root=tmp_path), "test_calc.py")
    assert run.problem == "lib/calc.py was imported from the project itself, not from the sandbox"


def test_a_forked_child_speaks_for_nobody(tmp_path: Path, kind: Kind) -> None:
    test = "import os\n\n\ndef test_add():\n    if os.fork() == 0:\n        return\n    os.wait()\n    assert 1 == 2\n"
    write(tmp_path, {"test_calc.py": test})
    assert enter(tmp_path) == {"test_calc.py::test_add": False}


def test_a_child_that_is_left_behind_keeps_nobody_waiting(tmp_path: Path, kind: Kind) -> None:
    test = (
        "import os, time\n\n\ndef test_add():\n    if os.fork() == 0:\n        time.sleep(6000)\n        os._exit(0)\n"
    )
    write(tmp_path, {"test_calc.py": test})
    run = run_in(Sandbox(root=tmp_path), "test_calc.py")
    assert (run.problem, run.is_late) == ("", False)


def test_where_something_is_mounted_below_the_sandbox_is_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 2 0:1 / {tmp_path}/project/.venv rw - tmpfs tmpfs rw\n", encoding="utf-8")
    monkeypatch.setattr(sandboxes, "_MOUNTS", str(mounts))
    # The folder for temporary files may be in the project.
    (tmp_path / "project" / "tmp").mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "project" / "tmp"))
    proof = prove(tmp_path / "project", {"test_calc.py": TEST_ADD, "calc.py": WRONG}, {"calc.py": ADD}, TARGETS)
    assert (verdicts(proof), proof.sandbox) == ({"test_add": "proven"}, "copied")


@pytest.mark.parametrize("mounts", ["1 2 0:1 / /a\\040project/data rw - tmpfs tmpfs rw\n", None])
def test_what_linux_says_about_mounts_is_read_with_care(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounts: str | None
) -> None:
    file = tmp_path / "mounts"
    monkeypatch.setattr(sandboxes, "_MOUNTS", str(file))
    monkeypatch.setattr(sandboxes, "_refused", set())
    if mounts is not None:
        file.write_text(mounts, encoding="utf-8")
    assert not sandboxes._may_mount("/a project")


def test_servers_of_a_run_that_never_ends_are_ended_with_it(tmp_path: Path, kind: Kind) -> None:
    started = tmp_path / "started"
    write(
        tmp_path / "project",
        {
            "test_calc.py": "import pathlib, subprocess, time\n\n\ndef test_add():\n"
            "    server = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
            f"    pathlib.Path({str(started)!r}).write_text(str(server.pid))\n    time.sleep(600)\n"
        },
    )
    assert run_in(Sandbox(root=tmp_path / "project"), "test_calc.py", limit=10).is_late
    assert has_ended(int(started.read_text(encoding="utf-8")))


def test_a_project_is_copied_without_what_can_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = shutil.copy2

    def fail(source: str, target: str) -> object:
        if "private" in source:
            raise PermissionError(source)
        return copy(source, target)

    monkeypatch.setattr(sandboxes, "_refused", {"mounted"})
    monkeypatch.setattr(shutil, "copy2", fail)
    write(tmp_path, {"test_calc.py": TEST_ADD, "calc.py": ADD, "private.key": ""})
    assert enter(tmp_path) == {"test_calc.py::test_add": True}


def test_links_are_replaced_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("outside", encoding="utf-8")
    sandbox = tmp_path / "sandbox"
    sandbox.mkdir()
    (sandbox / "calc.py").symlink_to(outside)
    (sandbox / "tool.sh").touch(0o755)
    (tmp_path / "kept.pyc").touch()
    (sandbox / "__pycache__").symlink_to(tmp_path)
    overlay.write_overlay(str(sandbox), [], [""], {"calc.py": b"inside", "tool.sh": b""})
    assert (tmp_path / "kept.pyc").exists()
    assert os.access(sandbox / "tool.sh", os.X_OK)
    assert outside.read_text(encoding="utf-8") == "outside"
    assert (sandbox / "calc.py").read_text(encoding="utf-8") == "inside"


def test_settings_that_choose_stop_or_write_have_no_place(tmp_path: Path, kind: Kind) -> None:
    report = tmp_path / "outside" / "junit.xml"
    made = tmp_path / "outside" / "made"
    project = tmp_path / "project"
    settings = f"-x --lf --nf --sw --pdb -k add -m 'not slow' --junitxml={report} --basetemp={made}"
    more = "\n\ndef test_sub(tmp_path):\n    assert add(2, 2) == 5\n\n\ndef test_mul():\n    assert add(3, 3) == 6\n"
    write(project, {"test_calc.py": TEST_ADD + more, "calc.py": ADD, "pytest.ini": f"[pytest]\naddopts = {settings}\n"})
    write(project, {".pytest_cache/v/cache/lastfailed": '{"test_calc.py::test_mul": true}'})
    expected = {"test_calc.py::test_add": True, "test_calc.py::test_sub": False, "test_calc.py::test_mul": True}
    assert enter(project, wanted=expected) == expected
    # Where no targets are named, the project's own choice counts.
    assert enter(project) == {"test_calc.py::test_add": True}
    assert not report.parent.exists()


def test_a_log_and_measurements_outside_stay_as_the_users_run_left_them(
    tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [tmp_path / "outside" / name for name in ("run.log", "coverage", "coverage.xml")]
    for file in kept:
        write(tmp_path, {f"outside/{file.name}": "from the user's run"})
    monkeypatch.setenv("COVERAGE_FILE", str(kept[1]))
    options = f"--log-file={kept[0]} -p pytest_cov --cov=calc --cov-report=xml:{kept[2]} --cov-fail-under=100"
    project = tmp_path / "project"
    write(project, {"test_calc.py": TEST_ADD, "calc.py": ADD, "pytest.ini": f"[pytest]\naddopts = {options}\n"})
    assert enter(project) == {"test_calc.py::test_add": True}
    assert [file.read_text(encoding="utf-8") for file in kept] == ["from the user's run"] * 3


def test_plugins_write_no_report_and_set_no_limit(tmp_path: Path, kind: Kind) -> None:
    names = ("htmlpath", "report_log", "json_report_file", "session_timeout", "pastebin")
    options = [f"    parser.addoption('--{name}', dest='{name}')\n" for name in names[:-1]]
    test = f"def test_add(pytestconfig):\n    assert [pytestconfig.getoption(each) for each in {names}] == [None] * 5\n"
    write(tmp_path, {"conftest.py": f"def pytest_addoption(parser):\n{''.join(options)}", "test_calc.py": test})
    given = " ".join(f"--{name}=x" for name in names[:-1])
    write(tmp_path, {"pytest.ini": f"[pytest]\naddopts = {given} --pastebin=failed\n"})
    assert enter(tmp_path) == {"test_calc.py::test_add": True}


def test_a_run_in_a_sandbox_is_no_run_of_the_task(
    tmp_path: Path, kind: Kind, clean_environment: pytest.MonkeyPatch
) -> None:
    clean_environment.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project = tmp_path / "project"
    settings = "[pytest]\naddopts = -p phase_gate.plugin --phase=red\n"
    write(project, {"test_calc.py": TEST_ADD, "calc.py": WRONG, "pytest.ini": settings})
    assert enter(project) == {"test_calc.py::test_add": False}
    assert sorted(path.name for path in tmp_path.rglob("*") if path.name in (".phase-gate", "state")) == []


def test_links_lead_to_what_lies_in_the_sandbox(tmp_path: Path, kind: Kind) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    # As the strict mode of an editable install has it, and folders of data that are links.
    write(root, {"test_calc.py": TEST_ADD, "src/calc.py": WRONG, "build/links/other.txt": "", "data/one.txt": "1"})
    write(outside, {"two.txt": "2"})
    (root / "build" / "links" / "calc.py").symlink_to(root / "src" / "calc.py")
    (root / "near").symlink_to("data")
    (root / "far").symlink_to(Path("..", "outside"))
    test = (
        "import sys\n\nsys.path.insert(0, 'build/links')\nfrom calc import add\n\n\ndef test_add():\n"
        "    assert add(int(open('near/one.txt').read()), int(open('far/two.txt').read())) == 3\n"
    )
    write(root, {"test_calc.py": test})
    assert enter(root, **{"src/calc": ADD}) == {"test_calc.py::test_add": True}
    write(root, {"src/calc.py": ADD})
    assert enter(root, **{"src/calc": WRONG}) == {"test_calc.py::test_add": False}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("module", "is_stray"), [("shop.calc", True), ("calc", False)])
def test_a_module_from_an_installed_copy_says_nothing(tmp_path: Path, kind: Kind, module: str, is_stray: bool) -> None:
    root, site = tmp_path / "project", tmp_path / "site-packages"
    write(site, {f"{module.replace('.', '/')}.py": ADD})
    test = f"import sys\n\nsys.path.insert(0, {str(site)!r})\n{TEST_ADD}".replace("calc", module)
    write(root, {"test_calc.py": test, "lib/shop/__init__.py": "", "lib/shop/calc.py": ADD})
    sandbox = Sandbox(root=root, contents={"lib/shop/calc.py": WRONG.encode()})
    run = run_in(sandbox, "test_calc.py")
    message = "lib/shop/calc.py was imported from an installed copy of it, not from the sandbox"
    assert run.problem == (message if is_stray else "")


def test_a_value_that_can_not_be_written_as_text_is_left_out(tmp_path: Path) -> None:
    head = "import pytest\n\n\ninner = [10**5000]\n\n\n@pytest.mark.parametrize('value', [inner])\n"
    write(tmp_path, {"test_calc.py": f"{head}def test_add(value):\n    assert value is inner\n"})
    assert enter(tmp_path) == {"test_calc.py::test_add[value0]": True}


@pytest.mark.sampled(1)
def test_functions_and_rows_are_told(tmp_path: Path, kind: Kind) -> None:
    tests = (
        "import functools, threading\nimport pytest\n\n\ndef twice(test):\n    @functools.wraps(test)\n"
        "    def both(n):\n        thread = threading.Thread(target=test, args=[n])\n"
        "        thread.start()\n        thread.join()\n    return both\n\n\n"
        "@pytest.mark.parametrize('n', ['a', 'b'])\n@twice\ndef test_it(n):\n    if n == 'a':\n        assert n\n"
    )
    write(tmp_path, {"tests/test_calc.py": tests})
    run = run_in(Sandbox(root=tmp_path), "tests")
    first, second = "tests/test_calc.py::test_it[a]", "tests/test_calc.py::test_it[b]"
    assert [(item.id, item.file, item.line, item.rows) for item in run.tests] == [
        (first, "tests/test_calc.py", 14, {"n": 0}),
        (second, "tests/test_calc.py", 14, {"n": 1}),
    ]
    assert run.at_work == ""


TARGETS = ("test_calc.py::test_add",)


NAMES = ["with spaces, commas", "a:b=c;d", "größe-日本", "back\\slash 'quoted'", "-o [x]"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", NAMES)
def test_a_project_may_lie_anywhere(tmp_path: Path, kind: Kind, name: str) -> None:
    root = tmp_path / name
    root.mkdir()
    proof = prove(root, {"test_calc.py": TEST_ADD, "calc.py": WRONG}, {"calc.py": ADD}, TARGETS)
    assert (verdicts(proof), proof.sandbox, proof.unnoticed) == ({"test_add": "proven"}, kind, ())


def test_where_mounts_are_refused_the_sandbox_is_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxes, "_MOUNT", "exit 1")
    monkeypatch.setattr(sandboxes, "_refused", set())
    proof = prove(tmp_path / "project", {"test_calc.py": TEST_ADD, "calc.py": WRONG}, {"calc.py": ADD}, TARGETS)
    assert (verdicts(proof), proof.sandbox) == ({"test_add": "proven"}, "copied")


def test_a_mount_that_takes_too_long_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    can_mount = namespaces_work()
    monkeypatch.setattr(sandboxes, "_MOUNT", "sleep 60")
    monkeypatch.setattr(sandboxes, "_refused", set())
    run_in(Sandbox(root=tmp_path), "--version", limit=1)
    assert ("mounted" not in sandboxes._refused) is can_mount


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
        pid = int(wait_for(started))
        os.kill(maker.pid, signal.SIGKILL)
    assert has_ended(pid)
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    assert sorted(path.name for path in root.iterdir()) == ["calc.py", "test_calc.py"]


def test_what_a_process_writes_last_is_heard() -> None:
    reading, writing = os.pipe()

    class Ending:
        """Writes its last answer just before it is found to have ended."""

        answers = b"last\n"

        def poll(self) -> int:
            os.write(writing, self.answers)
            self.answers = b""
            return 0

    try:
        assert sandboxes._read_all(cast(Any, Ending()), reading, 10) == (b"last\n", False)
    finally:
        os.close(reading)
        os.close(writing)
