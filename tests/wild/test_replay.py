"""A made-up history, replayed: what a real one is asked, in small; and the tables that come of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.wild import phases
from scripts.wild.comparing import Said
from scripts.wild.phases import Phase, Proven, find_unmet
from scripts.wild.preparing import Linked
from scripts.wild.projects import REPLAYED, Project
from scripts.wild.replay import command
from scripts.wild.replay.altered import Altered, alter, read_altered, render_altered, write_altered
from scripts.wild.replay.history import Commit, clone, read_log
from scripts.wild.replay.step import Replay, find_newly_failing, lay_made, replay
from scripts.wild.replay.table import read_records, render, write_records
from scripts.wild.running import Tools
from scripts.wild.stepping import commit
from tests.warm import WITH_PROOF, WarmServer

PROJECT = Project(name="sample", version="1.0")
FIRST_TESTS = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
MORE_TESTS = """\
import calc


def test_add():
    assert calc.add(1, 2) == 3


def test_sub():
    assert calc.sub(3, 2) == 1


class TestAdd:
    def test_zero(self):
        assert calc.add(0, 0) == 0
"""
ADD = "def add(a, b):\n    return a + b\n"
SUB = "\n\ndef sub(a, b):\n    return a - b\n"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A first commit, one without tests, a merge that changes tests and code, and a rename of a parameter."""
    folder = tmp_path / "theirs"
    folder.mkdir()

    def write(message: str, **files: str) -> None:
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
        commit(folder, message)

    write("first", calc=ADD, test_calc=FIRST_TESTS)
    git(folder, "config", "maintenance.auto", "false")  # newer versions of git do it behind our back
    write("words only", calc=f'"""Numbers."""\n\n{ADD}')
    git(folder, "checkout", "-q", "-b", "side")
    write("code", calc=f'"""Numbers."""\n\n{ADD}{SUB}')
    write("tests", test_calc=MORE_TESTS)
    git(folder, "checkout", "-q", "main")
    git(
        folder,
        "-c",
        "user.name=dev",
        "-c",
        "user.email=dev@example.org",
        "merge",
        "-q",
        "--no-ff",
        "-m",
        "both",
        "side",
    )
    write("names", calc=f"{ADD}{SUB}", test_calc=MORE_TESTS.replace("add(1, 2)", "add(2, 1)"))
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)


@pytest.fixture
def linked(tmp_path: Path) -> Linked:
    tools = Tools(pytest=("pytest", "-p", "phase_gate.plugin"), gate=("phase-gate",), environment={})
    site = tmp_path / "site"
    (site / "pytest-9.0.dist-info").mkdir(parents=True)
    (site / "pytest-9.0.dist-info" / "METADATA").write_text("Name: pytest\nVersion: 9.0\n", encoding="utf-8")
    return Linked(tools=tools, site=site, release=tmp_path / "release")


@pytest.fixture
def warm(monkeypatch: pytest.MonkeyPatch, with_proof: None, tmp_path: Path, children: Callable[[], WarmServer]) -> None:
    """The runs are made by the warm server."""

    def call(words: Sequence[str], tools: Tools, folder: Path, home: Path, *, timeout: float) -> Said:
        environment = {**os.environ, WITH_PROOF: "yes", "XDG_STATE_HOME": str(home)}
        code, output, _ = children().run(folder, tuple(words), environment)
        return Said(code, output, 0.5)

    monkeypatch.setattr(phases, "call", call)


@pytest.mark.processes
def test_a_history_is_replayed(history: Path, linked: Linked, warm: None, tmp_path: Path) -> None:
    ours = clone(str(history), tmp_path / "ours")
    found = [replay(PROJECT, each, ours, linked, tmp_path / each.name) for each in ours.list_steps()]
    assert [(each.red.is_expected, each.red.is_open, each.marked) for each in found] == [
        (False, False, 0),
        (True, True, 2),
    ]
    assert found[1].green == Phase(is_expected=True, is_open=True, said=found[1].green.said, seconds=0.5)
    assert (found[1].proof.counts, found[1].proof.altered, found[1].proof.problem) == ({"proven": 1}, {"fails": 1}, "")
    names, *rows = [row for row in render(found).splitlines() if row.startswith("| ")]
    assert names.startswith("| project | commits | RED expected | opened |")
    assert [row.split(" | ")[1:10] for row in rows[1:]] == [
        ["2", "1", "1", "1", "1 of 1", "1", "1", "1 of 1", "0 of 1"]
    ] * 2


@pytest.mark.processes
def test_the_tests_of_commits_expect_something_else(history: Path, linked: Linked, warm: None, tmp_path: Path) -> None:
    ours = clone(str(history), tmp_path / "ours")
    found = [alter(PROJECT, each, ours, linked, tmp_path / each.name) for each in ours.list_steps()]
    assert [(each.passing, each.altered, each.findings, each.left_out) for each in found] == [(3, 3, [], "")] * 2
    dead = {"shown": "still-passes", "text": "test_a.py:3 can't fail"}
    found.append(Altered(project="sample", commit="aa", passing=1, altered=1, findings=[dead]))
    found.append(Altered(project="sample", commit="bb", left_out="more than 240 s"))
    write_altered(tmp_path / "records.jsonl", found)
    rows = render_altered(read_altered(tmp_path / "records.jsonl")).splitlines()
    assert rows[2] == "| sample | 3 | 7 | 7 | 1 | 0 | 0 |"
    assert rows[-1] == "| sample | aa | test_a.py:3 can't fail |"


def test_theirs_is_only_read(history: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in history.rglob("*")}
    ours = clone(str(history), tmp_path / "ours")
    newest, merge = ours.list_steps()
    ours.lay_parent(merge)
    assert (ours.folder / "test_calc.py").read_text(encoding="utf-8") == FIRST_TESTS
    (ours.folder / "left.txt").touch()
    ours.lay(merge, merge.tests)
    assert (ours.folder / "test_calc.py").read_text(encoding="utf-8") == MORE_TESTS
    assert SUB not in (ours.folder / "calc.py").read_text(encoding="utf-8")
    ours.lay(merge, merge.code)
    assert SUB in (ours.folder / "calc.py").read_text(encoding="utf-8")
    ours.lay_parent(newest)
    assert not (ours.folder / "left.txt").exists()
    assert {path: path.stat().st_mtime_ns for path in history.rglob("*")} == before


def test_two_releases_are_a_history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for version, code, tests in (("1.0", ADD, FIRST_TESTS), ("1.1", ADD + SUB, MORE_TESTS)):
        (tmp_path / version).mkdir()
        (tmp_path / version / "calc.py").write_text(code, encoding="utf-8")
        (tmp_path / version / "test_calc.py").write_text(tests, encoding="utf-8")
    monkeypatch.setattr(command, "download", lambda project, folder: Path(project.version))
    monkeypatch.setattr(command, "unpack", lambda archive, folder: tmp_path / archive)
    history = command.join_releases(replace(PROJECT, version="1.1", before="1.0"), tmp_path / "place")
    (only,) = clone(str(history), tmp_path / "ours").list_steps()
    assert only.files == (("calc.py", True), ("test_calc.py", True))
    with pytest.raises(SystemExit, match="use sample=WHERE"):
        command.join_releases(PROJECT, tmp_path / "other")


def test_what_a_build_makes_comes_from_the_release(history: Path, linked: Linked, tmp_path: Path) -> None:
    (history / ".gitignore").write_text("_version.py\n", encoding="utf-8")
    commit(history, "ignore")
    ours = clone(str(history), tmp_path / "ours")
    git(ours.folder, "checkout", "-q")
    linked.release.mkdir()
    for name in ("_version.py", "calc.py", "other.py"):
        (linked.release / name).write_text("made = True\n", encoding="utf-8")
    lay_made(ours, linked)
    assert (ours.folder / "_version.py").exists()
    assert not (ours.folder / "other.py").exists()
    assert "made" not in (ours.folder / "calc.py").read_text(encoding="utf-8")
    assert (linked.site / "_replayed.pth").read_text(encoding="utf-8").strip() == str(ours.folder)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"calc.py": True, "tests/test_calc.py": True}, True, id="both"),
        pytest.param({"calc.py": True, "pkg/tests/data.py": True}, True, id="tests-in-the-package"),
        pytest.param({"calc.py": True, "tests/test_calc.py": False}, False, id="tests-go"),
        pytest.param({"calc.py": False, "tests/test_calc.py": True}, True, id="code-goes"),
        pytest.param({"docs/conf.py": True, "tests/test_calc.py": True}, False, id="code-of-the-documentation"),
        pytest.param({"README.md": True, "tests/test_calc.py": True}, False, id="no-code"),
        pytest.param({"calc.py": True, "tests/data.txt": True}, False, id="no-tests"),
        pytest.param({"setup.py": True, "tests/test_calc.py": True}, False, id="code-of-the-build"),
    ],
)
def test_which_commits_are_steps(files: dict[str, bool], expected: bool) -> None:
    assert Commit(name="a", parent="b", files=tuple(files.items())).is_step is expected


def test_a_log_is_read() -> None:
    log = "\x01aa bb cc\x01\0\nM\0calc.py\0D\0old name.py\0\x01bb dd\x01\0\x01dd \x01\0\nA\0calc.py\0"
    both = (("calc.py", True), ("old name.py", False))
    assert list(read_log(log)) == [
        Commit(name="aa", parent="bb", files=both),
        Commit(name="bb", parent="dd", files=()),
    ]


def test_what_fails_anew() -> None:
    before = Said(1, "FAILED test_a.py::test_x - known [1]\nFAILED test_a.py::test_y[a - b]\n")
    more = "FAILED test_a.py::test_y[1] - x\nFAILED test_a.py::test_y[a - b] - y\nERROR test_b.py - ImportError\n"
    now = Said(1, f"FAILED test_a.py::test_x - known\n{more}")
    assert find_newly_failing(before, now) == {"test_a.py::test_y[1]", "test_b.py"}
    assert find_newly_failing(now, before) == set()


def test_what_kept_a_gate_closed() -> None:
    clauses = [{"text": "tests_passing == 0", "met": False}, {"text": "tests_total > 0", "met": True}]
    guards = [{"name": "tests-kept", "met": True}, {"name": "red-for-a-reason", "met": False}]
    verdict = {"gate_1": {"clauses": clauses, "guards": guards}}
    assert find_unmet(verdict) == ("tests_passing == 0", "red-for-a-reason")


def test_every_refusal_stands_in_a_table(tmp_path: Path) -> None:
    shut = Phase(is_expected=True, why=("tests-unchanged",), said="a | b\nc")
    opened = Phase(is_expected=True, is_open=True, seconds=2.0)
    given = [
        make_replay("aa", red=shut),
        make_replay("bb", red=opened, green=shut),
        make_replay("cc", red=opened, green=opened, proof=Proven(problem="no sandbox")),
        make_replay("dd", red=Phase(is_expected=False, is_open=True)),
        make_replay("ee", left_out="its suite takes more than 60 s"),
    ]
    write_records(tmp_path / "records.jsonl", given)
    text = render(read_records(tmp_path / "records.jsonl"))
    assert text == render(given)
    assert text.startswith("Python 3, pytest 9, 2026-01-02\n")
    for row in (
        "| sample | aa | RED | `tests-unchanged` | a \\| b c |",
        "| sample | bb | GREEN | `tests-unchanged` | a \\| b c |",
        "| sample | cc | GREEN | opened without a proof | no sandbox |",
        "| sample | dd | RED | opened, and nothing fails |  |",
        "| sample | ee | its suite takes more than 60 s |",
    ):
        assert row in text.splitlines()


def make_replay(name: str, **more: object) -> Replay:
    made = Replay(project="sample", commit=name, date="2026-01-02", made_with="Python 3, pytest 9")
    return replace(made, **more)  # type: ignore[arg-type]


def test_every_project_is_there_once() -> None:
    assert len({project.name for project in REPLAYED}) == len(REPLAYED) >= 12
