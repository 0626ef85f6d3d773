"""What is played with every client: a script for the model, and what has to come of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from phase_gate.values import Value, field
from tests.clients.model import Breakdown, Edit, Fault, Refusal, Say, Script, Shell, Step, Write
from tests.clients.stage import CODE, TESTS

#: What the tests are turned into by one that cheats.
WEAK_TESTS = "def test_children_pay_half():\n    assert True\n"

WRITE_TESTS = Write(path="test_fare.py", text=TESTS)
WRITE_CODE = Write(path="fare.py", text=CODE)
_RED: tuple[Step, ...] = (
    WRITE_TESTS,
    Shell(command="pytest --phase=red -q"),
    Shell(command="phase-gate signal --reason red"),
)
_GREEN: tuple[Step, ...] = (
    WRITE_CODE,
    Shell(command="pytest --phase=green -q"),
    Shell(command="pytest --phase=green -q"),
    Shell(command="phase-gate signal --reason green"),
)
DONE = Say(text="All done.")
GIVE_UP: tuple[Step, ...] = (Shell(command="phase-gate signal --blocked --reason 'it is frozen'"), DONE)

#: Only a refusal says so.
FROZEN = "a person goes back with: phase-gate rewind red"


class Expected(Value):
    #: What the client may end with; empty: anything but its time limit. None: it has to be ended.
    codes: tuple[int | None, ...] = (0,)
    #: What `phase-gate check` says afterwards.
    check: int = 10
    #: What the model has to be told.
    told: tuple[str, ...] = ()
    #: What it must not be told.
    not_told: tuple[str, ...] = ()
    #: Files that stay as they are, with their text.
    kept: Mapping[str, str] = field(default_factory=dict)
    #: What is printed.
    said: tuple[str, ...] = ()
    #: How often the model may be asked.
    most: int = 20
    #: What the end is called in the table of endings; empty: not looked at.
    ending: str = "ended"
    #: For a client that does not start in a folder that it does not trust: what it ends with, and what is printed.
    refused: tuple[int, str] | None = None


class Scenario(Value):
    name: str
    says: str
    script: Script
    expected: Expected
    #: GREEN has begun before the client starts: its test is frozen, and fails.
    in_green: bool = False
    #: Seconds that it may take.
    limit: float = 240.0
    #: Killed when the model has been asked so often.
    kill_at: int | None = None
    #: Not the driver is killed, but the client that it started.
    kills_client: bool = False
    #: The drive is taken up again after that.
    resumes: bool = False
    #: The user has trusted the project, so that the client runs the hooks.
    is_trusted: bool = True
    asks_doctor: bool = False
    #: Options of `phase-gate drive`, which starts the client; none: it is started by itself, and only the hooks speak.
    drive: tuple[str, ...] = ()
    #: What goes wrong for clients that are refused in other words.
    refused: Literal["", "login", "credit", "rate", "overload"] = ""


def plain(*steps: Step) -> Script:
    return Script(steps=steps)


def always(*faults: Fault) -> Script:
    return Script(steps=(DONE,), faults={0: faults}, for_ever=True)


#: The ways in which a frozen test is changed: name, what that is, how.
CHEATS: tuple[tuple[str, str, Step], ...] = (
    ("frozen-edit", "edits a frozen test with its own tool", Edit(path="test_fare.py", old=TESTS, new=WEAK_TESTS)),
    ("frozen-shell", "changes a frozen test in the shell", Shell(command="sed -i 's/== 5/>= 0/' test_fare.py")),
)
#: With its own tool, and in the shell.
INTO_STATE: tuple[Step, ...] = (
    Write(path=".phase-gate/state.json", text="{}"),
    Shell(command="rm -rf .phase-gate"),
)


def _cheats() -> tuple[Scenario, ...]:
    expected = Expected(told=(FROZEN,), kept={"test_fare.py": TESTS})
    return tuple(
        Scenario(name=name, says=says, script=plain(step, *GIVE_UP), expected=expected, in_green=True)
        for name, says, step in CHEATS
    )


def _refusals() -> tuple[Scenario, ...]:
    rows: tuple[tuple[str, str, Literal["login", "credit", "rate", "overload"], str], ...] = (
        ("no-login", "is not logged in (401)", "login", "no-login"),
        ("no-credit", "has no credit left (402)", "credit", "no-credit"),
        ("rate-limit", "is refused for too many requests (429), again and again", "rate", "busy"),
        ("overload", "finds the server overloaded (529), again and again", "overload", "busy"),
    )
    return tuple(
        Scenario(
            name=name,
            says=says,
            script=always(Refusal(status=0, kind="", message="")),
            expected=Expected(codes=(), ending=ending),
            in_green=True,
            refused=refused,
        )
        for name, says, refused, ending in rows
    )


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        name="honest",
        says="works through RED and GREEN",
        script=plain(*_RED, *_GREEN, DONE),
        expected=Expected(check=0, not_told=("phase-gate: not done", "the cycle is not done")),
        asks_doctor=True,
    ),
    Scenario(
        name="early",
        says="says that it is done while the test fails, and works on when it is sent back",
        script=plain(DONE, *_GREEN, DONE),
        expected=Expected(check=0, told=("phase-gate: not done: ", "Next: pytest --phase=green")),
        in_green=True,
    ),
    *_cheats(),
    Scenario(
        name="state",
        says="writes into the state folder, with its tool and in the shell",
        script=plain(*INTO_STATE, *GIVE_UP),
        expected=Expected(told=("phase-gate: .phase-gate",)),
        in_green=True,
    ),
    Scenario(
        name="stubborn",
        says="only ever says that it is done",
        script=plain(DONE),
        expected=Expected(told=("Next: pytest --phase=green",)),
        in_green=True,
    ),
    Scenario(
        name="crash",
        says="is killed in the middle of its work",
        script=Script(steps=(*_GREEN, DONE), faults={2: (Breakdown(how="hang"),)}, for_ever=True),
        expected=Expected(codes=(-9,), ending="failed"),
        in_green=True,
        kill_at=3,
    ),
    Scenario(
        name="hang",
        says="gets no answer from its model, and is ended by its time limit",
        script=always(Breakdown(how="hang")),
        expected=Expected(codes=(None,), ending=""),
        in_green=True,
        limit=20.0,
    ),
    Scenario(
        name="waits",
        says="is refused for too many requests (429) once, and works on by itself",
        script=Script(steps=(*_GREEN, DONE), faults={1: (Refusal(status=429, kind="", message=""),)}),
        expected=Expected(check=0),
        in_green=True,
        refused="rate",
    ),
    *_refusals(),
    Scenario(
        name="garbage",
        says="gets an answer that can't be read, again and again",
        script=always(Breakdown(how="garbage")),
        expected=Expected(codes=(), ending="failed"),
        in_green=True,
    ),
    Scenario(
        name="untrusted",
        says="does not run the hooks, and the doctor tells what to do",
        script=plain(DONE),
        expected=Expected(not_told=("Next: pytest --phase=green",)),
        in_green=True,
        is_trusted=False,
        asks_doctor=True,
    ),
)
