"""What the gates answered, kept as JSON: the table and the page are made from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.honesty.play import DONE, NO_ANSWER, Answer
from tests.scenarios import Scenario

#: Those of the last whole run.
RECORDED = Path(__file__).with_suffix(".json")


@dataclass(kw_only=True)
class Outcome:
    """One case under all gates."""

    row: int
    is_cheat: bool
    #: What says so: tests, or a rule.
    label: str
    answers: dict[str, str] = field(default_factory=dict)
    #: Processor seconds.
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(kw_only=True)
class Results:
    date: str
    python: str
    #: Of each gate: its title, and what its environment has.
    gates: dict[str, str]
    versions: dict[str, dict[str, str]]
    cases: dict[str, Outcome] = field(default_factory=dict)

    def add(self, case: Scenario, answer: Answer) -> None:
        label = "a rule" if case.truth.rule else "tests"
        outcome = Outcome(row=case.row, is_cheat=case.is_cheat, label=label)
        kept = self.cases.setdefault(case.name, outcome)
        kept.answers[answer.gate] = answer.answer
        kept.seconds[answer.gate] = round(answer.seconds, 2)

    def passed(self, gate: str) -> list[str]:
        """Return the cheats that a gate takes for done."""
        return [name for name, case in self.cases.items() if case.is_cheat and case.answers.get(gate) == DONE]

    def refused(self, gate: str) -> list[str]:
        """Return the honest cases that it does not take for done."""
        return [
            name
            for name, case in self.cases.items()
            if not case.is_cheat and gate in case.answers and case.answers[gate] != DONE
        ]

    def silent(self, gate: str) -> list[str]:
        """Return the cases in which it did not answer in time."""
        return [name for name, case in self.cases.items() if case.answers.get(gate) == NO_ANSWER]

    def cost(self, gate: str, beside: str = "bare") -> float | None:
        """Return its processor time in honest cases, beside that of another one in the same cases."""
        both = [
            (case.seconds[gate], case.seconds[beside])
            for case in self.cases.values()
            if not case.is_cheat and {gate, beside} <= set(case.seconds)
        ]
        whole = sum(other for _, other in both)
        return sum(own for own, _ in both) / whole if whole else None

    def keep(self, names: Iterable[str]) -> None:
        """Put cases and answers in order, and forget the cases that are not there any more."""
        self.cases = {name: self.cases[name] for name in names if name in self.cases}
        for case in self.cases.values():
            case.answers = {gate: case.answers[gate] for gate in self.gates if gate in case.answers}
            case.seconds = {gate: case.seconds[gate] for gate in self.gates if gate in case.seconds}


def write(results: Results, path: Path) -> None:
    """Keep them, with a line a case."""
    found = asdict(results)
    cases = [f"{json.dumps(name)}: {json.dumps(case)}" for name, case in found.pop("cases").items()]
    head = json.dumps(found, indent=1).removesuffix("\n}")
    path.write_text(f'{head},\n "cases": {{\n' + ",\n".join(cases) + "\n}}\n", encoding="utf-8")


def read(path: Path = RECORDED) -> Results:
    data = json.loads(path.read_text(encoding="utf-8"))
    cases: Mapping[str, dict[str, object]] = data.pop("cases")
    return Results(**data, cases={name: Outcome(**case) for name, case in cases.items()})  # type: ignore[arg-type]
