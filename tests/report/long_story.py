"""A story with as many runs as anybody will ever have."""

from __future__ import annotations

from phase_gate.report.story.model import Happening, Run, Series, Story
from phase_gate.values import replace
from tests.report.sample_story import build_sample


def build_long(runs: int) -> Story:
    """Return the sample's story with this many runs, in cycles of RED, GREEN and REFACTOR."""
    phases = ["RED"] * 3 + ["GREEN"] * 20 + ["REFACTOR"] * 7
    made = []
    for index in range(runs):
        phase = phases[index % len(phases)]
        failed = 4 if phase == "RED" else max(0, 12 - index % len(phases)) if phase == "GREEN" else 0
        made.append(
            Run(
                number=index + 1,
                id=f"{index:016x}",
                at=f"2026-{1 + index // 900 % 12:02}-{1 + index // 30 % 28:02}T{index % 24:02}:{index % 60:02}:00.000Z",
                phase=phase,
                cycle=1 + index // len(phases),
                kind="complete",
                iteration=1 + index % len(phases),
                passed=400 + index // 50 - failed,
                failed=failed,
                skipped=7,
                green="not-green" if failed else "green",
                streak=0 if failed else index % 8,
                resets=index % 97 == 0,
                seconds=4 + index % 13 / 10,
                exit_status=1 if failed else 0,
                says=f"{failed} of {400 + index // 50} tests fail" if failed else "both gates are open",
                changed=(f"module_{index % 40}.py",),
                changed_count=1,
            )
        )
    happenings = tuple(
        Happening(run=run.number, at=run.at, kind="exited", text=f"{run.phase} exits") for run in made[22::30]
    )
    trend = (Series(name="Tests", unit="tests", points=tuple((run.number, float(run.total)) for run in made)),)
    return replace(build_sample().story(), runs=tuple(made), happenings=happenings[-2000:], trend=trend)
