"""Every scenario of the integrity, proof and honesty tables, played as its own tests play it, and what refuses it.

Begin with `scenarios`, the list of them, and `play_scenario`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.honesty.case import Case, Step, load_cases
from bench.honesty.command import environment_here
from bench.honesty.gates.phase_gate import PhaseGate
from bench.honesty.place import Place
from bench.honesty.play import play
from phase_gate.exit_codes import GATE_CLOSED
from phase_gate.values import replace
from phase_gate.workflow.settings import FILE_NAME
from tests.integrity import cheats_documents, forks
from tests.integrity.bench import Workbench
from tests.integrity.cheats_bytecode import BYTECODE
from tests.integrity.cheats_criteria import CRITERIA_ROWS
from tests.integrity.cheats_genuine import COUNTED, NOT_IN_WORKERS, REFUSED, WORKERS
from tests.integrity.cheats_older import OLDER, OPEN
from tests.integrity.cheats_order import ORDER
from tests.integrity.cheats_outcomes import OUTCOMES
from tests.integrity.cheats_outputs import OUTPUTS
from tests.integrity.cheats_outside import JUDGED_ROWS, OPEN_OUTSIDE, OUTSIDE_ROWS, OUTSIDE_TWINS
from tests.integrity.cheats_red import RED
from tests.integrity.cheats_removal import REMOVAL
from tests.integrity.cheats_selection import SELECTION
from tests.integrity.cheats_silence import SILENCE
from tests.integrity.cheats_unseen import UNSEEN
from tests.integrity.cheats_weakened import WEAKENED
from tests.integrity.rows import TABLE, Attempt, Row
from tests.integrity.shared import rows_of
from tests.integrity.test_cheats_documents import PASSING
from tests.integrity.test_process import AT_THE_END, IN_THE_MIDDLE, IN_WORKERS
from tests.proof.cheat import Cheat
from tests.proof.table import ALL_CHEATS, ALL_HONEST
from tests.proof.test_cheats import Told
from tests.proof.test_integrity_twins import TWINS as INTEGRITY_TWINS
from tests.proof.test_twins import ALL as ALL_TWINS
from tests.proof.test_twins import take
from tests.proof.twins import Twin
from tests.support import Ran, Sample, is_plain
from tests.warm import WarmServer

#: The clause about green runs in a row, and rules without it.
STREAK = "consecutive_green_runs >= required_green_runs"
NO_STREAK = """\
phases:
  GREEN:
    condition: tests_total > 0 AND tests_failing == 0 AND tests_passing == tests_total
    replace: true
"""
#: Seconds for a scenario: a slow machine makes proofs in some of them.
LIMIT = 600
_TWO_WORKERS = ("-p", "xdist.plugin", "-n", "2")
#: Nothing refuses it.
OPENS: frozenset[str] = frozenset()
#: A process that is not forked from the warm one can't do without guards.
NOT_TRIED = frozenset({"not tried"})
#: Plays a scenario with these guards out, or the clause `STREAK`, and returns what refuses it.
Player = Callable[["Stage", frozenset[str]], frozenset[str]]


class Stage:
    """Where scenarios are played, one after the other: what their tables are played with in the suite."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0
        #: Whether a pytest or command of the scenario was no warm process.
        self.is_cold = False
        self.children = WarmServer(folder / "children", forks.__file__)
        self.bench = NetBench(folder / "bench", self)

    def new_folder(self) -> Path:
        self._count += 1
        path = self._folder / f"scenario-{self._count}"
        path.mkdir()
        return path

    def close(self) -> None:
        self.bench.close()
        self.children.close()


class NetBench(Workbench):
    def __init__(self, folder: Path, stage: Stage) -> None:
        self._stage = stage
        super().__init__(folder)

    def _run(self, root: Path, words: list[str], more: dict[str, str]) -> subprocess.CompletedProcess[str]:
        self._stage.is_cold |= words[0] != "-m" or any(name.startswith("PYTHON") for name in more)
        return super()._run(root, words, more)

    def ask(self, environment: dict[str, str], *words: str) -> Ran:
        """Run the command where the last attempt was made."""
        root = self._folder / f"attempt-{self._count}"
        done = self._run(root, ["-m", "phase_gate.cli", *words], environment)
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)


class NetSample(Sample):
    def __init__(self, stage: Stage, without: frozenset[str]) -> None:
        self.root = stage.new_folder()
        self._stage, self._children = stage, lambda: stage.children
        if STREAK in without:
            self.write({FILE_NAME: NO_STREAK})

    def process(self, *command: str, **environment: str) -> Ran:
        self._stage.is_cold |= _starts_ours(command)
        return super().process(*command, **environment)


class NetGate(PhaseGate):
    """The gate of the honesty cases; says what refused the last claim."""

    def __init__(self, stage: Stage, without: frozenset[str]) -> None:
        self._stage, self._without, self.refused = stage, without, OPENS

    def begin(self, place: Place) -> None:
        if STREAK in self._without and not (place.root / FILE_NAME).exists():
            place.write({FILE_NAME: NO_STREAK})

    def options(self, step: Step) -> Sequence[str]:
        return (f"--phase={step.value}",)

    def run(self, place: Place, step: Step) -> None:
        super().run(place, step)
        # Not by --phase-confirm: it starts a process that is not forked from the warm one.
        if step.value == "green" and place.codes[-1] == GATE_CLOSED:
            super().run(place, step)

    def is_done(self, place: Place, step: Step) -> bool:
        is_done = super().is_done(place, step)
        if not is_done:
            words = ("phase_gate.cli", "status", "--json", *step.extra.get(self.family, ()))
            code, out, _ = self._stage.children.run(place.root, words, place.environment(step.environment))
            self.refused = _unmet_now(Ran(code=code, out=out))
        return is_done


# --- what refuses a scenario


def _judge(gate: Callable[..., Ran]) -> frozenset[str]:
    """Have the phase end, if it can; return what refuses it."""
    if gate("check", "--gate1").code == 0:
        if json.loads(gate("status", "--json").out)["exited"]:
            return OPENS
        said = gate("signal", "--reason", "done", "--json")
        if said.code == 0:
            return OPENS
        return unmet(json.loads(said.out)) or _unmet_now(gate("status", "--json"))
    return _unmet_now(gate("status", "--json"))


def unmet(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the guards, clauses and error of a verdict or a refused command."""
    if "error" in document:
        return frozenset({f"error {document['error']['slug']}"})
    gate = document["gate_1"]
    guards = {guard["name"] for guard in gate["guards"] if guard["met"] is not True and not guard["waived"]}
    return frozenset(guards | {clause["text"] for clause in gate["clauses"] if clause["met"] is not True})


def _unmet_now(status: Ran) -> frozenset[str]:
    """Return what keeps the gate closed in the end, from `status --json`."""
    document = json.loads(status.out)
    if "error" in document:
        return unmet(document)
    verdict, last = document["evaluation"], document["last_run"]
    found = set(unmet(verdict)) if verdict and verdict["phase"] == document["phase"] else set()
    if last and last["kind"] != "complete":
        found.add(f"run {last['kind']}")
    if document["lost_runs"]:
        found.add("run lost")
    return frozenset(found or {f"status {document['status']}"})


# --- the scenarios of the tables, each as its own tests play it


@cache
def scenarios() -> dict[str, Player]:
    """Return every scenario by its table and name."""
    in_workers = [*WORKERS, *(row for row in rows_of(REFUSED, COUNTED) if row.name not in NOT_IN_WORKERS)]
    attempts: dict[str, Iterable[tuple[str, Attempt]]] = {
        "known": _cheats(TABLE),
        "selection": _cheats(rows_of(SELECTION)),
        "removal": _cheats(rows_of(REMOVAL)),
        "silence": _cheats(rows_of(SILENCE)),
        "weakened": _cheats(rows_of(WEAKENED)),
        "outcomes": _cheats(rows_of(OUTCOMES)),
        "red": _cheats(rows_of(RED)),
        "order": _cheats(ORDER),
        "criteria": _cheats(CRITERIA_ROWS),
        "bytecode": _cheats(BYTECODE),
        "outputs": _cheats(OUTPUTS),
        "outside": _cheats((*OUTSIDE_ROWS, *JUDGED_ROWS)),
        "older": _cheats(OLDER),
        "open": {**OPEN, **OPEN_OUTSIDE}.items(),
        "unseen": _cheats(UNSEEN),
        "process": _cheats((*IN_THE_MIDDLE, *AT_THE_END)),
        "genuine": _cheats(rows_of(REFUSED, COUNTED)),
        "honest": {**INTEGRITY_TWINS, **OUTSIDE_TWINS}.items(),
    }
    with_workers = _cheats((*in_workers, *IN_WORKERS))
    documents = (*cheats_documents.CHEATS, *cheats_documents.HONEST)
    players: list[tuple[str, Player]] = [
        *(
            (f"{table}: {name}", partial(_play_attempt, each, ()))
            for table in attempts
            for name, each in attempts[table]
        ),
        *((f"workers: {name}", partial(_play_attempt, each, _TWO_WORKERS)) for name, each in with_workers),
        *((f"documents: {row.name}", partial(_play_documents, row)) for row in documents),
        *((f"proof {story.row}: {story.name}", partial(_play_story, story)) for story in (*ALL_CHEATS, *ALL_HONEST)),
        *((f"proof twins: {name}", partial(_play_twin, twin)) for name, twin in ALL_TWINS.items()),
        *((f"honesty: {case.name}", partial(_play_case, case)) for case in load_cases()),
    ]
    found = dict(players)
    assert len(found) == len(players), "two scenarios have one name"
    return found


def _cheats(rows: Iterable[Row]) -> Iterator[tuple[str, Attempt]]:
    return ((row.name, row.cheat) for row in rows)


def _play_attempt(attempt: Attempt, words: tuple[str, ...], stage: Stage, without: frozenset[str]) -> frozenset[str]:
    # A beginning of its own: it was recorded without these guards, too.
    taken = ((forks.WITHOUT, _named(without)),) if without else ()
    base = replace(attempt.base, environment=(*attempt.base.environment, *taken))
    if STREAK in without and FILE_NAME not in dict(base.files):
        base = replace(base, files=(*base.files, (FILE_NAME, NO_STREAK)))
    stage.bench.attempt(replace(attempt, base=base), *words)
    return _judge(partial(stage.bench.ask, dict(base.environment)))


def _play_documents(row: cheats_documents.Row, stage: Stage, without: frozenset[str]) -> frozenset[str]:
    sample = NetSample(stage, without)
    sample.write({"test_basket.py": PASSING, **row.before})
    sample.pytest_process("--phase=document")
    for name, text in row.after.items():
        if text is None:
            (sample.root / name).unlink(missing_ok=True)
        else:
            sample.write({name: text})
    return unmet(json.loads(sample.gate("advance", "--json").out))


def _play_story(story: Cheat, stage: Stage, without: frozenset[str]) -> frozenset[str]:
    told = Told(NetSample(stage, without), story)
    told.tell()
    return _judge(told.gate)


def _play_twin(twin: Twin, stage: Stage, without: frozenset[str]) -> frozenset[str]:
    sample = NetSample(stage, without)
    take(sample, twin, "mounted")
    return _judge(partial(sample.gate, **twin.environment))


def _play_case(case: Case, stage: Stage, without: frozenset[str]) -> frozenset[str]:
    class WarmPlace(Place):
        def run(self, words: Sequence[str], environment: Mapping[str, str]) -> int:
            given, filled = self.environment(environment), tuple(map(self.fill, words))
            if filled[:2] != (self.python, "-m") or not is_plain(given):
                stage.is_cold |= _starts_ours(filled)
                return super().run(words, environment)
            code, said = stage.children.run_mixed(self.root, filled[2:], given)
            self.said.append(said)
            return code

    gate = NetGate(stage, without)
    variables = {**environment_here(gate), "PYTHONDONTWRITEBYTECODE": "1"}
    play(case, gate, sys.executable, limit=LIMIT, environment=variables, make_place=WarmPlace)
    return gate.refused


def _starts_ours(command: Sequence[str]) -> bool:
    return re.search(r"-m (pytest|phase_gate)|-c .*pytest", " ".join(command)) is not None


# --- one scenario


def play_scenario(name: str, stage: Stage, without: frozenset[str] = frozenset()) -> frozenset[str]:
    """Play a scenario and return what refuses it."""
    stage.is_cold = False
    with patch.dict(os.environ, {forks.WITHOUT: _named(without)} if without else {}):
        try:
            found = scenarios()[name](stage, without)
        except (AssertionError, ValueError) as error:  # the story could not be told to its end
            found = frozenset({f"no answer {type(error).__name__}"})
    return NOT_TRIED if without and stage.is_cold else found


def _named(without: frozenset[str]) -> str:
    return ",".join(sorted(without - {STREAK}))
