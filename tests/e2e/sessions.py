"""Small honest projects, and the questions that tests ask about what runs left. Looks in this process: no start."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
from referencing import Registry, Resource

from phase_gate.cli.story import collect_runs
from phase_gate.gate.events import verdict_of
from phase_gate.gate.state import State
from phase_gate.gate.verdict import evaluation_to_json, show_verdict
from phase_gate.storage.opening import Place
from phase_gate.storage.root import task_folder
from phase_gate.storage.store import TaskStore
from tests.conftest import ROOT
from tests.support import Project, Result

SCHEMAS = ROOT / "src" / "phase_gate" / "schemas"

#: What stands where for a run that tells nothing but its verdict.
REPORT = "verdict.json"


def step_tests(total: int) -> str:
    """Return a module with one honest test a step: it fails until its step is written, and says what it wants."""
    return "\n\n".join(
        f"def test_step_{number}():\n    from steps import step_{number}\n\n    assert step_{number}() == {number}\n"
        for number in range(1, total + 1)
    )


def steps(done: int) -> str:
    """Return the module under test with the first `done` steps written."""
    written = (f"def step_{number}():\n    return {number}\n" for number in range(1, done + 1))
    return "\n\n".join(('"""Steps."""\n', *written))


def leave_red(project: Project, total: int) -> Project:
    """An honest RED with `total` failing tests, exited."""
    project.write(test_steps=step_tests(total))
    return project.begin_with("--phase=red", "--phase-exit=dual", "--exit-signal=all fail")


def judge(project: Project, *arguments: str, plugins: tuple[str, ...] = ()) -> tuple[Result, Any]:
    """Run pytest in this process; return how it ended and the verdict that it wrote."""
    ran = project.run("-v", *arguments, f"--phase-report={REPORT}", plugins=plugins)
    return ran, project.report(REPORT)


def leave_signal(project: Project, text: str) -> None:
    """Write the signal file by hand."""
    project.write({".phase-gate/exit-signal.yaml": text})


def signal_is_there(project: Project) -> bool:
    return (project.root / ".phase-gate" / "exit-signal.yaml").exists()


def ledger(project: Project) -> list[dict[str, Any]]:
    """Return every line of the default task's ledger."""
    return [
        {"seq": line.seq, "kind": line.event.kind, "data": dict(line.event.data)} for line in store_of(project).lines()
    ]


def logged_evaluations(project: Project) -> list[dict[str, Any]]:
    """Return every verdict of the ledger as it is published."""
    lines = store_of(project).lines()
    return [evaluation_to_json(verdict_of(line.event)) for line in lines if line.event.kind == "evaluated"]


def unmet_clauses(verdict: Any) -> list[str]:
    return [clause["text"] for clause in verdict["gate_1"]["clauses"] if clause["met"] is not True]


def unmet_guards(verdict: Any) -> list[str]:
    return [guard["name"] for guard in verdict["gate_1"]["guards"] if guard["met"] is not True]


def load_schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


def validator(schema: Any) -> jsonschema.Draft7Validator:
    """Return a validator that also finds our other schemas beside it."""
    resources = [
        (path.name, Resource.from_contents(json.loads(path.read_text(encoding="utf-8"))))
        for path in SCHEMAS.glob("*.schema.json")
    ]
    registry: Registry[Any] = Registry().with_resources(resources)
    return jsonschema.Draft7Validator(schema, registry=registry)


def faults(name: str, document: Any) -> list[str]:
    """Return what a schema of ours has against a document."""
    return [f"{error.json_path}: {error.message}" for error in validator(load_schema(name)).iter_errors(document)]


def sentence(verdict: Any) -> str:
    """Return a verdict as people read it."""
    return show_verdict(verdict["status"], verdict["reason"])


# --- what a run left


#: The end of pytest's summary line: `5 passed, 1 skipped in 0.12s`.
_SUMMARY = re.compile(r"^(?:=+ )?(?P<counts>\d+ [a-z].*) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$", re.M)


def store_of(project: Project, task: str = "default") -> TaskStore:
    return TaskStore(Place(task_folder(project.root / ".phase-gate", task), task))


def state_of(project: Project, task: str = "default") -> State:
    return store_of(project, task).read().state


def history_of(project: Project, task: str = "default") -> list[dict[str, Any]]:
    """Return what `history --json` lists, oldest first."""
    store = store_of(project, task)
    return list(collect_runs(store.lines(), task, lost=store.lost_runs(store.read().state)))


def last_run(project: Project, task: str = "default") -> dict[str, Any]:
    return history_of(project, task)[-1]


def buckets_of(project: Project) -> dict[str, str]:
    """Return every test of the last complete run with its bucket."""
    store = store_of(project)
    latest = store.read().state.latest_snapshot
    assert latest is not None, "there is a complete run"
    files = store.objects.load(latest.inventory)["files"]
    ids = [f"{path}::{name}" if name else path for path, file in files.items() for name in file["ids"]]
    assert len(ids) == len(set(ids)), "an id stands in one file, once"
    odd: dict[str, str] = store.objects.load(latest.outcomes)
    assert set(odd) <= set(ids), "what has an outcome was collected"
    return {test_id: odd.get(test_id, "passed") for test_id in ids}


def targets_of(project: Project) -> list[str]:
    """Return what the cycle is about."""
    store = store_of(project)
    stored = store.read().state.targets
    assert stored is not None
    found: list[str] = store.objects.load(stored)
    return found


def summary_of(output: str) -> dict[str, int]:
    """Return the numbers of pytest's own summary line, warnings left out."""
    found = _SUMMARY.findall(output)
    assert found, f"no summary line in:\n{output}"
    counts: dict[str, int] = {}
    for part in found[-1].split(", "):
        number, _, name = part.partition(" ")
        if not name.startswith("warning"):
            counts["errors" if name == "error" else name] = int(number)
    return counts
