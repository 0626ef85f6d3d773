"""What is loaded once tests have run is ours: not what they put under our names, nor what they wrote into our files."""

from __future__ import annotations

import builtins
import importlib
import importlib._bootstrap
import importlib._bootstrap_external
import marshal
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import phase_gate
from phase_gate.errors import OwnCodeError
from phase_gate.recording import loading
from phase_gate.recording.loading import FINDER, LISTED
from phase_gate.recording.tamper.own_work import OwnWork
from tests.support import Sample

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
        assert work.fakes == {LATE: fake}
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
        assert not work.fakes


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


# --- a file of ours that was written since


def make(folder: Path) -> tuple[Path, Path]:
    source, cached = folder / "it.py", folder / "it.pyc"
    source.write_text("MADE = 'by the source'\n")
    status = source.stat()
    code = compile("MADE = 'by a test'", str(source), "exec")
    known = int(status.st_mtime).to_bytes(4, "little") + status.st_size.to_bytes(4, "little")
    cached.write_bytes(importlib.util.MAGIC_NUMBER + b"\0\0\0\0" + known + marshal.dumps(code))
    return source, cached


def wait_for(is_so: Callable[[], bool], file: Path) -> None:
    """Touch a file until it is so: some file systems have clocks of few ticks."""
    while not is_so():
        os.utime(file)


@pytest.mark.parametrize("is_written", [False, True], ids=["before", "since"])
def test_compiled_code_that_was_written_since_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    source, cached = make(tmp_path)
    if is_written:
        wait_for(lambda: cached.stat().st_ctime > source.stat().st_ctime, cached)
    monkeypatch.setattr(loading, "_began", (source if is_written else cached).stat().st_ctime)
    loader = loading._OwnLoader("it", str(source), str(cached))
    code, made = loader.get_code("it"), dict[str, object]()
    assert code is not None
    exec(code, made)
    assert made["MADE"] == ("by the source" if is_written else "by a test")


def test_a_source_that_was_written_since_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, cached = make(tmp_path)
    monkeypatch.setattr(loading, "_began", source.stat().st_ctime - 1)
    with pytest.raises(OwnCodeError, match="was written while the tests ran"):
        loading._OwnLoader("it", str(source), str(cached)).get_code("it")


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
    assert ran.has("guard   tests-unchanged", "guard   outcomes-genuine", "parsing is not its own")
