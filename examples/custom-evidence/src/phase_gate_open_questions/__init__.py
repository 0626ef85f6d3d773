"""Close the gate while the sources have open questions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path


def pytest_phase_gate_metrics(root: Path) -> Mapping[str, int]:
    """Count lines that end with a question mark; nobody else measures this."""
    lines = (line for path in sorted(root.rglob("*.py")) for line in path.read_text(encoding="utf-8").splitlines())
    return {"open_questions": sum(line.rstrip().endswith("?") for line in lines)}


def pytest_phase_gate_guards() -> Mapping[str, Mapping[str, str]]:
    """Offer the guard; a phase has to name it."""
    return {
        "no-open-questions": {
            "condition": "open_questions == 0",
            "detail": "{open_questions} open question(s) in the sources",
            "remedy": "answer them",
        }
    }


def pytest_phase_gate_workflows() -> Mapping[str, Path]:
    """Offer the workflow; `--phase-workflow=answered` or `workflow: answered` takes it."""
    return {"answered": Path(__file__).parent / "answered.yaml"}


def pytest_phase_gate_evaluated(evaluation: Mapping[str, object]) -> None:
    """Append the verdict to a file of our own."""
    row = {name: evaluation[name] for name in ("phase", "iteration", "can_exit", "reason")}
    with open(Path(str(evaluation["root"])) / "verdicts.jsonl", "a", encoding="utf-8") as log:
        log.write(json.dumps(row) + "\n")
