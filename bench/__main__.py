"""`python -m bench`: measure, print Markdown, and write it with the values as JSON."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest

from bench.contenders import ACTIVE, AGAIN, BARE, CONTENDERS, INACTIVE
from bench.measure import count_instructions, interleave, ratios, run_once
from bench.suites import write_suite

_PASS = "python -c pass"

Results = dict[str, dict[str, float]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--tests", type=int, default=2000, help="tests of the larger suite")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds")
    parser.add_argument("--instructions", action="store_true", help="count instructions with valgrind: exact and slow")
    parser.add_argument("--output", type=Path, default=Path("bench/results"), help="folder for the results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="phase-gate-bench-") as name:
        found = measure_all(
            Path(name), tests=arguments.tests, rounds=arguments.rounds, by_instructions=arguments.instructions
        )
    text = render(found)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (arguments.output / "results.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


def measure_all(folder: Path, *, tests: int, rounds: int, by_instructions: bool) -> Results:
    """Return tables of ratios: start-up, a whole run, each test more, and the command."""
    one, small, large = (write_suite(folder / str(size), size) for size in (1, tests // 2, tests))
    present = [contender for contender in CONTENDERS if contender.is_here]
    take, times = (count_instructions, 1) if by_instructions else (run_once, rounds)
    start_up = interleave(
        {each.name: partial(take, each.command("--collect-only"), one) for each in (BARE, AGAIN, INACTIVE)},
        rounds=times,
    )
    at_small = interleave({each.name: partial(take, each.command(), small) for each in present}, rounds=times)
    at_large = interleave({each.name: partial(take, each.command(), large) for each in present}, rounds=times)
    slopes = {
        name: [more - less for less, more in zip(at_small[name], at_large[name], strict=True)] for name in at_small
    }
    unit = "instructions" if by_instructions else "time"
    return {
        f"start-up, not used: {unit} beside bare": ratios(start_up, BARE.name),
        f"a run of {tests} tests: {unit} beside bare": ratios(at_large, BARE.name),
        f"each test more: {unit} beside bare": ratios(slopes, BARE.name),
        f"a command: time beside {_PASS}": ratios(_commands(one, rounds), _PASS),
    }


def _commands(folder: Path, rounds: int) -> dict[str, list[float]]:
    run_once(ACTIVE.command(), folder)  # so that there is a state to look at
    gate = [sys.executable, "-m", "pytest_phase_gate.cli"]
    return interleave(
        {
            _PASS: partial(run_once, [sys.executable, "-c", "pass"], folder, keep_state=True),
            "phase-gate status": partial(run_once, [*gate, "status"], folder, keep_state=True, expects=10),
            "phase-gate check": partial(run_once, [*gate, "check"], folder, keep_state=True, expects=10),
        },
        rounds=rounds,
    )


def render(found: Results) -> str:
    """Return the tables as Markdown."""
    rows = [f"Python {platform.python_version()}, pytest {pytest.__version__}", ""]
    for title, table in found.items():
        rows += [f"| {title} | ratio |", "| --- | --- |"]
        rows += [f"| {name} | {value:.3f} |" for name, value in table.items()]
        rows.append("")
    return "\n".join(rows)


if __name__ == "__main__":
    raise SystemExit(main())
