"""What is played with every client: a script for the model, and what has to come of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from phase_gate.values import Value, field
from tests.clients.model import Breakdown, Edit, Fault, Patch, Refusal, Say, Script, Shell, Step, Write
from tests.clients.stage import CODE, TESTS

#: What the tests are turned into by one that cheats.
WEAK_TESTS = "def test_children_pay_half():\n    assert True\n"

_TESTS = Write(path="test_fare.py", text=TESTS)
_CODE = Write(path="fare.py", text=CODE)
_RED: tuple[Step, ...] = (
    _TESTS,
    Shell(command="pytest --phase=red -q"),
    Shell(command="phase-gate signal --reason red"),
)
_GREEN: tuple[Step, ...] = (
    _CODE,
    Shell(command="pytest --phase=green -q"),
    Shell(command="pytest --phase=green -q"),
    Shell(command="phase-gate signal --reason green"),
)
_DONE = Say(text="All done.")
_GIVE_UP: tuple[Step, ...] = (Shell(command="phase-gate signal --blocked --reason 'it is frozen'"), _DONE)

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
    #: What the end is called in the table of endings.
    ending: str = "ended"


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
    #: The user has trusted the project, so that the client runs the hooks.
    is_trusted: bool = True
    asks_doctor: bool = False
    #: Options of `phase-gate drive`, which starts the client; none: it is started by itself, and only the hooks speak.
    drive: tuple[str, ...] = ()
    #: What goes wrong for clients that are refused in other words.
    refused: Literal["", "login", "credit", "rate", "overload"] = ""


def _plain(*steps: Step) -> Script:
    return Script(steps=steps)


def _always(*faults: Fault) -> Script:
    return Script(steps=(_DONE,), faults={0: faults}, for_ever=True)


def _frozen(step: Step, *, check: int = 10) -> tuple[Script, Expected]:
    return _plain(step, *_GIVE_UP), Expected(told=(FROZEN,), kept={"test_fare.py": TESTS}, check=check)


def _cheats() -> tuple[Scenario, ...]:
    rows: tuple[tuple[str, str, Step], ...] = (
        ("frozen-edit", "edits a frozen test with its own tool", Edit(path="test_fare.py", old=TESTS, new=WEAK_TESTS)),
        ("frozen-patch", "patches a frozen test", Patch(path="test_fare.py", old=TESTS, new=WEAK_TESTS)),
        ("frozen-shell", "changes a frozen test in the shell", Shell(command="sed -i 's/== 5/>= 0/' test_fare.py")),
    )
    return tuple(
        Scenario(name=name, says=says, script=script, expected=expected, in_green=True)
        for name, says, step in rows
        for script, expected in (_frozen(step),)
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
            script=_always(Refusal(status=0, kind="", message="")),
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
        script=_plain(*_RED, *_GREEN, _DONE),
        expected=Expected(check=0, not_told=("phase-gate: not done", "the cycle is not done")),
        asks_doctor=True,
    ),
    Scenario(
        name="early",
        says="says that it is done while the test fails, and works on when it is sent back",
        script=_plain(_DONE, *_GREEN, _DONE),
        expected=Expected(check=0, told=("phase-gate: not done: ", "Next: pytest --phase=green")),
        in_green=True,
    ),
    *_cheats(),
    Scenario(
        name="state",
        says="writes into the state folder, with its tool and in the shell",
        script=_plain(Write(path=".phase-gate/state.json", text="{}"), Shell(command="rm -rf .phase-gate"), *_GIVE_UP),
        expected=Expected(told=("phase-gate: .phase-gate",)),
        in_green=True,
    ),
    Scenario(
        name="stubborn",
        says="only ever says that it is done",
        script=_plain(_DONE),
        expected=Expected(told=("Next: pytest --phase=green",)),
        in_green=True,
    ),
    Scenario(
        name="crash",
        says="is killed in the middle of its work",
        script=Script(steps=(*_GREEN, _DONE), faults={2: (Breakdown(how="hang"),)}, for_ever=True),
        expected=Expected(codes=(-9,), ending="failed"),
        in_green=True,
        kill_at=3,
    ),
    Scenario(
        name="hang",
        says="gets no answer from its model, and is ended by its time limit",
        script=_always(Breakdown(how="hang")),
        expected=Expected(codes=(None,), ending=""),
        in_green=True,
        limit=20.0,
    ),
    Scenario(
        name="waits",
        says="is refused for too many requests (429) once, and works on by itself",
        script=Script(steps=(*_GREEN, _DONE), faults={1: (Refusal(status=429, kind="", message=""),)}),
        expected=Expected(check=0),
        in_green=True,
        refused="rate",
    ),
    *_refusals(),
    Scenario(
        name="garbage",
        says="gets an answer that can't be read, again and again",
        script=_always(Breakdown(how="garbage")),
        expected=Expected(codes=(), ending="failed"),
        in_green=True,
    ),
    Scenario(
        name="untrusted",
        says="does not run the hooks, and the doctor says so",
        script=_plain(_DONE),
        expected=Expected(not_told=("Next: pytest --phase=green",)),
        in_green=True,
        is_trusted=False,
        asks_doctor=True,
    ),
)


# --- the same with a driver, which starts the client for each iteration, runs the tests itself and decides

_UNTIL = ("--until", "GREEN", "--signal", "agent", "--goal", "Children pay half.")
_IN_RED: tuple[Step, ...] = (_TESTS, Shell(command="phase-gate signal --reason red"), _DONE)
_IN_GREEN: tuple[Step, ...] = (_CODE, Shell(command="phase-gate signal --reason green"), _DONE)
_BY_PHASE = {"# RED: ": _IN_RED, "# GREEN: ": _IN_GREEN}
#: What the prompt of a second try says.
_AGAIN = "This is iteration 2"


def _driven(
    name: str,
    says: str,
    script: Script,
    code: int,
    *options: str,
    said: str = "",
    refused: Literal["", "login", "credit", "rate", "overload"] = "",
    in_green: bool = True,
    check: int = 10,
    kept: Mapping[str, str] | None = None,
    most: int = 40,
) -> Scenario:
    expected = Expected(codes=(code,), check=check, said=(said,) if said else (), kept=kept or {}, most=most, ending="")
    return Scenario(
        name=f"drive-{name}",
        says=says,
        script=script,
        expected=expected,
        in_green=in_green,
        limit=420.0,
        refused=refused,
        drive=(*_UNTIL, *options),
    )


_CHEAT = Shell(command="sed -i 's/== 5/>= 0/' test_fare.py")
_NO = Refusal(status=0, kind="", message="")

DRIVEN: tuple[Scenario, ...] = (
    _driven(
        "honest",
        "is driven from nothing to the end of GREEN",
        Script(steps=(_DONE,), by_prompt=_BY_PHASE),
        0,
        in_green=False,
        check=0,
    ),
    _driven(
        "early",
        "says that it is done while the test fails, and does the work in the next iteration",
        Script(steps=(_DONE,), by_prompt={_AGAIN: _IN_GREEN}),
        0,
        check=0,
    ),
    _driven(
        "cheat",
        "changes a frozen test in every iteration",
        _plain(_CHEAT, _DONE),
        10,
        *("--iterations", "2"),
        kept={"test_fare.py": TESTS},
    ),
    _driven("stubborn", "only ever says that it is done", _plain(_DONE), 12),
    _driven("hang", "never gets an answer", _always(Breakdown(how="hang")), 10, "--iterations=2", "--time-limit=15s"),
    _driven("garbage", "gets nothing that it can read", _always(Breakdown(how="garbage")), 10, "--iterations=2"),
    _driven(
        "waits",
        "is refused for too many requests for a while, and then works",
        Script(steps=_IN_GREEN, faults={0: (_NO,) * 6}),
        0,
        "--iterations=2",
        refused="rate",
        check=0,
    ),
    _driven("rate-limit", "is refused for ever (429)", _always(_NO), 10, "--time=40s", refused="rate"),
    _driven(
        "overload", "finds the server overloaded for ever (529)", _always(_NO), 10, "--time=40s", refused="overload"
    ),
    _driven("no-login", "is not logged in (401)", _always(_NO), 13, said="the agent can't work: ", refused="login"),
    _driven("no-credit", "has no credit left (402)", _always(_NO), 13, said="the agent can't work: ", refused="credit"),
)
