"""Plays scenarios of the corpus as users do, and tells who refuses them. Begin with `ScenarioPlayer.play`."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from bench.honesty.command import environment_here
from bench.honesty.gates.phase_gate import PhaseGate
from bench.honesty.place import Place
from bench.honesty.play import take_step
from phase_gate.proof.verdicts import MEANINGS
from phase_gate.values import Value
from phase_gate.workflow.settings import FILE_NAME
from tests.integrity import without
from tests.scenarios import CLAUSES, Scenario, Step
from tests.warm import WITH_PROOF, WarmServer

#: The clause about green runs in a row, and rules without it.
STREAK = CLAUSES["streak"]
NO_STREAK = """\
phases:
  GREEN:
    condition: tests_total > 0 AND tests_failing == 0 AND tests_passing == tests_total
    replace: true
"""
#: Seconds for a scenario: a slow machine makes proofs in some of them.
LIMIT = 600
#: Nothing refuses it.
OPENS: frozenset[str] = frozenset()
#: What a proof says of a target that keeps the gate closed -> the experiment.
EXPERIMENTS = {
    MEANINGS["passes-without"].description: "control",
    MEANINGS["fails-with"].description: "treatment",
    MEANINGS["row-changed"].description: "rows",
    MEANINGS["cannot-fail"].description: "altered expectation",
    MEANINGS["checks-nothing"].description: "negative control",
}
#: A process that is not forked from the warm one can't do without guards.
NOT_TRIED = frozenset({"not tried"})


class Played(Value):
    """What came of a scenario."""

    #: Guards, clauses, errors and kinds of runs; nothing where both gates open.
    refused_by: frozenset[str]
    #: All that was said since RED, with the verdict as JSON, in one line: a panel wraps wherever its names end.
    message: str
    #: What the proof or the run has to say against it, without refusing.
    findings: tuple[str, ...] = ()
    #: Which experiments refuse it.
    experiments: frozenset[str] = OPENS
    #: What status says to type next, and what it ended with when it was typed as it stands, if it was another run.
    next_command: str = ""
    next_code: int = 0


class ScenarioPlayer:
    """Where scenarios are played, one after the other, in processes that are forked from a warm one."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0
        #: Projects after RED, which are copied, by what led to them.
        self._begun: dict[str, Path] = {}
        #: Whether a pytest or command of the scenario was no warm process.
        self.is_cold = False
        self.children = WarmServer(folder / "children", without.__file__)

    def close(self) -> None:
        self.children.close()

    def play(self, scenario: Scenario, lacking: frozenset[str] = OPENS) -> Played:
        """Play a scenario with these guards out, or the clause `STREAK`; tell who refuses its last claim."""
        self.is_cold = False
        gate = PlayerGate(lacking)
        beginning = _beginning(scenario)
        place = self._make_place(gate)
        key = repr((scenario.files, beginning, sorted(lacking), place.environment({}).get(WITH_PROOF)))
        if beginning and key in self._begun:
            shutil.copytree(self._begun[key], place.root, symlinks=True, dirs_exist_ok=True)
        else:
            place.write(scenario.files)
            gate.begin(place)
            for step in beginning:
                take_step(place, gate, step)
            if beginning and not self.is_cold:
                self._begun[key] = self._folder / f"begun-{len(self._begun)}"
                shutil.copytree(place.root, self._begun[key], symlinks=True)
        place.said.clear()
        for step in scenario.steps[len(beginning) :]:
            take_step(place, gate, step)
        return gate.judge(place, scenario.steps[-1])

    def _make_place(self, gate: PlayerGate) -> Place:
        self._count += 1
        folder = self._folder / f"scenario-{self._count}"
        return WarmPlace(self, folder, sys.executable, seconds=LIMIT, environment=gate.variables())


class WarmPlace(Place):
    """A project whose runs of pytest and of the command are forked from the player's warm process, if they can be."""

    tail = 1_000_000

    def __init__(
        self, player: ScenarioPlayer, folder: Path, python: str, *, seconds: float, environment: Mapping[str, str]
    ) -> None:
        super().__init__(folder, python, seconds=seconds, environment=environment)
        self._player = player

    def run(self, words: Sequence[str], environment: Mapping[str, str]) -> int:
        given, filled = self.environment(environment), tuple(map(self.fill, words))
        # Start-up code and options are for an interpreter that starts.
        is_started = any(name.startswith("PYTHON") for name in environment)
        if filled[:2] != (self.python, "-m") or is_started:
            self._player.is_cold |= re.search(r"-m (pytest|phase_gate)|-c .*pytest", " ".join(filled)) is not None
            return super().run(words, environment)
        code, message = self._player.children.run_mixed(self.root, filled[2:], given)
        self.said.append(message)
        return code


class PlayerGate(PhaseGate):
    """phase-gate, with some guards out."""

    def __init__(self, lacking: frozenset[str]) -> None:
        self._lacking = lacking

    def variables(self) -> dict[str, str]:
        named = ",".join(sorted(self._lacking - {STREAK}))
        taken = {without.WITHOUT: named} if named else {}
        return {**environment_here(self), "PYTHONDONTWRITEBYTECODE": "1", **taken}

    def begin(self, place: Place) -> None:
        if STREAK in self._lacking and not (place.root / FILE_NAME).exists():
            place.write({FILE_NAME: NO_STREAK})

    def options(self, step: Step) -> Sequence[str]:
        return ("-v", f"--phase={step.value}")

    def run(self, place: Place, step: Step) -> None:
        super().run(place, step)
        # Not by --phase-confirm: it starts a process that is not forked from the warm one.
        if step.value.lower() == "green" and place.codes[-1] != 0 and not step.is_once:
            super().run(place, step)

    def claim(self, place: Place, step: Step) -> None:
        place.codes.append(self._ask(place, step, "signal", "--reason", "done", "--json"))

    def judge(self, place: Place, step: Step) -> Played:
        """Tell who refuses the last claim, which was made."""
        if self.is_done(place, step):
            findings = tuple(each["detail"] for each in _document(place.said[-2]).get("findings", ()))
            return Played(refused_by=OPENS, message=" ".join(" ".join(place.said).split()), findings=findings)
        self._ask(place, step, "status", "--json")
        document = _document(place.said[-1])
        details = [
            each["detail"] for each in (document.get("evaluation") or {}).get("findings", ()) if each["tier"] == "hard"
        ]
        message = " ".join(" ".join(place.said).split())
        following = str(document.get("next_command") or "")
        is_repeated = following == f"pytest --phase={step.value}"  # which has just been run
        return Played(
            refused_by=unmet_now(document),
            message=message,
            next_command=following,
            next_code=_type(place, following) if following and not is_repeated else 0,
            experiments=frozenset(
                EXPERIMENTS[each] for each in EXPERIMENTS for text in details if text.startswith(each)
            ),
        )


def _type(place: Place, command: str) -> int:
    """Type a command as it stands in the project; return what it ends with."""
    program, *words = shlex.split(command)
    return place.run((place.python, "-m", {"pytest": "pytest", "phase-gate": "phase_gate.cli"}[program], *words), {})


# --- what refuses a scenario


def _document(message: str) -> Any:
    return json.loads(message[message.index("{\n") : message.rindex("}") + 1])


def unmet(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the guards, clauses and error of a verdict or a refused command."""
    if "error" in document:
        return frozenset({f"error {document['error']['slug']}"})
    gate = document["gate_1"]
    guards = {guard["name"] for guard in gate["guards"] if guard["met"] is not True and not guard["waived"]}
    return frozenset(guards | {clause["text"] for clause in gate["clauses"] if clause["met"] is not True})


def unmet_now(document: Mapping[str, Any]) -> frozenset[str]:
    """Return what keeps the gate closed in the end, from `status --json`."""
    if "error" in document:
        return unmet(document)
    verdict, last = document["evaluation"], document["last_run"]
    found = set(unmet(verdict)) if verdict and verdict["phase"] == document["phase"] else set()
    if last and last["kind"] != "complete":
        found.add(f"run {last['kind']}")
    if document["lost_runs"]:
        found.add("run lost")
    return frozenset(found or {f"status {document['status']}"})


def _beginning(scenario: Scenario) -> tuple[Step, ...]:
    """Return the steps up to RED's end, where they can be copied: nothing in them names the folder."""
    steps = [*takewhile(lambda step: (step.kind, step.value) != ("claim", "red"), scenario.steps)]
    if len(steps) >= len(scenario.steps) - 1:
        return ()
    steps.append(scenario.steps[len(steps)])
    names_folder = "{outside}" in repr((scenario.files, steps))
    return () if names_folder or any(step.kind == "outside" for step in steps) else tuple(steps)
