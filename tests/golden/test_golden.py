"""What was released stays readable: documents keep their fields, and old state folders open and go on."""

from __future__ import annotations

import getpass
import json
import platform
import re
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from phase_gate.cli import COMMANDS
from phase_gate.gate.codec import state_to_json
from phase_gate.gate.state import SCHEMA
from phase_gate.storage.ledger import digest
from phase_gate.storage.store import TaskStore
from tests.golden import __main__ as script
from tests.golden.neutral import Neutral
from tests.golden.places import GOLDEN, restore, states, versions
from tests.golden.scenes import STORIES, tell
from tests.golden.shapes import Shape, find_broken, shape_of
from tests.support import CALC, FAILING_TESTS, Sample

#: How each story goes on in a newer version: what is typed, and how it ends.
GOES_ON: Mapping[str, tuple[tuple[str, ...], int]] = {
    "state-red": (("pytest", "--phase=red"), 0),
    "state-green": (("pytest", "--phase=refactor"), 10),
    "state-rewound": (("pytest", "--phase=red"), 10),
    "state-verify": (("verify", "run"), 0),
    "state-pipeline": (("advance",), 10),
}

#: Commands whose answers are not kept yet, and why. `verify` and `pipeline` are kept in part.
NOT_KEPT: Mapping[str, str] = {
    **dict.fromkeys(("demo", "completion", "report", "workflow schema"), "no JSON answer of its own"),
    **dict.fromkeys(("hook", "agent prompt", "agent uninstall", "init", "doctor"), "speaks of the installation"),
    **dict.fromkeys(("drive", "prove", "baseline"), "starts further processes: takes long"),
    **dict.fromkeys(("waive", "force", "ci combine"), "needs a story of its own"),
    **dict.fromkeys(
        ("pipeline vote", "pipeline request", "pipeline recover", "pipeline snapshot"), "needs a longer pipeline"
    ),
    **dict.fromkeys(("store trust", "store init", "store copy", "store export"), "needs a store that machines share"),
}


def name(state: Path) -> str:
    return f"{state.parent.name}-{state.name.removeprefix('state-')}"


def tasks(state: Path) -> list[Path]:
    return sorted(path.parent for path in (state / "state").rglob("ledger.jsonl"))


def test_every_version_has_every_state_and_document() -> None:
    assert versions()
    for version in versions():
        assert {path.name for path in (GOLDEN / version).glob("state-*")} == set(GOES_ON)
        assert set(json.loads((GOLDEN / version / "documents.json").read_text("utf-8"))) == set(STORIES)


def test_every_command_is_kept_or_has_a_reason() -> None:
    newest = json.loads((GOLDEN / versions()[-1] / "documents.json").read_text("utf-8"))
    kept = {name for story in newest.values() for name in story}
    kept |= {name.partition(" ")[0] for name in kept if name.startswith("verify ")}
    assert set(COMMANDS) - kept == set(NOT_KEPT)


# --- states


@pytest.mark.parametrize("state", states(), ids=name)
def test_an_old_state_opens_and_goes_on(state: Path, sample: Sample) -> None:
    restore(state, sample.root)
    (folder,) = tasks(state)
    task = () if folder.name == "state" else ("--task", folder.name)
    events = len((folder / "ledger.jsonl").read_bytes().splitlines())

    audited = sample.gate("audit", "--json", *task).document
    assert (audited["intact"], audited["events"]) == (True, events)
    assert sample.gate("status", "--json", *task).code in (0, 10)
    assert sample.gate("check", *task).code in (0, 10)
    assert sample.gate("history", "--json", *task).code == 0

    words, code = GOES_ON[state.name]
    ran = sample.pytest_process(*words[1:]) if words[0] == "pytest" else sample.gate(*words, *task)
    assert ran.code == code, ran.out + ran.err
    audited = sample.gate("audit", "--json", *task).document
    assert audited["intact"] is True
    assert audited["events"] > events


@pytest.mark.parametrize("state", states(), ids=name)
def test_an_old_ledger_folds_to_what_it_vouches_for(state: Path, tmp_path: Path) -> None:
    for folder in tasks(state):
        copy = tmp_path / folder.name
        shutil.copytree(folder, copy)
        opened = TaskStore(copy, task="default" if folder.name == "state" else folder.name).look()
        assert opened.exists
        stored = json.loads((copy / "state.json").read_text(encoding="utf-8"))
        last = json.loads((copy / "ledger.jsonl").read_bytes().splitlines()[-1])
        if stored["schema"] == SCHEMA:
            assert digest(state_to_json(opened.state)) == last["state"]
        assert opened.serial == last["seq"]


def test_a_green_task_that_was_kept_is_still_green(sample: Sample) -> None:
    for version in versions():
        shutil.rmtree(sample.root / ".phase-gate", ignore_errors=True)
        restore(GOLDEN / version / "state-green", sample.root)
        assert sample.gate("check").code == 0
    # What vouches for it is the tree: another one closes the gate.
    sample.write(calc=CALC.replace("a - b", "a-b"))
    assert sample.gate("check").code == 10


# --- nothing of a machine


def texts(folder: Path) -> list[str]:
    plain = [path.read_text(encoding="utf-8") for path in folder.rglob("*.json*")]
    return plain + [zlib.decompress(path.read_bytes()).decode() for path in folder.rglob("*.z")]


@pytest.mark.parametrize("version", versions())
def test_no_golden_file_says_where_it_was_made(version: str) -> None:
    found = texts(GOLDEN / version)
    assert found
    host, user = platform.node(), getpass.getuser()
    for text in found:
        assert not re.search(r'"(?:/|[A-Z]:\\)[\w.-]+[/\\]', text), "an absolute path"
        assert not re.search(rf'"(?:{re.escape(host)}|{re.escape(user)})"', text) or user == "dev"
        assert not re.search(r'"20\d\d-\d\d-\d\dT(?!00:\d\d:\d\d\.000Z)', text), "a time"
        assert not re.search(r"\d+\.\d+\.\d+-\w+", text), "a kernel"


def test_what_says_where_is_taken_out_and_the_chain_holds(sample: Sample) -> None:
    sample.write({"pytest.ini": "[pytest]\n", "test_calc.py": FAILING_TESTS})
    assert sample.pytest("--phase=red").code == 0
    target = sample.root.parent / "neutral"
    for _ in range(2):  # the same bytes each time
        before = texts(target)
        shutil.rmtree(target, ignore_errors=True)
        Neutral(sample.root / ".phase-gate", sample.root).write(target)
        assert before in ([], texts(target))
    assert str(sample.root) in (sample.root / ".phase-gate" / "ledger.jsonl").read_text("utf-8")
    assert not [text for text in texts(target) if str(sample.root) in text]
    shutil.rmtree(sample.root / ".phase-gate")
    shutil.copytree(target, sample.root / ".phase-gate")
    assert sample.gate("audit", "--json", XDG_STATE_HOME=str(target.parent / "other")).document["intact"] is True


def test_what_was_released_is_never_written_anew(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["tests.golden", versions()[0]])
    assert script.main() == 1
    assert "never written anew" in capsys.readouterr().out


# --- documents


@pytest.mark.usefixtures("with_proof")
@pytest.mark.parametrize("story", STORIES)
def test_every_document_keeps_its_fields(story: str, sample: Sample) -> None:
    now = {each: shape_of(documents) for each, documents in tell(story, sample).items()}
    for version in versions():
        released = json.loads((GOLDEN / version / "documents.json").read_text(encoding="utf-8"))[story]
        assert set(released) <= set(now), version
        broken = {each: find_broken(shape, now[each]) for each, shape in released.items()}
        assert {each: problems for each, problems in broken.items() if problems} == {}, (
            f"readers of {version} lose these"
        )


@pytest.mark.parametrize(
    ("released", "now", "broken"),
    [
        pytest.param({"a": 1}, {"a": 2, "b": ""}, [], id="a-field-may-be-added"),
        pytest.param({"a": 1, "b": ""}, {"a": 1}, ["$.b is gone"], id="none-may-go"),
        pytest.param({"a": 1}, {"a": "1"}, ["$.a was number, and is text"], id="none-may-change-its-type"),
        pytest.param({"a": [{"b": 1}]}, {"a": [{"c": 1}]}, ["$.a[].b is gone"], id="in-a-list"),
        pytest.param({"a": None}, {"a": "now"}, [], id="what-was-empty-may-be-filled"),
        pytest.param({"a": "so"}, {"a": None}, ["$.a was text, and is null"], id="what-was-there-may-not-be-emptied"),
        pytest.param({"a": 1}, {"a": 1.5}, [], id="numbers-are-numbers"),
    ],
)
def test_what_breaks_a_reader(released: object, now: object, broken: list[str]) -> None:
    before: Shape = shape_of([released])
    assert find_broken(before, shape_of([now])) == broken
