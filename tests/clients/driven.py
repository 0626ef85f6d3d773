"""The scenarios with a driver, which starts the client for each iteration, runs the tests itself and decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from phase_gate.values import replace
from tests.clients.model import Breakdown, Refusal, Script, Shell, Step
from tests.clients.scenarios import (
    CHEATS,
    DONE,
    FROZEN,
    INTO_STATE,
    WRITE_CODE,
    WRITE_TESTS,
    Expected,
    Scenario,
    always,
    plain,
)
from tests.clients.stage import TESTS

_UNTIL = ("--until", "GREEN", "--signal", "agent", "--goal", "Children pay half.")
_IN_RED: tuple[Step, ...] = (WRITE_TESTS, Shell(command="phase-gate signal --reason red"), DONE)
_IN_GREEN: tuple[Step, ...] = (WRITE_CODE, Shell(command="phase-gate signal --reason green"), DONE)
_BY_PHASE = {"# RED: ": _IN_RED, "# GREEN: ": _IN_GREEN}
#: What the prompt of a second try says.
_AGAIN = "This is iteration 2"
_TWICE = "--iterations=2"
_NO = Refusal(status=0, kind="", message="")
#: The model does not answer once, in the middle of the work.
_STALLED = Script(steps=_IN_GREEN, faults={1: (Breakdown(how="hang"),)})


def _driven(
    name: str,
    says: str,
    script: Script,
    code: int,
    *options: str,
    said: str = "",
    told: str = "",
    refused: Literal["", "login", "credit", "rate", "overload"] = "",
    in_green: bool = True,
    check: int = 10,
    kept: Mapping[str, str] | None = None,
    most: int = 40,
) -> Scenario:
    expected = Expected(
        codes=(code,),
        check=check,
        said=(said,) if said else (),
        told=(told,) if told else (),
        kept=kept or {},
        most=most,
        ending="",
    )
    return Scenario(
        name=f"drive-{name}",
        says=says,
        script=script,
        expected=expected,
        in_green=in_green,
        limit=600.0,
        refused=refused,
        drive=(*_UNTIL, *options),
    )


def _untrusted() -> Scenario:
    """No hook refuses the change of a frozen test: our own run of the tests does."""
    name, says = "untrusted", "does not run the hooks, and changes a frozen test"
    (step,) = (step for cheat, _, step in CHEATS if cheat == "frozen-edit")
    scenario = _driven(name, says, plain(step, DONE), 10, _TWICE, said="test_fare.py")
    expected = replace(scenario.expected, not_told=(FROZEN,), refused=(13, "the agent can't work: "))
    return replace(scenario, expected=expected, is_trusted=False, asks_doctor=True)


DRIVEN: tuple[Scenario, ...] = (
    _driven(
        "honest",
        "is driven from nothing to the end of GREEN",
        Script(steps=(DONE,), by_prompt=_BY_PHASE),
        0,
        in_green=False,
        check=0,
    ),
    _driven(
        "early",
        "says that it is done while the test fails, and does the work in the next iteration",
        Script(steps=(DONE,), by_prompt={_AGAIN: _IN_GREEN}),
        0,
        check=0,
    ),
    *(
        _driven(name, f"{says}, twice", plain(step, DONE), 10, _TWICE, told=FROZEN, kept={"test_fare.py": TESTS})
        for name, says, step in CHEATS
    ),
    _driven("state", "writes into the state folder", plain(*INTO_STATE, DONE), 10, _TWICE, told="phase-gate: .phase-"),
    _driven("stubborn", "only ever says that it is done", plain(DONE), 12),
    replace(
        _driven("crash", "is killed in the middle of its work, and goes on", _STALLED, 0, check=0, said="failed with"),
        kill_at=2,
        kills_client=True,
    ),
    replace(
        _driven("killed", "is left alone by a driver that is killed; --resume goes on", _STALLED, 0, check=0),
        kill_at=2,
        resumes=True,
    ),
    _driven("hang", "never gets an answer", always(Breakdown(how="hang")), 10, _TWICE, "--time-limit=15s"),
    _driven("garbage", "gets nothing that it can read", always(Breakdown(how="garbage")), 10, _TWICE),
    _driven(
        "waits",
        "is refused for too many requests for a while, and then works",
        Script(steps=_IN_GREEN, faults={0: (_NO,) * 6}),
        0,
        _TWICE,
        refused="rate",
        check=0,
    ),
    _driven("rate-limit", "is refused for ever (429)", always(_NO), 10, "--time=40s", refused="rate"),
    _driven(
        "overload", "finds the server overloaded for ever (529)", always(_NO), 10, "--time=40s", refused="overload"
    ),
    _driven("no-login", "is not logged in (401)", always(_NO), 13, said="the agent can't work: ", refused="login"),
    _driven("no-credit", "has no credit left (402)", always(_NO), 13, said="the agent can't work: ", refused="credit"),
    _untrusted(),
)
