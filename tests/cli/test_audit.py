"""`phase-gate audit`: every line is verified; a damaged ledger is repaired, with a copy kept.

Who may accept a rollback is in tests/storage/test_rollback_guard.py, with a real terminal.
"""

from __future__ import annotations

import pytest

from tests.cli.conftest import Begin, CommandProject
from tests.storage.stores import overwrite, vouch_for_ledger


def damage_first_run(gated: CommandProject) -> None:
    """Let the first failing run look as if it had passed."""
    overwrite(gated.folder / "ledger.jsonl", b'"tests_failing":2', b'"tests_failing":0')


def test_an_intact_ledger(begin: Begin) -> None:
    gated = begin("red-exited")
    document = gated.json("audit")
    assert document == {
        "task": "default",
        "root": str(gated.root),
        "events": 9,
        "intact": True,
        "problem": None,
    }
    assert gated.gate("audit").out == "intact: 9 events\n"


def test_every_task_is_looked_at_where_none_is_named(begin: Begin) -> None:
    gated = begin("red-exited")
    gated.project.run("--phase=red", "--phase-task=other")
    assert gated.gate("audit").has("intact: 9 events", "\nother: intact: ")
    overwrite(gated.folder / "tasks" / "other" / "ledger.jsonl", b'"tests_failing":2', b'"tests_failing":0')
    ran = gated.gate("audit")
    assert (ran.code, ran.err.startswith("other: ")) == (11, True)
    assert gated.gate("audit", "--task", "default").code == 0


def test_damage_is_named_with_its_line_and_nothing_changed(begin: Begin) -> None:
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


def test_repair_keeps_a_copy_and_the_task_goes_on(begin: Begin) -> None:
    gated = begin("green")
    damage_first_run(gated)
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


@pytest.mark.parametrize("story", ["", "green"], ids=["no-task-yet", "an-intact-one"])
@pytest.mark.parametrize(
    ("option", "problem"), [("--repair", "nothing is damaged"), ("--accept-rollback", "nothing was rolled back")]
)
def test_what_is_whole_is_left_alone(begin: Begin, story: str, option: str, problem: str) -> None:
    gated = begin(story)
    assert gated.error("audit", option, "--reason", "why not", "--by", "dev") == (13, "not-allowed", problem)
