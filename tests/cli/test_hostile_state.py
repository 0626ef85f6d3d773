"""A state folder that came with a repository: whatever stands in it, every command prints it as text and nothing else.

The hashes are right: whoever writes the file can compute them. Beside each hostile folder stands what it was made from.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phase_gate.gate.overrides import override_record
from phase_gate.gate.state import Event
from phase_gate.visible import find_unseen, show_text
from tests.cli.calls import ACTS, CALLS, STATELESS, typed
from tests.cli.conftest import Begin, CommandProject
from tests.cli.hostile_state import FORGED, HOSTILE, Poison, poison_folder
from tests.storage.stores import contents
from tests.support import Project, Result
from tests.tasks.pipelines import Pipe
from tests.tasks.verifying import TASK, Gate

#: Whoever reads a ledger has to understand these.
UNDERSTOOD = (
    *(".run", ".green", ".kind", ".tier", ".change", ".status", ".answer", ".id", ".type"),
    *(".verdict", ".vote", ".how", ".mark", "at"),
)
#: Fields that hold somebody's words.
WORDS = frozenset(
    {
        *("by", "reason", "detail", "why", "text", "note", "notes", "warnings", "remedy", "purpose", "rationale"),
        *("shown", "problem", "file", "title", "summary", "error", "changed", "narrowed_by", "host", "arguments"),
        *("run_note", "remaining_work", "evidence", "feedback", "action", "done", "concerns", "findings", "message"),
        *("recommendation", "output", "flags", "root_cause", "name", "id", "EXIT_REASON", "(targets)", "left_out", "*"),
    }
)


def everything(place: str, text: str) -> str:
    # A verdict is read by its annotations: beside words it has only what it understands.
    is_typed = place.startswith("evaluated.") and place.rpartition(".")[2] not in WORDS
    return text if is_typed or place.endswith(UNDERSTOOD) else text + HOSTILE


def words(place: str, text: str) -> str:
    """What leaves the rules and the course of the task as they were: all commands get further."""
    key = place.rpartition(".")[2]
    named = key in ("name", "id") and not place.startswith("evaluated.")
    return text + HOSTILE if key in WORDS and not named and not place.endswith("gate_1.guards.name") else text


#: They read no ledger, or begin one, or want a verify task.
NOT_ASKED = STATELESS | {"baseline", "doctor", "claim"}
NOT_ASKED |= {name for name in ACTS if name.startswith(("store", "verify"))}
ASKED = (*typed(CALLS, but=NOT_ASKED), ("claim", "claim.txt"))


@pytest.fixture(autouse=True)
def nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """This user has never seen the folder."""
    monkeypatch.setenv("CI", "1")


# --- stories


def _tdd(begin: Begin) -> CommandProject:
    gated = begin("declared")
    (gated.root / "claim.txt").write_text("EXIT_STATUS: COMPLETE\nEXIT_REASON: all done\n", encoding="utf-8")
    assert gated.gate("claim", "claim.txt").code in (10, 13)
    assert gated.gate("signal", "--not-done", "--reason", "one thing is left").code == 10
    with gated.store().transaction() as change:
        forced = override_record("force", change.state, reason="the vendor is down", by="dora", at=change.at)
        waived = {"guard": "tests-unchanged", "findings": ["x"], "reason": "known", "by": "bob", "expires": ""}
        change.record(Event(kind="overridden", data=forced), Event(kind="waived", data=waived))
    return gated


def _stuck(begin: Begin) -> CommandProject:
    gated = begin("stuck-5")
    (gated.root / "claim.txt").write_text("all tasks are completed\n", encoding="utf-8")
    return gated


def _folder(root: Path) -> Path:
    tasks = root / ".phase-gate" / "tasks"
    return next(tasks.iterdir()) if tasks.exists() else root / ".phase-gate"


def is_clean(out: str) -> Iterator[str]:
    """Yield what is wrong with an output."""
    for row in out.split("\n"):
        if find_unseen(row, but="\t"):
            yield f"hides something: {row[:200]!a}"
        elif show_text(row) != row:
            yield f"gives an order: {row[:200]!a}"
        elif row.startswith(FORGED):
            yield f"passes for a row of ours: {row[:200]!a}"


def ask_everything(call: Callable[..., Result], root: Path, more: tuple[str, ...], *, as_json: bool) -> int:
    """Ask all commands, each of the folder as it is; return in how many answers the hostile words stand."""
    kept = root.with_name(f"{root.name}-kept")
    shutil.copytree(root / ".phase-gate", kept)
    before, told = contents(kept), 0
    for asked in ASKED:
        ran = call(*asked, *more, *(("--json",) if as_json else ()))
        out = ran.out + ran.err
        assert list(is_clean(out)) == [], asked
        assert "internal-fault" not in out, (asked, out[:2000])
        assert ran.code in (0, 2, 10, 11, 12, 13)
        told += FORGED in out
        if as_json:
            json.loads(out)
        if contents(root / ".phase-gate") != before:
            shutil.rmtree(root / ".phase-gate")
            shutil.copytree(kept, root / ".phase-gate")
    return told


POISONS = (words, everything)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("story", "poison", "as_json"), list(itertools.product((_tdd, _stuck), POISONS, (False, True)))
)
def test_a_task_of_the_cycle(
    begin: Begin, story: Callable[[Begin], CommandProject], poison: Poison, as_json: bool
) -> None:
    gated = story(begin)
    poison_folder(_folder(gated.root), poison)
    assert gated.gate("audit").out.startswith("intact: "), "it is as sound as any"

    assert ask_everything(gated.gate, gated.root, (), as_json=as_json) >= 10


@pytest.mark.sampled(2)
@pytest.mark.parametrize("poison", POISONS)
def test_a_task_of_the_verification_gate(project: Project, monkeypatch: pytest.MonkeyPatch, poison: Poison) -> None:
    gate = Gate(project, monkeypatch)
    gate.reviewing()
    gate.review(gate.verdict("REJECTED"))
    poison_folder(_folder(project.root), poison)

    assert ask_everything(gate.call, project.root, ("--task", TASK), as_json=False) >= 5


@pytest.mark.sampled(2)
@pytest.mark.parametrize("poison", POISONS)
def test_a_task_of_a_pipeline(project: Project, poison: Poison) -> None:
    pipe = Pipe(project).begin()
    assert pipe.gate("pipeline", "request", "new", "--type", "scope", "--title", "more", "--by", "ann").code == 0
    poison_folder(_folder(project.root), poison)

    assert ask_everything(pipe.gate, project.root, (), as_json=False) >= 5


def test_a_run_in_such_a_folder(begin: Begin) -> None:
    gated = _tdd(begin)
    poison_folder(_folder(gated.root), words)
    ran = gated.project.run("--phase=refactor", "--phase-report=verdict.md", "--phase-report=verdict.env")
    assert FORGED in ran.out
    assert list(is_clean(ran.out)) == []
    for name in ("verdict.md", "verdict.env"):
        text = (gated.root / name).read_text(encoding="utf-8")
        assert FORGED in text
        assert list(is_clean(text)) == []
