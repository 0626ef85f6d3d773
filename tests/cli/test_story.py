"""`phase-gate history`, `report`, `audit`: the runs of a task, its story, and whether its ledger is intact."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.conftest import Begin, CommandProject
from tests.storage.stores import overwrite, vouch_for_ledger

# --- history


def test_every_run_oldest_first(begin: Begin) -> None:
    gated = begin("refactor")
    gated.project.run("--phase=refactor", "-k", "add")
    document = gated.json("history")
    assert (document["task"], document["root"]) == ("default", str(gated.root))
    runs = document["runs"]
    assert [(run["phase"], run["iteration"], run["kind"], run["exit_status"]) for run in runs] == [
        ("RED", 1, "complete", 1),
        ("GREEN", 1, "complete", 0),
        ("GREEN", 2, "complete", 0),
        ("REFACTOR", 1, "complete", 0),
        ("REFACTOR", None, "partial", 0),
    ]
    assert [run["counts"] for run in runs][:2] == [{"failed": 2}, {"passed": 2}]
    assert [run["at"] for run in runs] == sorted(run["at"] for run in runs)
    assert len({run["id"] for run in runs}) == 5
    assert {run["task"] for run in runs} == {"default"}
    assert "--phase=refactor" in runs[-1]["arguments"]
    title, red, green, *_ = gated.gate("history").out.splitlines()
    assert title.split() == ["began", "phase", "iteration", "kind", "tests"]
    assert red.split()[1:] == ["RED", "1", "complete", "2", "failed"]
    assert green.split()[1:] == ["GREEN", "1", "complete", "2", "passed"]


def test_open_and_lost_runs_are_there_too(begin: Begin) -> None:
    gated = begin("green")
    with gated.open_run():
        last = gated.json("history")["runs"][-1]
        assert (last["kind"], last["exit_status"], last["ended_at"]) == ("open", None, None)
    assert gated.json("history")["runs"][-1]["kind"] == "lost"
    gated.project.run("--phase=green")
    assert [run["kind"] for run in gated.json("history")["runs"]][-2:] == ["lost", "complete"]


def test_every_event(begin: Begin) -> None:
    gated = begin("red-exited")
    events = gated.json("history", "--events")["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["kind"] for event in events] == [
        *("created", "cycle-began", "phase-entered", "run-started"),
        *("run-ended", "evaluated"),
        *("evaluated", "signal-spent", "phase-exited"),
    ]
    assert events[-2]["reason"] == "both fail"
    assert len(gated.gate("history", "--events").out.splitlines()) == len(events)


def test_before_anything_was_run(begin: Begin) -> None:
    gated = begin("")
    assert gated.json("history")["runs"] == []
    assert gated.json("history", "--events") == {"events": []}
    assert gated.gate("history").out == "no run is recorded yet\n  next: pytest --phase=red\n"
    assert gated.gate("history", "--events").out == "nothing has happened yet\n"
    assert gated.gate("report").has("\n### Ledger\n\nNothing is recorded yet.\n")
    assert not gated.folder.exists()


# --- report


def test_a_page(begin: Begin) -> None:
    gated = begin("refactor")
    before = gated.files()
    ran = gated.gate("report", "-o", "out/report.html")
    assert ran.code == 0
    assert ran.out == "out/report.html: 4 runs, 23 events\n"
    text = (gated.root / "out" / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "REFACTOR is in progress" in text
    assert "both pass, twice" in text
    assert "test_add" in text.replace("<wbr/>", "")
    # It only looks: but for the file, and the cache of the tree, nothing is written.
    changed = {name for name, data in gated.files().items() if before.get(name) != data}
    assert {name for name in changed if "cache" not in name} == {"out/report.html"}


def test_a_page_among_the_sources_says_that_it_closes_the_gate(begin: Begin) -> None:
    gated = begin("green-once")
    gated.project.commit_all()
    gated.project.run("--phase=green", "-q")
    closed = "files have changed since the last run (report.html)"
    beside = "phase-gate report -o .phase-gate/report.html"
    ran = gated.gate("report", "-o", "report.html")
    assert ran.has("note: report.html counts as a changed file and closes the gate; remove it, then", f"try: {beside}")
    assert closed in gated.gate("check").out
    (gated.root / "report.html").unlink()
    assert "note" not in gated.gate(*beside.split()[1:]).out
    assert "files have changed" not in gated.gate("check").out
    # A document does not count.
    assert "note" not in gated.gate("report", "-o", "report.md").out


def test_markdown_to_the_terminal_and_to_a_file(begin: Begin) -> None:
    gated = begin("green")
    printed = gated.gate("report")
    assert printed.code == 0
    assert printed.out.startswith("## Phase gate: GREEN waits for the signal\n")
    assert gated.gate("report", "--output", "report.md").code == 0
    assert (gated.root / "report.md").read_text(encoding="utf-8") == printed.out


def test_a_file_that_can_not_be_written(begin: Begin) -> None:
    gated = begin("green")
    problem = "--output=report.pdf: the suffix selects the format, and .pdf is unknown"
    assert gated.error("report", "-o", "report.pdf") == (2, "bad-usage", problem)
    (gated.root / "taken").write_text("", encoding="utf-8")
    assert gated.error("report", "-o", "taken/report.html")[:2] == (11, "state-storage")
    assert "the run is recorded" not in gated.gate("report", "-o", "taken/report.html").err, "there was none"


def test_a_record_that_can_not_be_trusted_is_told_as_far_as_it_goes(begin: Begin) -> None:
    gated = begin("green")
    path = gated.folder / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[12] = lines[12].replace(b'"at":"2', b'"at":"3')
    path.write_bytes(b"".join(lines))
    ran = gated.gate("report", "-o", "report.html")
    assert ran.code == 11
    assert ran.has("not trusted: ledger.jsonl:13: its hash is wrong", "audit --repair")
    text = (gated.root / "report.html").read_text(encoding="utf-8")
    assert "This record can&#39;t be trusted" in text
    assert "12 events are good" in text


def test_a_lost_object_is_damage(begin: Begin) -> None:
    gated = begin("green")
    for path in (gated.folder / "objects").glob("*.z"):
        path.unlink()
    ran = gated.gate("report")
    assert ran.code == 11
    assert ran.has("is gone", "can't be trusted")


def test_a_run_writes_the_page(begin: Begin) -> None:
    gated = begin("green-once")
    ran = gated.project.run("--phase=green", "--phase-report=now.html", "--phase-report=now.json")
    assert ran.code == 0
    text = (gated.root / "now.html").read_text(encoding="utf-8")
    assert "GREEN waits for the signal" in text
    assert json.loads((gated.root / "now.json").read_text(encoding="utf-8"))["iteration"] == 2
    # The page of that very moment: with this run, and nobody else in the way.
    assert "a run is in progress" not in text


def test_a_page_needs_its_extra(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = begin("green-once")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    problem = "--output=report.html: an HTML report needs Jinja2, which is not installed"
    assert gated.error("report", "-o", "report.html") == (2, "bad-usage", problem)
    assert gated.gate("report", "-o", "report.md").code == 0
    (gated.root / "conftest.py").write_text("import sys\nsys.modules['jinja2'] = None\n", encoding="utf-8")
    ran = gated.project.run("--phase=green", "--phase-report=now.html")
    assert ran.code == 4
    assert ran.has("pip install 'pytest-phase-gate[report]'")
    assert "passed" not in ran.out


# --- audit: who may accept a rollback is in tests/storage/test_opening.py, with a real terminal


def damage_first_run(gated: CommandProject) -> None:
    """Let the first failing run look as if it had passed."""
    overwrite(gated.folder / "ledger.jsonl", b'"tests_failing":2', b'"tests_failing":0')


def test_an_intact_ledger(begin: Begin) -> None:
    gated = begin("red-exited")
    whole = {"task": "default", "root": str(gated.root), "events": 9, "intact": True, "problem": None}
    assert gated.json("audit") == whole
    assert gated.gate("audit").out == "intact: 9 events\n"


def test_every_task_is_looked_at_where_none_is_named(begin: Begin) -> None:
    gated = begin("red-exited")
    gated.project.run("--phase=red", "--phase-task=other")
    assert gated.gate("audit").has("intact: 9 events", "\nother: intact: ")
    overwrite(gated.folder / "tasks" / "other" / "ledger.jsonl", b'"tests_failing":2', b'"tests_failing":0')
    ran = gated.gate("audit")
    assert (ran.code, ran.err.startswith("other: ")) == (11, True)
    assert gated.gate("audit", "--task", "default").code == 0


def test_damage_is_named_with_its_line_and_a_repair_keeps_a_copy(begin: Begin) -> None:
    gated = begin("green")
    damage_first_run(gated)
    before = gated.files()
    ran = gated.gate("audit", "--json")
    assert ran.code == 11
    assert (ran.document["events"], ran.document["intact"]) == (4, False)
    assert ran.document["problem"]["slug"] == "state-tampered"
    assert ran.document["problem"]["problem"] == "ledger.jsonl:5: its hash is wrong"
    assert gated.gate("audit").err.startswith(
        "4 events are good; then: ledger.jsonl:5: its hash is wrong [state-tampered]"
    )
    assert gated.files() == before
    damaged = (gated.folder / "ledger.jsonl").read_bytes()
    ran = gated.gate("audit", "--repair")
    assert ran.code == 0
    assert ran.has("repaired: 4 lines kept, ", "copy: ledger.damaged-1", "the streak and the last verdict start over")
    assert (gated.folder / "ledger.damaged-1").read_bytes() == damaged
    assert gated.gate("audit").code == 0
    assert (gated.json("status")["phase"], gated.json("status")["streak"]) == ("RED", 0)
    assert gated.gate("check").code == 10
    (gated.root / "calc.py").unlink()
    assert gated.project.run("--phase=red").code == 0


@pytest.mark.parametrize("damage", ["objects", "a line of a longer transaction", "all but the first line"])
def test_the_look_says_what_a_repair_keeps(begin: Begin, damage: str) -> None:
    gated = begin("green")
    path = gated.folder / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    if damage == "objects":
        for each in (gated.folder / "objects").glob("*.z"):
            each.unlink()
        good, kept = f"{len(lines)} events are", 0
    elif damage == "all but the first line":
        path.write_bytes(b"".join([lines[0], *lines[2:]]))
        good, kept = "1 event is", 0
    else:
        goes_on = [json.loads(line).get("more", False) for line in lines]
        kept = goes_on.index(True, 6)
        while goes_on[kept - 1]:
            kept -= 1
        path.write_bytes(b"".join([*lines[: kept + 1], *lines[kept + 2 :]]))
        good = f"{kept + 1} events are"
    assert gated.gate("audit").err.startswith(f"{good} good (--repair keeps {kept} lines); then: ")
    assert gated.gate("audit", "--repair").out.startswith(f"repaired: {kept} lines kept, ")


def test_after_a_repair_no_run_is_blamed(begin: Begin) -> None:
    gated = begin("green")
    with (gated.folder / "ledger.jsonl").open("ab") as file:
        file.write(b"{}\n")
    assert gated.gate("audit", "--repair").code == 0
    reason = "the record was repaired or restored after the last verdict, so its runs do not count any more"
    assert gated.json("check")["reason"] == reason
    assert gated.gate("check").has("next: pytest --phase=auto")
    ran = gated.project.run("--phase=refactor")
    assert ran.has("the record was repaired or restored after its last verdict")
    gated.project.run("--phase=green", "-k", "test_add")
    assert gated.json("check")["reason"].startswith("a run came after the last verdict (partial)")


def test_it_finds_what_opening_does_not_look_at(begin: Begin) -> None:
    gated = begin("green")
    damage_first_run(gated)
    vouch_for_ledger(gated.store())
    assert gated.gate("check", "--gate1").code == 0
    assert gated.gate("audit").code == 11


@pytest.mark.parametrize("damage", ["gone", "another"])
def test_the_evidence_that_the_state_names_is_verified_too(begin: Begin, damage: str) -> None:
    gated = begin("green")
    path = gated.folder / "objects" / f"{gated.store().read().state.known_tests}.z"
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"another")
    ran = gated.gate("audit", "--json")
    assert (ran.code, ran.document["intact"], ran.document["problem"]["slug"]) == (11, False, "state-tampered")
    assert ran.document["problem"]["problem"].startswith("objects/")
    assert gated.gate("audit", "--repair").code == 0
    assert gated.gate("audit").code == 0
    assert gated.project.run("--phase=red").code == 10, "its tests pass, but it can be run again"


@pytest.mark.parametrize("story", ["", "green"], ids=["no-task-yet", "an-intact-one"])
@pytest.mark.parametrize(
    ("option", "problem"), [("--repair", "nothing is damaged"), ("--accept-rollback", "nothing was rolled back")]
)
def test_what_is_whole_is_left_alone(begin: Begin, story: str, option: str, problem: str) -> None:
    gated = begin(story)
    assert gated.error("audit", option, "--reason", "why not", "--by", "dev") == (13, "not-allowed", problem)
