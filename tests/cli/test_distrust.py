"""A state that can't be trusted, and every command: each of them refuses it, names what is wrong, and writes nothing.

The commands are those of the command table, so that a new one can't be forgotten.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.calls import CALLS, STATELESS, typed
from tests.cli.conftest import Begin, CommandProject
from tests.cli.terminals import at_terminal
from tests.storage.stores import begin as begin_task
from tests.storage.stores import declare, open_store, sign

WHY = ("--reason", "it was lost", "--by", "dev")

#: Has tests of its own: shards in tests/e2e, tasks in tests/tasks, shared stores in tests/stores.
ELSEWHERE = STATELESS | {"ci combine", *(name for name in CALLS if name.startswith(("store ", "verify ")))}
ROWS = (*typed(CALLS, but=ELSEWHERE), ("audit", "--repair"))


@pytest.fixture
def gated(begin: Begin, unasked: None) -> CommandProject:
    return begin("green")


def ask(gated: CommandProject, words: tuple[str, ...]) -> tuple[int, Any]:
    """Return what a command ends with, and its document."""
    event = '{"tool_name": "Write", "tool_input": {"file_path": "test_calc.py", "content": ""}}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(event.encode())))
        ran = gated.gate(*words, "--json")
    return ran.code, ran.document


def refusal(words: tuple[str, ...], document: Any) -> str:
    """Return what the answer says is wrong: its slug, or the sentence where it has none."""
    match words[0]:
        case "hook":
            return f"{document['verdict']}: {document['reason']}"
        case "doctor":
            return str(next(look["says"] for look in document["looks"] if look["what"] == "ledger"))
        case "report":
            return str(document["problem"])
        case "audit" if "problem" in document:
            return str(document["problem"]["slug"])
        case _:
            return str(document["error"]["slug"])


#: Commands that end otherwise than with 11, as agents and people expect of them.
CODES = {"doctor": 1, "hook": 0}


def assert_refused_everywhere(gated: CommandProject, slug: str, problem: str) -> None:
    before = gated.files()
    for words in ROWS:
        code, document = ask(gated, words)
        said = refusal(words, document)
        assert code == CODES.get(words[0], 11), (words, document)
        assert said == slug or problem in said, (words, said)
        assert words[0] != "hook" or not said.startswith("allow"), said
        assert gated.files() == before, words


def leave_key_out(gated: CommandProject) -> None:
    sign(gated.folder, b"kept elsewhere")


def set_key(gated: CommandProject) -> None:
    gated.project.environment.setenv("PHASE_GATE_KEY", "kept elsewhere")


def use_another_key(gated: CommandProject) -> None:
    leave_key_out(gated)
    gated.project.environment.setenv("PHASE_GATE_KEY", "another")


def put_in(gated: CommandProject, task: str) -> None:
    """Put the files of another task, or of another clone, in the place of those that were seen here."""
    declare(gated.store(), "seen")
    other = begin_task(open_store(gated.root.with_name(f"{gated.root.name}-clone") / ".phase-gate", task=task))
    for name in ("ledger.jsonl", "state.json"):
        shutil.copy2(other.folder / name, gated.folder / name)


def put_in_task(gated: CommandProject) -> None:
    put_in(gated, "t2")


def put_in_clone(gated: CommandProject) -> None:
    put_in(gated, "default")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("happens", "slug", "problem"),
    [
        pytest.param(put_in_task, "state-foreign", "belongs to task t2", id="the-files-of-another-task"),
        pytest.param(put_in_clone, "state-foreign", "another ledger than the one", id="the-files-of-another-clone"),
        pytest.param(set_key, "state-key", "made without a key", id="the-key-is-set-and-the-ledger-has-none"),
        pytest.param(leave_key_out, "state-key", "which is not set", id="the-ledger-has-a-key-and-it-is-left-out"),
        pytest.param(use_another_key, "state-key", "is not the key", id="the-ledger-has-another-key"),
    ],
)
def test_no_command_takes_it(
    gated: CommandProject, happens: Callable[[CommandProject], None], slug: str, problem: str
) -> None:
    happens(gated)
    assert_refused_everywhere(gated, slug, problem)


def test_twin_with_its_key_every_command_answers_as_without_any(
    gated: CommandProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = gated.root.with_name("plain")
    shutil.copytree(gated.folder, plain)
    answers: list[list[tuple[tuple[str, ...], int]]] = []
    for key in ("", "kept elsewhere"):
        if key:
            shutil.rmtree(gated.folder)
            shutil.copytree(plain, gated.folder)
            sign(gated.folder, key.encode())
            monkeypatch.setenv("PHASE_GATE_KEY", key)
            monkeypatch.setenv("XDG_STATE_HOME", str(plain))
        gated.project.run("--phase=green")
        gated.project.run("--phase=green")
        answers.append([(words, ask(gated, words)[0]) for words in ROWS])
    assert answers[0] == answers[1]
    assert 11 not in [code for _, code in answers[0]]


# --- the way over


def test_a_person_accepts_another_ledger(gated: CommandProject) -> None:
    put_in_clone(gated)
    assert gated.error("audit", "--accept-rollback", *WHY)[:2] == (13, "not-allowed"), "no script"
    ran = at_terminal(gated, "audit", "--accept-rollback", *WHY)
    assert ran.code == 0, ran
    assert gated.gate("audit").code == 0
    assert gated.json("status")["phase"] == "RED"
