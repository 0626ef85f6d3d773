"""Does the gate stay quiet on software of others? `python -m scripts.wild` downloads known suites and runs them.

Ends with 1 if the gate was wrong about any of them, or if fewer than eight were clean. Each suite runs once without the
gate, and then twice with it, as often as GREEN asks for: without workers, and with two.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
#: Projects, and what the suite of each needs besides pytest. Their source distributions have tests.
PROJECTS: Mapping[str, Sequence[str]] = {
    "attrs==26.1.0": ("cloudpickle", "hypothesis", "pympler"),
    "blinker==1.9.0": ("pytest-asyncio",),
    "cachetools==8.0.0": (),
    "click==8.5.1": (),
    "h11==0.16.0": (),
    "humanize==4.17.0": ("freezegun", "pytest-codspeed"),
    "idna==3.20": ("hypothesis",),
    "iniconfig==2.3.1": (),
    "itsdangerous==2.2.0": ("freezegun",),
    "jinja2==3.1.6": ("trio",),
    "markupsafe==3.0.4": ("pytest-run-parallel",),
    "more-itertools==11.2.1": (),
    "natsort==8.4.0": ("hypothesis", "pytest-mock"),
    "parse==1.22.4": ("pytest-cov",),
    "pluggy==1.7.0": ("pytest-benchmark",),
    "python-dotenv==1.2.4": ("click", "sh"),
    "structlog==26.1.0": ("pytest-asyncio", "pytest-randomly", "simplejson", "time-machine"),
    "tabulate==0.10.0": (),
    "tomlkit==0.15.2": ("pyyaml",),
    "toolz==1.2.0": (),
}
#: Its settings make an error of what a newer pytest-asyncio warns of where this is not set.
ARGUMENTS = {"blinker==1.9.0": ("-o", "asyncio_default_fixture_loop_scope=function")}
#: Fewer say nothing about software in general.
CLEAN_AT_LEAST = 8
#: Seconds for one process; the slowest builds a package from its sources.
LIMIT = 1800
#: Names of the environment that would change how a suite, or the gate, behaves: it is the user's first day.
_DROPPED = ("PHASE_GATE_", "PYTEST_", "PYTHON", "COV_", "COVERAGE_", "TOX_", "GIT_", "GITHUB_", "CI", "VIRTUAL_ENV")

_SUMMARY = re.compile(r"^=* ?(\d+ [a-z ]+(?:, \d+ [a-z ]+)*) in [\d.]+s(?: \([\d:]+\))? ?=*$", re.M)
_COUNT = re.compile(r"(\d+) (error|[a-z ]+)")

Counts = Mapping[str, int]


class Suite:
    """The sources of a suite, and what runs it: pytest and our command, for a user who has just installed them."""

    def __init__(
        self, sources: Path, pytest: Sequence[str], gate: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        home = sources.with_name(f"{sources.name}-home")
        home.mkdir()
        self.sources, self._pytest, self._gate = sources, pytest, gate
        self._environment = {**environment, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "NO_COLOR": "1"}

    def run(self, *words: str) -> tuple[int, Counts]:
        """Run pytest; return how it ended, and the numbers of its summary line."""
        code, out = self._start(*self._pytest, *words)
        found = _SUMMARY.findall(out)
        return code, _counts(found[-1]) if found else {}

    def runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._start(*self._gate, "history", "--json")[1])["runs"]
        return found

    def _start(self, *command: str) -> tuple[int, str]:
        done = subprocess.run(
            command,
            cwd=self.sources,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            timeout=LIMIT,
        )
        return done.returncode, done.stdout


def _counts(text: str) -> dict[str, int]:
    found = {name: int(number) for number, name in _COUNT.findall(text) if not name.startswith("warning")}
    if "error" in found:  # two are errors
        found["errors"] = found.pop("error")
    return found


def find_problems(suite: Suite, arguments: Sequence[str], alone: Counts) -> Iterator[str]:
    """Run an honest suite in GREEN; yield everything in which the gate was wrong about it.

    :param alone: what the suite comes to without the gate.
    """
    ran = [suite.run("--phase=green", "--phase-report=verdict.json", *arguments) for _ in range(2)]
    code, counts = ran[-1]
    verdict = json.loads((suite.sources / "verdict.json").read_text(encoding="utf-8"))
    yield from (f"hard finding: {row}" for row in verdict["findings"] if row["tier"] == "hard")
    tallies = [run["counts"] for run in suite.runs()]
    if not all(tallies) or tallies != [each for _, each in ran]:
        yield f"the tally is {tallies}, pytest said {ran}"
    # Workers deselect by themselves, and pytest's summary then does not count it.
    if {**counts, "deselected": 0} != {**alone, "deselected": 0}:
        yield f"without the gate it is {alone}"
    if code or not verdict["gate_1"]["open"]:
        yield f"pytest ended with {code}: {verdict['reason']}"
    notes = "; ".join(verdict["notes"])
    exempt = _counts(notes.partition("exempt: ")[2].partition(";")[0])
    silent = sum(counts.get(name, 0) for name in ("skipped", "xfailed", "xpassed"))
    if silent != sum(exempt.values()):
        yield f"{silent} tests are skipped or expected to fail, and of these are explained: {exempt}"
    if counts.get("deselected") and "narrowed: " not in notes:
        yield f"{counts['deselected']} deselected, and no note says by what"


# --- preparing: downloads


def _pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *arguments], check=True, timeout=LIMIT)


def examine(requirement: str, folder: Path, wheels: Path) -> Iterator[str]:
    """Yield what the gate gets wrong about one project."""
    # Only itself from source: what builds it may come as a wheel.
    only = ("--no-deps", "--no-binary", requirement.partition("==")[0])
    _pip("download", *only, "--dest", str(folder / "archive"), requirement)
    (archive,) = (folder / "archive").glob("*.tar.gz")
    venv.create(folder / "venv", symlinks=os.name != "nt")
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    wanted = (*wheels.glob("*phase_gate-*.whl"), archive, "pytest-xdist", *PROJECTS[requirement])
    _pip("--python", str(scripts / "python"), "install", *map(str, wanted))
    kept = {name: text for name, text in os.environ.items() if not name.startswith(_DROPPED)}
    environment = {**kept, "PATH": os.pathsep.join((str(scripts), os.environ.get("PATH", os.defpath)))}

    def unpack(name: str) -> Suite:
        with tarfile.open(archive) as packed:
            packed.extractall(folder / name, filter="data")
        (sources,) = (folder / name).iterdir()
        return Suite(sources, [str(scripts / "pytest")], [str(scripts / "phase-gate")], environment)

    arguments = ARGUMENTS.get(requirement, ())
    code, alone = unpack("alone").run(*arguments)
    if code:
        yield f"its own suite fails here: {alone}"
        return
    for workers in ("0", "2"):
        found = find_problems(unpack(f"gated-{workers}"), (*arguments, "-n", workers), alone)
        yield from (f"{workers} workers: {problem}" for problem in found)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.wild", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="projects (default: all)")
    names = parser.parse_args().names
    chosen = [each for each in PROJECTS if not names or each.partition("==")[0] in names]
    clean, is_wrong = 0, False
    with tempfile.TemporaryDirectory(prefix="phase-gate-wild-") as base:
        wheels = Path(base, "wheels")
        _pip("wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT), str(ROOT / "plugin"))
        for requirement in chosen:
            problems = list(examine(requirement, Path(base, requirement), wheels))
            print(f"{requirement}: {'; '.join(problems) or 'clean'}", flush=True)
            clean += not problems
            is_wrong |= any("its own suite" not in each for each in problems)
    return int(is_wrong or (not names and clean < CLEAN_AT_LEAST))


if __name__ == "__main__":
    raise SystemExit(main())
