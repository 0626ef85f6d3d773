"""While we work, Python is as it was before the project's code ran; afterwards it is as the tests left it."""

from __future__ import annotations

import datetime
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from phase_gate.recording.loading import FINDER
from phase_gate.recording.tamper.own_work import OwnWork, describe_left
from phase_gate.storage import store
from phase_gate.storage.ownership import Ownership
from tests.conftest import ROOT
from tests.recording.replacing import ROWS, fail


@pytest.fixture
def work() -> OwnWork:
    """As it is when tests begin."""
    work = OwnWork()
    work.widen()
    with work:
        work.settle()
    return work


@pytest.fixture
def ownership() -> Ownership:
    return Ownership(Path(__file__).parent)


@pytest.fixture(scope="module")
def rows() -> Any:
    """What is wrong with each row, from a process of its own."""
    command = [sys.executable, "-m", "tests.recording.replacing"]
    return json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)


@pytest.mark.processes
@pytest.mark.parametrize("row", ROWS)
def test_a_name_is_its_own_while_we_work(rows: Any, row: str) -> None:
    assert rows[row] == []


def test_a_name_that_was_deleted_is_there_while_we_work(work: OwnWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "replace")
    with work:
        assert callable(os.replace)
    assert not hasattr(os, "replace")


def test_a_name_that_hides_a_built_in_one_is_gone_while_we_work(work: OwnWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json.decoder, "len", fail, raising=False)
    with work:
        assert not hasattr(json.decoder, "len")
    assert json.decoder.len is fail  # type: ignore[attr-defined]


def test_what_was_replaced_wherever_it_was_imported_is_our_own_too(
    work: OwnWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FakeDatetime(datetime.datetime):
        pass

    own = vars(store)
    real = own["datetime"]
    monkeypatch.setattr(datetime, "datetime", FakeDatetime)
    monkeypatch.setattr(store, "datetime", FakeDatetime)
    with work:
        assert own["datetime"] is real
    assert own["datetime"] is FakeDatetime


@pytest.mark.parametrize("left", [mock.MagicMock(), None], ids=["mock", "none"])
@pytest.mark.parametrize("name", ["json", "pathlib", "phase_gate.storage.store"])
def test_a_module_that_was_exchanged_is_loaded_while_we_work(
    work: OwnWork, monkeypatch: pytest.MonkeyPatch, name: str, left: object
) -> None:
    real = sys.modules[name]
    monkeypatch.setitem(sys.modules, name, left)
    with work:
        assert sys.modules[name] is real
    assert sys.modules[name] is left


def test_work_inside_work_ends_with_the_outer_one(work: OwnWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "replace", fail)
    with work:
        with work:
            assert os.replace is not fail
        assert os.replace is not fail
    assert os.replace is fail


def test_what_was_left_comes_back_even_if_our_work_fails(work: OwnWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ZeroDivisionError), work:
        _ = 1 // 0
    assert os.replace is fail


# --- what a process has beside its modules ---------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder, and afterwards everything as it was."""
    monkeypatch.chdir(tmp_path)
    umask = os.umask(0)
    os.umask(umask)
    limit, timer = sys.getrecursionlimit(), signal.getitimer(signal.ITIMER_REAL)
    environment = dict(os.environ)
    yield tmp_path
    os.umask(umask)
    sys.setrecursionlimit(limit)
    signal.setitimer(signal.ITIMER_REAL, *timer)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(environment)


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def _leave_folder() -> None:
    Path("gone").mkdir()
    os.chdir("gone")
    os.rmdir("../gone")


def _folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "gone"


def _timer() -> bool:
    return signal.getitimer(signal.ITIMER_REAL)[0] > 500  # else it is the one that ends a test of ours


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


#: What a test does, and what shows it.
STATES: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "umask": (lambda: os.umask(0o777), _umask),
    "current folder": (lambda: os.chdir("/"), _folder),
    "current folder removed": (_leave_folder, _folder),
    "recursion limit": (lambda: sys.setrecursionlimit(300), sys.getrecursionlimit),
    "environment cleared": (os.environ.clear, _environment),
    "environment changed": (lambda: os.environ.update(PATH="", GIT_DIR="x"), _environment),
    "an alarm": (lambda: signal.alarm(1000), _timer),
    "children ignored": (
        lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        lambda: signal.getsignal(signal.SIGCHLD),
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_the_process_is_as_it_was_while_we_work(here: Path, name: str) -> None:
    change, look = STATES[name]
    work = OwnWork()
    with work:
        work.settle()
    before = look()
    change()
    left = look()
    assert left != before
    with work:
        assert look() == before
    assert look() == left


@pytest.mark.parametrize("name", ["path", "meta_path", "path_hooks"])
@pytest.mark.parametrize("left", [[], None, ["added"]], ids=str)
def test_imports_work_while_we_work(
    work: OwnWork, monkeypatch: pytest.MonkeyPatch, name: str, left: list[Any] | None
) -> None:
    others = [each for each in getattr(sys, name) if each is not FINDER]
    before = [each for each in others if not type(each).__module__.startswith("_pytest")]
    monkeypatch.setattr(sys, name, left)
    with work:
        assert [each for each in getattr(sys, name) if each is not FINDER] == [*(left or []), *before]
    assert getattr(sys, name) is left


def test_a_closed_stream_is_not_taken_by_a_file_of_ours(work: OwnWork, tmp_path: Path) -> None:
    kept = os.dup(0)
    os.close(0)
    try:
        with work, open(tmp_path / "ours", "w") as file:
            assert file.fileno() > 2
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(0)
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_our_own_variables_are_not_taken_back(here: Path) -> None:
    work = OwnWork()
    os.environ["PHASE_GATE_RUN"] = "mine"
    with work:
        work.settle()
    os.environ.clear()
    os.environ["PHASE_GATE_RUN"] = "mine"
    with work:
        del os.environ["PHASE_GATE_RUN"]
    assert "PHASE_GATE_RUN" not in os.environ


# --- what is said of it ----------------------------------------------------------------------------------------------


def _noted(work: OwnWork, ownership: Ownership) -> list[str]:
    with work:
        return work.left_by_tests(ownership)


def test_what_a_test_left_is_named(work: OwnWork, ownership: Ownership, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "replace", mock.MagicMock())
    monkeypatch.setattr(time, "strftime", None)
    monkeypatch.setattr(Path, "exists", fail)
    monkeypatch.delattr(json, "dump")
    assert _noted(work, ownership) == ["json.dump", "os.replace", "pathlib.Path.exists", "time.strftime"]


def test_nothing_is_named_where_nothing_was_left(work: OwnWork, ownership: Ownership) -> None:
    with mock.patch("os.replace"), mock.patch.dict(sys.modules, json=mock.Mock()):
        pass
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", fail)
        patch.setenv("PATH", "")
    assert _noted(work, ownership) == []


def test_the_projects_own_set_up_is_not_named(
    work: OwnWork, ownership: Ownership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "gmtime", fail)
    with work:
        work.settle()
    assert _noted(work, ownership) == []
    monkeypatch.setattr(time, "gmtime", mock.Mock())
    assert _noted(work, ownership) == ["time.gmtime"]


def test_what_an_installed_distribution_or_python_itself_puts_there_is_not_named(
    work: OwnWork, ownership: Ownership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "replace", pytest.importorskip("pluggy").PluginManager)
    monkeypatch.setattr(json, "dumps", json.dump)
    monkeypatch.delitem(sys.modules, "textwrap")
    assert _noted(work, ownership) == []


def test_values_that_python_changes_itself_are_not_named(work: OwnWork, ownership: Ownership) -> None:
    datetime.datetime.strptime("2020", "%Y")
    time.tzset()
    importlib.invalidate_caches()
    with work:
        assert {"time.tzname", "_frozen_importlib_external._NamespacePath._epoch"} <= work.left.keys()
    assert _noted(work, ownership) == []


def test_a_new_built_in_name_hides_nothing(
    work: OwnWork, ownership: Ownership, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every doctest that shows something leaves one, and so does gettext.
    monkeypatch.setattr("builtins._", 3, raising=False)
    assert _noted(work, ownership) == []


def test_a_built_in_name_that_was_there_may_have_another_value(
    ownership: Ownership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins._", 3, raising=False)
    work = OwnWork()
    monkeypatch.setattr("builtins._", 4)
    assert _noted(work, ownership) == []


def test_a_long_list_is_cut() -> None:
    assert describe_left(["os.open"]) == "a test left os.open patched"
    assert describe_left([*"abcde"]) == "a test left a, b, c and 2 more patched"
