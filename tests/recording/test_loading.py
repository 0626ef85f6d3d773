"""What is loaded once tests have run is ours, and not what they put under our names."""

from __future__ import annotations

import builtins
import importlib
import importlib._bootstrap
import importlib._bootstrap_external
import marshal
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import phase_gate
from phase_gate.recording import loading
from phase_gate.recording.loading import FINDER, LISTED
from phase_gate.recording.tamper.own_work import OwnWork
from tests.support import OURS, Sample

FOLDER = Path(phase_gate.__file__).parent
#: One that neither these tests nor a session needs, to be loaded and unloaded at will.
LATE = "phase_gate.report.ci"


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnWork]:
    """As it is when tests begin, with one of our modules not loaded yet."""
    before, finders = dict(sys.modules), list(sys.meta_path)
    sys.modules.pop(LATE, None)
    yield OwnWork()
    sys.modules.clear()
    sys.modules.update(before)
    sys.meta_path[:] = finders
    sys.modules["phase_gate.report"].ci = before.get(LATE)  # type: ignore[attr-defined]


def load() -> ModuleType:
    """Load it as our functions do."""
    return builtins.__import__(LATE, fromlist=["announce"])


def test_a_fake_gives_way_while_we_work(work: OwnWork) -> None:
    fake = sys.modules[LATE] = ModuleType(LATE)
    with work:
        assert work._fakes == {LATE: fake}
        ours = load()
        assert ours is not fake
        assert ours.__file__ == str(FOLDER / "report" / "ci.py")
    assert sys.modules[LATE] is fake, "later hooks find what the tests left"
    with work:
        assert load() is ours, "once is enough"
    assert sys.modules[LATE] is fake


def test_what_a_test_imports_by_our_finder_is_ours(work: OwnWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [FINDER, *sys.meta_path])
    theirs = load()
    with work:
        assert load() is theirs
        assert not work._fakes


def test_one_of_ours_that_was_unloaded_comes_back(work: OwnWork) -> None:
    with work:
        ours = load()
    del sys.modules[LATE]
    with work:
        assert load() is ours
    assert LATE not in sys.modules


def test_our_finder_is_asked_first_and_leaves_with_us(work: OwnWork, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            assert not name.startswith("phase_gate"), "it would be asked for ours"

    monkeypatch.setattr(sys, "meta_path", [Fake, *(each for each in sys.meta_path if each is not FINDER)])
    with work:
        assert load().__name__ == LATE
    assert FINDER not in sys.meta_path


def refuse(*_given: object, **_named: object) -> Any:
    raise AssertionError("it was called")


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (builtins, "__import__"),
        (builtins, "exec"),
        (builtins, "compile"),
        (marshal, "loads"),
        (os, "stat"),
        (importlib, "import_module"),
        (importlib._bootstrap, "_find_and_load"),
        (importlib._bootstrap, "_find_spec"),
        (importlib._bootstrap, "module_from_spec"),
        (importlib._bootstrap_external, "_path_stat"),
        (importlib._bootstrap_external.SourceFileLoader, "get_data"),
        (importlib._bootstrap_external.SourceLoader, "get_code"),
    ],
    ids=lambda each: str(getattr(each, "__name__", each)),
)
def test_what_importing_needs_is_its_own_while_we_work(
    work: OwnWork, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, refuse)
        with work:
            ours = load()
    assert ours.__file__ == str(FOLDER / "report" / "ci.py")


# --- compiled code, whoever has touched the files


@pytest.mark.parametrize("is_stale", [False, True], ids=["of-the-source-as-it-is", "of-another-source"])
def test_compiled_code_is_taken_if_it_is_of_the_source(tmp_path: Path, is_stale: bool) -> None:
    source, cached = tmp_path / "it.py", tmp_path / "it.pyc"
    source.write_text("MADE = 'by the source'\n")
    status = source.stat()
    code = compile("MADE = 'when it was compiled'", str(source), "exec")
    known = int(status.st_mtime - is_stale).to_bytes(4, "little") + status.st_size.to_bytes(4, "little")
    cached.write_bytes(importlib.util.MAGIC_NUMBER + b"\0\0\0\0" + known + marshal.dumps(code))
    found, made = loading._OwnLoader("it", str(source), str(cached)).get_code("it"), dict[str, object]()
    assert found is not None
    exec(found, made)
    assert made["MADE"] == ("by the source" if is_stale else "when it was compiled")


#: As when another environment is made out of a cache of packages: each file has one more link, and a later `st_ctime`.
LINKS = """\
import os
import phase_gate
from pathlib import Path

from calc import add


def test_add(tmp_path):
    for number, file in enumerate(Path(phase_gate.__file__).parent.rglob("*.py")):
        os.link(file, tmp_path / str(number))
    assert add(1, 2) == 3
"""


@pytest.mark.processes
def test_other_environments_may_link_our_files_while_tests_run(sample: Sample, tmp_path: Path) -> None:
    copied = tmp_path / "packages"
    shutil.copytree(FOLDER, copied / "phase_gate", ignore=shutil.ignore_patterns("__pycache__"))
    sample.write(test_calc=LINKS)
    for phase, code in (("red", 0), ("green", 10)):
        ran = sample.process(sys.executable, "-m", "pytest", *OURS, f"--phase={phase}", PYTHONPATH=str(copied))
        assert ran.code == code, ran.out + ran.err
        sample.gate("signal", "--reason", "it fails")
        sample.write(calc="def add(a, b):\n    return a + b\n")
    assert ran.has("iteration 1")


# --- and all of it in a run


#: A test that was weakened since RED, and a fake in place of what reads tests from their sources.
PLANTS = """\
import sys
import types
from calc import add


def test_add():
    fake = types.ModuleType("phase_gate.recording.parsing")
    fake.read_tests = lambda *given: known
    known = next(each for each in __import__("gc").get_objects() if type(each).__name__ == "TestFile")
    sys.modules[fake.__name__] = sys.modules["phase_gate.recording"].parsing = fake
    assert add(1, 2) >= 0
"""


@pytest.mark.processes
def test_a_fake_in_place_of_what_reads_tests_changes_nothing(sample: Sample) -> None:
    assert "recording.parsing" not in Path(LISTED).read_text()
    sample.red().write(calc="def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n")
    assert sample.pytest_process("--phase=green").code in (0, 10)
    sample.write(test_calc=PLANTS)
    ran = sample.pytest_process("--phase=green")
    assert ran.code != 0
    assert ran.has("guard   tests-unchanged")
