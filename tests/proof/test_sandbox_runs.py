"""Runs in sandboxes that sources try to end, to tell apart or to lie to; and honest steps that look like that."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from phase_gate.proof.experiment import make_proof
from phase_gate.proof.sandbox import Heard, Kind, Sandbox
from phase_gate.proof.sandbox_runs import Report, read_heard
from phase_gate.proof.verdicts import TargetProof
from phase_gate.storage.fingerprint import take_tree
from phase_gate.storage.snapshots import FileSnapshot, take_snapshot
from phase_gate.values import replace
from tests.proof.stories import ADD, LIMIT, TEST_ADD, WRONG, plan, run_in, write

pytestmark = [pytest.mark.processes, pytest.mark.sampled(6)]

TARGET = "test_calc.py::test_add"


def prove(
    root: Path,
    green: Mapping[str, str | None],
    *,
    red: Mapping[str, str] | None = None,
    seconds: float = LIMIT,
    took: float | None = 0.1,
    words: tuple[str, ...] = (),
) -> TargetProof:
    """Return what is shown of a step in which a test passes outside."""
    before = {"test_calc.py": TEST_ADD, "calc.py": WRONG, **(red or {})}
    trial = plan(root, before, green, [TARGET], seconds=seconds, took=took)
    proof = make_proof(replace(trial, words=words))
    assert not proof.problem
    return proof.targets[0]


def report_of(root: Path) -> Report:
    run = run_in(Sandbox(root=root), "test_calc.py")
    assert not run.problem
    (report,) = run.of(TARGET)
    return report


def test_of_a_run_that_did_not_end_only_whole_functions_count() -> None:
    rows = [f"test_a.py::test_{name}" for name in ("a[1]", "a[2]", "b[1]", "b[2]", "c", "d")]
    answers: list[dict[str, Any]] = [{"kind": "collected", "items": [{"id": row} for row in rows], "dropped": []}]
    for test_id in (*rows[:3], "test_a.py::test_c"):
        output = {"outcome": "passed", "expected": False, "lie": "", "doubt": "", "files": []}
        answers += [{"kind": "started", "id": test_id}, {"kind": "report", "id": test_id, **output}]
    heard = Heard(kind="mounted", folder="", answers=tuple(answers), seconds=30.0, is_late=True)
    run = read_heard(heard, Sandbox(root=Path()))
    assert run.problem == "it did not end in 30 s in test_a.py::test_c"
    # A row of one has not run, and the last one was at work still.
    assert [test.id for test in run.tests if test.report] == rows[:2]
    # A copy has not said where its modules came from.
    assert list(read_heard(replace(heard, kind="copied"), Sandbox(root=Path())).tests) == []


# --- what dies or never ends with the change


def hook(name: str, *body: str, wraps: bool = False) -> str:
    """Return a source that registers a hook of pytest, and is wrong."""
    lines = [
        "import gc",
        "import pytest",
        "config = next(each for each in gc.get_objects() if isinstance(each, pytest.Config))",
        "class Quiet:",
        f"    @pytest.hookimpl({'wrapper' if wraps else 'tryfirst'}=True)",
        f"    def {name}:",
        *(f"        {line}" for line in body),
        "config.pluginmanager.register(Quiet())",
    ]
    return "\n".join([*lines, WRONG])


KILLS = {
    "exits": ("import os\n\n\ndef add(a, b):\n    os._exit(3)\n", "with exit status 3"),
    "is-killed": ("import os\n\n\ndef add(a, b):\n    os.kill(os.getpid(), 9)\n", "was ended by a signal (Killed)"),
    "stops-pytest": ("import pytest\n\n\ndef add(a, b):\n    pytest.exit('enough', 0)\n", "stopped at test_calc.py"),
    "exits-on-import": ("import os\n\nos._exit(0)\n", "pytest ended too early, with exit status 0"),
    "exits-as-pytest-does": ("import os\n\nos._exit(4)\n", "with exit status 4"),
    "drops-it": (hook("pytest_collection_modifyitems(self, items)", "items.clear()"), "stopped at test_calc.py"),
    "never-ends": (
        "def add(a, b):\n    while True:\n        pass\n",
        "it did not end in 3 s in test_calc.py::test_add",
    ),
}


@pytest.mark.parametrize("name", KILLS)
def test_a_treatment_that_dies_or_never_ends_twice_is_refuted(tmp_path: Path, kind: Kind, name: str) -> None:
    code, output = KILLS[name]
    conftest = "import calc\n" if name == "exits-as-pytest-does" else ""
    seconds = 3 if name == "never-ends" else LIMIT
    target = prove(tmp_path, {"calc.py": code}, red={"conftest.py": conftest}, seconds=seconds)
    assert target.verdict == "fails-with", target
    assert target.why.startswith("it passes outside, and ends the sandbox, twice: ")
    assert output in target.why


def test_where_nothing_is_known_from_outside_it_is_unknown(tmp_path: Path) -> None:
    target = prove(tmp_path, {"calc.py": KILLS["exits"][0]}, took=None)
    assert target.verdict == "unknown"
    assert "with the change: pytest ended too early in test_calc.py::test_add, with exit status 3" in target.why


def test_an_option_of_red_that_pytest_refuses_now_is_no_crash(tmp_path: Path) -> None:
    target = prove(tmp_path, {"calc.py": ADD}, words=("--no-such",))
    assert (target.verdict, "unrecognized arguments: --no-such" in target.why) == ("unknown", True), target


def test_what_dies_once_has_a_second_try(tmp_path: Path) -> None:
    mark = tmp_path.parent / f"{tmp_path.name}-mark"
    code = f"import os\nimport pathlib\n\nmark = pathlib.Path({str(mark)!r})\nwas = mark.exists()\nmark.touch()\n"
    target = prove(tmp_path, {"calc.py": f"{code}if not was:\n    os._exit(3)\n\n\n{ADD}"})
    assert target.verdict == "proven", target


def test_only_the_target_that_kills_is_refuted(tmp_path: Path) -> None:
    more = "\n\ndef test_more():\n    from calc import more\n\n    assert more() == 1\n"
    code = f"import os\n\n\n{ADD}\n\ndef more():\n    os._exit(3)\n"
    behind = TEST_ADD.replace("_add", "_last").partition("\n\n\n")[2]
    before = {"test_calc.py": f"{TEST_ADD}{more}\n\n{behind}", "calc.py": WRONG}
    targets = [f"test_calc.py::test_{name}" for name in ("add", "more", "last")]
    proof = make_proof(plan(tmp_path, before, {"calc.py": code}, targets, took=0.1))
    assert [each.verdict for each in proof.targets] == ["proven", "fails-with", "unknown"]


# --- and what is honest

#: Options of plugins that outlast, measure or spread a run.
OPTIONS = {
    "pytest-timeout": ("-p", "pytest_timeout", "--timeout=0.2", "--timeout-method=thread"),
    "pytest-rerunfailures": ("-p", "pytest_rerunfailures", "--reruns=1"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_plugins_change_nothing(tmp_path: Path, name: str) -> None:
    slow = ADD.replace("return", "import time\n    time.sleep(0.5)\n    return")
    assert prove(tmp_path, {"calc.py": slow}, words=OPTIONS[name]).verdict == "proven"


@pytest.fixture
def port() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        yield listening.getsockname()[1]


def test_a_port_in_use_is_named_and_refutes_nothing(tmp_path: Path, port: int) -> None:
    test = f"{TEST_ADD}    import socket\n\n    socket.create_server(('127.0.0.1', {port}))\n"
    target = prove(tmp_path, {"calc.py": ADD}, red={"test_calc.py": test})
    assert (target.verdict, "Address already in use" in target.why) == ("unknown", True), target


def test_the_limit_follows_what_the_targets_took_outside() -> None:
    trial = plan(Path(__file__).parent, {}, {}, [TARGET], seconds=30)
    assert [replace(trial, took=took).limit for took in (None, 1.0, 9.0)] == [30, 30, 180]


def test_large_data_that_changed_is_named_and_excuses_nothing(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    noise = tmp_path / "noise.bin"
    noise.write_bytes(b"x" * (33 << 20))
    trial = plan(tmp_path, {"test_calc.py": TEST_ADD, "calc.py": ADD}, {"unused.py": ""}, [TARGET])
    noise.write_bytes(b"y" * (33 << 20))
    proof = make_proof(replace(trial, now=take_tree(tmp_path).files))
    assert proof.targets[0].verdict == "passes-without"
    assert proof.notes == ("noise.bin was too large to be kept: the sandboxes have it as it is now",)


def test_a_file_that_vanished_before_it_was_kept_is_said(tmp_path: Path) -> None:
    trial = plan(tmp_path, {"test_calc.py": TEST_ADD, "calc.py": WRONG}, {"calc.py": ADD}, [TARGET])
    (tmp_path / "calc.py").write_text(WRONG, encoding="utf-8")
    files = {**trial.then.files, "scratch.py": "of a moment ago", "data": "unreadable"}
    (tmp_path / "data").mkdir()  # reading it fails, whoever the user is
    then = take_snapshot(tmp_path, files)
    (tmp_path / "calc.py").write_text(ADD, encoding="utf-8")
    proof = make_proof(replace(trial, then=then))
    assert (proof.problem, [each.verdict for each in proof.targets]) == ("", ["proven"])
    assert proof.notes == tuple(
        f"{path} could not be read when it was to be kept: the sandboxes have it as it is now"
        for path in ("data", "scratch.py")
    )


def test_large_data_of_the_beginning_is_left_alone(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    red = {"test_calc.py": TEST_ADD, "calc.py": WRONG, "noise.bin": "in RED"}
    trial = plan(tmp_path, red, {"calc.py": ADD, "noise.bin": "in GREEN"}, [TARGET])
    began = FileSnapshot(files={"noise.bin": "another"}, too_large=("noise.bin",))
    proof = make_proof(replace(trial, began=began))
    assert (proof.problem, [each.verdict for each in proof.targets]) == ("", ["proven"])


def test_a_deleted_test_file_that_is_waived_keeps_no_other_target_from_its_proof(tmp_path: Path, kind: Kind) -> None:
    red = {"test_calc.py": TEST_ADD, "test_old.py": TEST_ADD, "calc.py": WRONG}
    trial = plan(tmp_path, red, {"calc.py": ADD, "test_old.py": None}, [TARGET, "test_old.py::test_add"], took=0.1)
    proof = make_proof(replace(trial, as_now=frozenset({"test_old.py"})))
    assert [each.verdict for each in proof.targets] == ["proven", "unknown"]


def test_a_link_to_nothing_is_no_source(tmp_path: Path) -> None:
    trial = plan(tmp_path, {"test_calc.py": TEST_ADD, "calc.py": WRONG}, {"calc.py": ADD}, [TARGET])
    (tmp_path / ".#calc.py").symlink_to("user@host.1234")  # the lock of an editor
    proof = make_proof(replace(trial, now=take_tree(tmp_path).files))
    assert (proof.problem, [each.verdict for each in proof.targets]) == ("", ["proven"])


EXTENSION = """\
#define PY_SSIZE_T_CLEAN
#include <Python.h>
static PyObject *two(PyObject *self, PyObject *none) { return PyLong_FromLong(2); }
static PyMethodDef methods[] = {{"two", two, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fast", "", -1, methods};
PyMODINIT_FUNC PyInit_fast(void) { return PyModule_Create(&module); }
"""
BUILD = (
    "import subprocess, sysconfig; subprocess.run(['gcc', '-shared', '-fPIC', '-I', sysconfig.get_paths()['include'],"
    " 'fast.c', '-o', 'fast' + sysconfig.get_config_var('EXT_SUFFIX')], check=True)"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled module `fast`, with a function `two` that returns 2."""
    if shutil.which("gcc") is None:
        pytest.skip("builds a module in C")
    folder = tmp_path_factory.mktemp("built")
    write(folder, {"fast.c": EXTENSION})
    subprocess.run([sys.executable, "-c", BUILD], cwd=folder, check=True)
    return next(folder.rglob("fast.*.so"))


BUILT = "as it was built last, and {} has changed: nothing is built in a sandbox"


@pytest.mark.parametrize(
    ("file", "before", "now", "verdict", "output"),
    [
        pytest.param("fast.py", "def two():\n    return 0\n", "def two():\n    return 2\n", "proven", "", id="from-it"),
        pytest.param("fast.py", "two = int\n", "def two():\n    return 1\n", "fails-with", "1 == 2", id="hides-it"),
        pytest.param("fast.c", "before", "after", "unknown", BUILT, id="its-source-changed"),
        pytest.param("notes.txt", "before", "after", "passes-without", "", id="something-else-changed"),
    ],
)
def test_a_built_module_is_left_out_where_its_source_changed(
    tmp_path: Path, built: Path, file: str, before: str, now: str, verdict: str, output: str
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    shutil.copy(built, tmp_path)
    test = "def test_add():\n    import fast\n\n    assert fast.two() == 2\n"
    red = {".gitignore": "*.so\n", "test_calc.py": test, file: before}
    target = prove(tmp_path, {file: now}, red=red)
    assert target.verdict == verdict, target
    assert output.format(file) in target.why


# --- what tells a sandbox apart

TELLS = """\
import os
import sys

import calc


def test_add():
    assert not [name for name in sys.modules if name.startswith("phase_gate")]
    assert not [name for name in os.environ if name.startswith("PHASE_GATE")]
    assert not [word for word in sys.argv if word.startswith(("-p", "plugin_", "--basetemp", "--maxfail"))]
    assert os.environ.get("PYTHONPATH", "") in ("", calc.__file__.rpartition("/")[0])
    assert all(os.path.exists(folder) or folder.endswith(".zip") for folder in sys.path)
    assert not [each for each in sys.modules if each.startswith(("plugin_", "module_"))]
"""


def test_nothing_of_ours_is_seen_there(tmp_path: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("PHASE_GATE_DIR", "state")
    write(tmp_path, {"test_calc.py": TELLS, "calc.py": ADD})
    assert report_of(tmp_path) == Report(has_passed=True)


def test_a_check_that_the_code_calls_is_the_tests_own(tmp_path: Path) -> None:
    test = "from calc import call\n\n\ndef test_add():\n    def check():\n        assert 1 == 2\n\n    call(check)\n"
    write(tmp_path, {"test_calc.py": test, "calc.py": "def call(check):\n    check()\n"})
    assert report_of(tmp_path).is_own_check({"test_calc.py"})


def test_a_check_of_an_installed_helper_is_the_tests_own(tmp_path: Path, kind: Kind) -> None:
    there = tmp_path / ".venv" / "site-packages"
    begin = f"import sys\n\nsys.path.insert(0, {str(there)!r})\nfrom helper import same\n"
    test = f"{begin}\n\ndef test_add():\n    same(1, 2)\n"
    write(tmp_path, {"test_calc.py": test, ".venv/site-packages/helper.py": "def same(a, b):\n    assert a == b\n"})
    assert report_of(tmp_path).is_own_check({"test_calc.py"})


# --- what lies about outcomes


SWALLOWS = ("try:", "    return (yield)", "except AssertionError:", "    return None")
#: Code under test that comes between a failing test and its report; tests/scenarios has more.
LIES = {
    "swallows-in-pytest": f"""\
import contextlib

from _pytest.python import Function

real = Function.runtest


def quiet(self):
    with contextlib.suppress(AssertionError):
        real(self)


Function.runtest = quiet
{WRONG}""",
    "wraps-the-function": hook(
        "pytest_collection_modifyitems(self, items)",
        "for item in items:",
        "    def swallow(run=item.obj):",
        "        try:",
        "            run()",
        "        except AssertionError:",
        "            pass",
        "    item.obj = swallow",
    ),
    "a-hook-that-reports": hook(
        "pytest_runtest_makereport(self)", "report = yield", "report.outcome = 'passed'", "return report", wraps=True
    ),
    "a-hook-that-swallows": hook("pytest_runtest_call(self)", *SWALLOWS, wraps=True),
    "a-hook-that-never-calls": hook("pytest_pyfunc_call(self)", "return True"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_about_a_test_is_seen(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"test_calc.py": TEST_ADD, "calc.py": LIES[name]})
    report = report_of(tmp_path)
    assert not report.has_passed
    assert "reported as passed" in report.message


QUIET = (
    "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_call():\n    try:\n"
    "        return (yield)\n    except KeyError:\n        pass\n"
)
#: Exceptions that somebody takes in for a reason, and code that ends in an unusual way; tests/scenarios has more.
HONEST = {
    "a-conftest-expects-an-exception": (
        "import pytest\n\n\n@pytest.mark.expects\ndef test_add():\n    raise KeyError\n",
        "import pytest\n\n\ndef pytest_configure(config):\n    config.addinivalue_line('markers', 'expects: why')\n"
        "\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_call(item):\n    try:\n        return (yield)\n"
        "    except KeyError:\n        assert item.get_closest_marker('expects')\n",
    ),
    "an-installed-plugin-expects-an-exception": (
        "def test_add():\n    raise KeyError\n",
        "import sys\n\nsys.path.insert(0, '.venv/lib/site-packages')\npytest_plugins = ['quiet']\n",
    ),
    "it-returns-early": ("def test_add():\n    for each in (1, 2):\n        if each:\n            return\n", ""),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_outcomes_are_believed(tmp_path: Path, name: str) -> None:
    test, conftest = HONEST[name]
    write(tmp_path, {"test_calc.py": test, "conftest.py": conftest, ".venv/lib/site-packages/quiet.py": QUIET})
    assert report_of(tmp_path) == Report(has_passed=True)
