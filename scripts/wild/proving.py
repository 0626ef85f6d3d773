"""Prove a step that others took: two releases of a project, with phases and without; and compare with plain runs."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scripts.wild.comparing import Said
from scripts.wild.phases import Phase, Runner
from scripts.wild.projects import Project
from scripts.wild.running import Tools, call
from scripts.wild.stepping import commit, put

#: Seconds that a proof of a whole release may take: it has more targets than any step.
SECONDS = "300"

PLAIN = ("-q", "-rA", "--tb=no", "--color=no", "-p", "no:cacheprovider", "--continue-on-collection-errors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What was said about a pair of releases."""

    project: Project
    #: The document of `prove --base`.
    proof: Mapping[str, Any]
    #: Targets whose sandboxes and plain runs differ: id, and both answers.
    differing: tuple[str, ...] = ()
    #: Of the phases; None where it did not come to that.
    red: Phase | None = None
    green: Phase | None = None
    #: How many targets GREEN has proven.
    proven: int = 0

    def count(self, *verdicts: str) -> int:
        return sum(each["verdict"] in verdicts for each in self.proof.get("targets", ()))

    @property
    def is_wrong(self) -> bool:
        """A proof said something else than plain runs, or refused what the projects themselves released."""
        refused = self.green is not None and not self.green.is_open
        return bool(self.differing or self.proof.get("problem", "no answer") or self.count("fails-with") or refused)

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything in which a proof was wrong about honest work."""
        found = [f"sandbox and plain run differ: {each}" for each in self.differing]
        if self.proof.get("problem", "no answer"):
            found.append(f"no proof: {self.proof.get('problem', 'no answer')}")
        found += [
            f"{each['id']} {each['verdict']}: {each['why']}"
            for each in self.proof.get("targets", ())
            if each["verdict"] in ("fails-with", "flaky")
        ]
        for name, phase in (("RED", self.red), ("GREEN", self.green)):
            if phase is not None and not phase.is_open:
                found.append(f"{name} did not exit: {phase.said}")
        return tuple(found)

    @property
    def cells(self) -> tuple[str, ...]:
        unknown = self.count("unknown", "skipped")
        return (
            self.project.name,
            f"{self.project.before} to {self.project.version}",
            str(len(self.proof.get("targets", ()))),
            str(self.count("proven")),
            str(self.count("passes-without")),
            str(self.count("checks-nothing")),
            str(unknown),
            str(len(self.differing)),
            self._phases,
        )

    @property
    def _phases(self) -> str:
        if self.red is None:
            return "nothing was red"
        if self.green is None:
            return "RED did not exit"
        return f"{'opens' if self.green.is_open else 'closed'}, {self.proven} proven"


HEAD = (
    "project",
    "releases",
    "new or changed tests",
    "proven",
    "pass without the change",
    "check nothing",
    "unknown or skipped",
    "differ from a plain run",
    "with phases",
)


def prove_releases(project: Project, tools: Tools, before: Path, after: Path, folder: Path, *, home: Path) -> Step:
    """Prove the newer release's tests against the older one, without phases and with them.

    :param before: the sources of the older release; `after` those of the newer one.
    :param folder: where the newer one is installed from, in place.
    """
    put(before, folder)
    commit(folder, project.before)
    put(after, folder, tests=True)
    without = read_outcomes(call((*tools.pytest, *PLAIN, *project.arguments), tools, folder, home))
    put(after, folder)
    commit(folder, project.version)
    done = call((*tools.gate, "prove", "--base", "HEAD~1", "--seconds", SECONDS, "--json"), tools, folder, home)
    proof = _read(done.output)
    targets = proof.get("targets", ())
    differing = tuple(
        f"{each['id']}: {each['control']}, {plain}"
        for each in targets
        if (plain := outcome_in(without, each["id"])) not in (each["control"], "unknown")
        and each["verdict"] not in ("unknown", "skipped")
    )
    red = [each["id"] for each in targets if each["control"] == "fails"]
    if not red:
        return Step(project=project, proof=proof, differing=differing)
    # The same once more as a step with phases.
    put(before, folder)
    commit(folder, f"{project.before} again")
    put(after, folder, tests=True)
    runner = Runner(tools=tools, folder=folder, arguments=project.arguments, place=home)
    step = Step(project=project, proof=proof, differing=differing, red=runner.turn_red()[0])
    if not step.red or not step.red.is_open:
        return step
    put(after, folder, tests=False)
    return replace(step, green=runner.turn_green(), proven=runner.read_proof().counts.get("proven", 0))


def _read(text: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads(text)
    except ValueError:
        return {"problem": text.strip()[-300:] or "nothing was said"}
    return found if "targets" in found else {"problem": str(found)[:300]}


_WORDS = {"PASSED": "passes", "FAILED": "fails", "ERROR": "fails", "SKIPPED": "skipped", "XFAIL": "skipped"}


def read_outcomes(said: Said) -> dict[str, set[str]]:
    """Return how the rows of each function ended, from the short summary."""
    found: dict[str, set[str]] = {}
    for line in said.output.splitlines():
        word, _, rest = line.partition(" ")
        if word in _WORDS and "::" in rest.partition(" - ")[0].partition("[")[0]:
            found.setdefault(rest.partition(" - ")[0].partition("[")[0].strip(), set()).add(_WORDS[word])
        elif word == "ERROR":
            found.setdefault(rest.partition(" - ")[0].strip(), set()).add("fails")
    return found


def outcome_in(outcomes: Mapping[str, Collection[str]], test_id: str) -> str:
    """Return how a function ended as a whole; unknown if the summary does not name it."""
    rows = outcomes.get(test_id) or outcomes.get(test_id.partition("::")[0], ())
    return next((word for word in ("fails", "passes", "skipped") if word in rows), "unknown")
