"""What is played with every client: a script for the model, and what has to come of it.

First by the hooks alone; then with a driver, which starts the client for each iteration, runs the tests and decides.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.values import Value, field
from tests.clients.model import Edit, Fault, Say, Script, Shell, Step, Write
from tests.clients.stage import CODE, TESTS

_WRITE_TESTS, _WRITE_CODE = Write(path="test_fare.py", text=TESTS), Write(path="fare.py", text=CODE)
_RUN_GREEN = Shell("pytest --phase=green -q")
_RED: tuple[Step, ...] = (_WRITE_TESTS, Shell("pytest --phase=red -q"), Shell("phase-gate signal --reason red"))
_GREEN: tuple[Step, ...] = (_WRITE_CODE, _RUN_GREEN, _RUN_GREEN, Shell("phase-gate signal --reason green"))
_DONE = Say("All done.")
_GIVE_UP: tuple[Step, ...] = (Shell("phase-gate signal --blocked --reason 'it is frozen'"), _DONE)

#: The ways in which a frozen test is changed: with the client's own tool, and in the shell.
_WEAK_TESTS = "def test_children_pay_half():\n    assert True\n"
_EDIT = Edit(path="test_fare.py", old=TESTS, new=_WEAK_TESTS)
_CHEATS: dict[str, Step] = {"frozen-edit": _EDIT, "frozen-shell": Shell("sed -i 's/== 5/>= 0/' test_fare.py")}
_INTO_STATE: tuple[Step, ...] = (Write(path=".phase-gate/state.json", text="{}"), Shell("rm -rf .phase-gate"))
#: Only a refusal says so.
_FROZEN = "a person goes back with: phase-gate rewind red"


class Scenario(Value, kw_only=False):
    name: str
    script: Script
    #: What the client may end with; empty: anything but its time limit. None: it has to be ended.
    codes: tuple[int | None, ...] = (0,)
    #: What `phase-gate check` says afterwards.
    check: int = 10
    #: What the model has to be told, and what it must not be told.
    told: tuple[str, ...] = ()
    not_told: tuple[str, ...] = ()
    #: What is printed.
    said: tuple[str, ...] = ()
    #: Files that stay as they are, with their text.
    kept: Mapping[str, str] = field(default_factory=dict)
    #: How often the model may be asked.
    most: int = 40
    #: What the end is called in the table of endings; empty: not looked at.
    ending: str = ""
    #: GREEN has begun before the client starts: its test is frozen, and fails.
    in_green: bool = True
    #: Seconds that it may take.
    limit: float = 600.0
    #: Killed when the model has been asked so often; not the driver, but the client that it started.
    kill_at: int | None = None
    kills_client: bool = False
    #: The drive is taken up again after that.
    resumes: bool = False
    #: Options of `phase-gate drive`, which starts the client; none: it is started by itself, and only the hooks speak.
    drive: tuple[str, ...] = ()
    #: For an iteration of the client.
    time_limit: str = "20m"


def _plain(*steps: Step) -> Script:
    return Script(steps=steps)


def _always(fault: Fault) -> Script:
    return Script(steps=(_DONE,), faults={0: (fault,)}, for_ever=True)


_KEPT = {"test_fare.py": TESTS}
_GO_ON = "Next: fix that, then run: pytest --phase=green"

BY_HOOKS: tuple[Scenario, ...] = (
    Scenario("honest", _plain(*_RED, *_GREEN, _DONE), check=0, not_told=("phase-gate: not done",), in_green=False),
    Scenario("early", _plain(_DONE, *_GREEN, _DONE), check=0, told=("phase-gate: not done: ", _GO_ON)),
    *(Scenario(name, _plain(step, *_GIVE_UP), told=(_FROZEN,), kept=_KEPT) for name, step in _CHEATS.items()),
    Scenario("state", _plain(*_INTO_STATE, *_GIVE_UP), told=("phase-gate: .phase-gate",)),
    Scenario("stubborn", _plain(_DONE), told=(_GO_ON,)),
    Scenario(
        "crash",
        Script(steps=(*_GREEN, _DONE), faults={2: ("hang",)}, for_ever=True),
        codes=(-9,),
        ending="failed",
        kill_at=3,
    ),
    Scenario("hang", _always("hang"), codes=(None,), limit=20.0),
    Scenario("waits", Script(steps=(*_GREEN, _DONE), faults={1: ("rate",)}), check=0, ending="ended"),
    Scenario("no-login", _always("login"), codes=(), ending="no-login"),
    Scenario("no-credit", _always("credit"), codes=(), ending="no-credit"),
    Scenario("rate-limit", _always("rate"), codes=(), ending="busy"),
    Scenario("overload", _always("overload"), codes=(), ending="busy"),
    Scenario("garbage", _always("garbage"), codes=(), ending="failed"),
)


# --- with a driver


_UNTIL = ("--until", "GREEN", "--goal", "Children pay half.")
_TWICE = (*_UNTIL, "--iterations=2")
_IN_RED: tuple[Step, ...] = (_WRITE_TESTS, Shell("phase-gate signal --reason red"), _DONE)
_IN_GREEN: tuple[Step, ...] = (_WRITE_CODE, Shell("phase-gate signal --reason green"), _DONE)
_BY_PHASE = Script(steps=(_DONE,), by_prompt={"# RED: ": _IN_RED, "# GREEN: ": _IN_GREEN})
_AT_THE_SECOND = Script(steps=(_DONE,), by_prompt={"This is iteration 2": _IN_GREEN})
#: The model does not answer once, in the middle of the work.
_STALLED = Script(steps=_IN_GREEN, faults={1: ("hang",)})
#: Clients repeat a refused request by themselves.
_REFUSED_ONCE = Script(steps=_IN_GREEN, faults={0: ("rate",)})
_CANT = ("the agent can't work: ",)

BY_DRIVER: tuple[Scenario, ...] = (
    Scenario("drive-honest", _BY_PHASE, check=0, in_green=False, drive=_UNTIL),
    Scenario("drive-early", _AT_THE_SECOND, check=0, drive=_UNTIL),
    *(
        Scenario(f"drive-{name}", _plain(step, _DONE), (10,), told=(_FROZEN,), kept=_KEPT, drive=_TWICE)
        for name, step in _CHEATS.items()
    ),
    Scenario("drive-state", _plain(*_INTO_STATE, _DONE), (10,), told=("phase-gate: .phase-",), drive=_TWICE),
    Scenario("drive-stubborn", _plain(_DONE), (12,), drive=_UNTIL),
    Scenario("drive-crash", _STALLED, check=0, said=("failed with",), kill_at=2, kills_client=True, drive=_UNTIL),
    Scenario("drive-killed", _STALLED, check=0, kill_at=2, resumes=True, drive=_UNTIL),
    Scenario("drive-hang", _always("hang"), (10,), drive=_TWICE, time_limit="15s"),
    Scenario("drive-garbage", _always("garbage"), (10,), drive=_TWICE),
    Scenario("drive-waits", _REFUSED_ONCE, check=0, drive=_TWICE),
    Scenario("drive-rate-limit", _always("rate"), (13,), said=_CANT, drive=_UNTIL),
    Scenario("drive-overload", _always("overload"), (13,), said=_CANT, drive=_UNTIL),
    Scenario("drive-no-login", _always("login"), (13,), said=_CANT, drive=_UNTIL),
    Scenario("drive-no-credit", _always("credit"), (13,), said=_CANT, drive=_UNTIL),
)

SCENARIOS = {scenario.name: scenario for scenario in (*BY_HOOKS, *BY_DRIVER)}
