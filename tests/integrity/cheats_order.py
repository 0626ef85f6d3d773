"""Row 33: another phase, task, folder or workflow than the one that is due."""

from __future__ import annotations

from tests.integrity.rows import BAD, SIGNAL, Attempt, Row
from tests.integrity.shared import cheat, run_with

ORDER: tuple[Row, ...] = (
    cheat("--phase=refactor to dodge GREEN", Attempt(code=BAD, phase="refactor"), "REFACTOR does not follow RED"),
    cheat("--phase=document needs no tests", Attempt(code=BAD, phase="document"), "DOCUMENT does not follow RED"),
    cheat(
        "a phase that is not there",
        Attempt(code=BAD, phase="blue"),
        "blue",
        twin_name="the phase in capitals",
        twin=Attempt(phase="GREEN"),
    ),
    cheat(
        "advance instead of a run",
        Attempt(code=BAD, runs=(), before=(("phase-gate", "advance"), ("phase-gate", "advance"))),
        "closed",
    ),
    cheat("a signal instead of a green run", Attempt(code=BAD, runs=((),), after=(SIGNAL,)), "signal came too early"),
    cheat("another task that knows nothing", run_with("--phase-task=easy", "-k", "adds_up"), "files have changed"),
    cheat(
        "another state folder that knows nothing", run_with("--phase-dir=easy", "-k", "adds_up"), "files have changed"
    ),
    cheat("another workflow in the middle of a cycle", run_with("--phase-workflow=exit-gate"), "workflow"),
    cheat("RED again, with nothing new", Attempt(phase="red"), "tests_total > 0"),
)
