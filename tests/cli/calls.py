"""How every command is called in tests that ask all of them; a command that is not here is an error."""

from __future__ import annotations

import os

from phase_gate.cli._table import COMMANDS

Words = tuple[str, ...]
_WHY = ("--reason", "it was lost", "--by", "dev")

#: Calls that only look: as they may be typed in GREEN.
LOOKS: dict[str, tuple[Words, ...]] = {
    "status": ((), ("-v",), ("--criteria",), ("--block",)),
    "check": ((), ("--gate1",)),
    "explain": ((), ("tests-unchanged",), ("refactoring_complete",), ("GREEN",), ("--gate-result",)),
    "history": ((), ("--events",), ("--calibration",)),
    "report": ((),),
    "agent prompt": ((),),
    "hook": (("stop", "--agent", "claude"), ("stop", "--agent", "cursor"), ("pre-tool", "--agent", "claude")),
    "audit": ((),),
    "doctor": ((),),
    "pipeline vote": ((),),
    "pipeline request": (("list",),),
    "pipeline recover": ((),),
    "verify show": ((),),
    "verify status": ((),),
    "store status": ((),),
    "workflow check": ((),),
    "workflow schema": ((),),
    "completion": (("bash",),),
    "init": (("--dry-run",), ("--dry-run", "--agent", "claude")),
    "agent uninstall": (("--dry-run",),),
}
#: Calls that do something on purpose.
ACTS: dict[str, tuple[Words, ...]] = {
    "signal": (("--reason", "done"), ("--next", "--reason", "done"), ("--blocked", "--reason", "wait")),
    "claim": ((os.devnull,),),
    "withdraw": (("refactoring_complete",),),
    "declare": (("refactoring_complete=true", "--reason", "tidy"),),
    "advance": ((),),
    "rewind": (("red", "--reason", "wrong tests"),),
    "waive": (("tests-unchanged", *_WHY),),
    "breaker reset": (_WHY,),
    "breaker skip": (_WHY,),
    "force": (_WHY,),
    "baseline": ((),),
    "prove": ((),),
    "drive": ((), ("--resume",)),
    "ci combine": ((),),
    "demo": ((),),
    "store init": ((),),
    "verify start": ((),),
    "verify next": ((),),
    "verify executor": ((os.devnull,),),
    "verify run": ((),),
    "verify review": ((os.devnull,),),
    "verify commit": ((),),
    "verify abandon": (("--reason", "so"),),
    "verify resume": (_WHY,),
    "verify skip": (("--kind", "unavailable", *_WHY),),
    "verify force": (_WHY,),
}
CALLS = {**LOOKS, **ACTS}
assert CALLS.keys() == COMMANDS.keys()
#: Read no ledger, or have tests of their own: shards in tests/e2e, verify tasks in tests/tasks, stores in tests/stores.
STATELESS = frozenset({"demo", "init", "agent uninstall", "completion", "workflow schema", "workflow check"})


def typed(names: dict[str, tuple[Words, ...]], *, but: frozenset[str] = frozenset()) -> tuple[Words, ...]:
    """Return the calls of these commands, as they are typed."""
    return tuple((*name.split(), *words) for name, calls in names.items() if name not in but for words in calls)
