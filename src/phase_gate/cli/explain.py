"""`phase-gate explain`: the last verdict in full, or one name of ours in a few words. Only looks."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from phase_gate.cli._answer import Call, Done
from phase_gate.cli._streams import render_json
from phase_gate.codec import each_from_json, spell_out
from phase_gate.errors import MESSAGES, NotAllowedError, UsageError
from phase_gate.gate.measured import PROVIDED, Table, describe_override, is_said_by, place_of, wanted_names
from phase_gate.gate.order import shorten
from phase_gate.gate.standing import Standing
from phase_gate.gate.verdict import FactSource, evaluation_to_json, who_of
from phase_gate.report.text import table_lines
from phase_gate.visible import show_rows
from phase_gate.workflow.metrics import ALIASES, METRICS, show_value
from phase_gate.workflow.model import Phase, Workflow

#: Of a table.
_WIDTH = 80


def run(call: Call) -> Done:
    task = call.task()
    state, workflow, standing = task.state, task.rules, task.standing()
    judged = None if state.evaluation is None else evaluation_to_json(state.evaluation)
    if call.arguments.name is not None:
        found = explain_name(workflow, call.arguments.name, judged)
        if call.arguments.name == "tests-unchanged" and state.freeze.red_sources is not None:
            frozen = task.store.objects.load(state.freeze.red_sources)
            found["diff"] = show_changes(frozen, task.project.root, found.get("findings", ()))
            found["text"] = "\n".join((found["text"], found["diff"])).rstrip()
        if call.arguments.name == "targets-proven" and state.proof is not None:
            from phase_gate.proof.show import runs_text
            from phase_gate.proof.task import load_proof

            proof = load_proof(task)
            assert proof is not None, "the state names it"
            found["proof"] = spell_out(proof)
            found["text"] = "\n".join((found["text"], runs_text(proof)))
        return Done(text=found["text"], document=found, code=standing.exit_code)
    if call.arguments.gate_result and judged is not None:
        return _gate_result(call, judged, standing)
    if judged is None:
        text = show_rows((standing.verdict, f"  next: {standing.next_step}"))
        return Done(text=text, document={"evaluation": None, **standing.document}, code=standing.exit_code)
    verdict: dict[str, Any] = {
        "evaluation": judged,
        "open": standing.is_open,
        **standing.document,
    }
    return Done(
        text=_verdict_text(judged, standing.verdict, standing.next_step),
        document=verdict,
        code=standing.exit_code,
    )


def _gate_result(call: Call, evaluation: Mapping[str, Any], standing: Standing) -> Done:
    from phase_gate.tasks.result import merge_gate_results, phase_result

    result = phase_result(evaluation)
    if call.arguments.merge is not None:
        from phase_gate.tasks.artifacts import read_json

        try:
            handler = read_json(call.start / call.arguments.merge)
        except (OSError, ValueError) as error:
            raise UsageError(f"{call.arguments.merge}: {error}", remedy="name a JSON file with a gate result") from None
        if not isinstance(handler, dict):
            raise UsageError(f"{call.arguments.merge} is no gate result", remedy="name a JSON file with an object")
        _refuse_other_phase(call.arguments.merge, handler.get("phase"), result["phase"])
        result = merge_gate_results(handler, result)
    return Done(text=render_json(result, indent=2), document=result, code=standing.exit_code)


def _refuse_other_phase(file: str, said: object, phase: str) -> None:
    """Refuse scores that were given for something else than what the verdict is about."""
    if not isinstance(said, str) or not said.strip():
        raise UsageError(f"{file} names no phase", remedy=f'say which phase the scores are of: "phase": "{phase}"')
    if said.strip().upper() != phase:
        raise NotAllowedError(
            f"{file} speaks of {shorten(said.strip())}, and the last verdict of {phase}",
            remedy="merge the result of that phase",
        )


def show_changes(frozen: Mapping[str, str], root: Path, findings: Iterable[Mapping[str, Any]]) -> str:
    """Return a diff of the files that findings name, against what they were when the tests were frozen."""
    rows: list[str] = []
    for path in sorted({row["file"] for row in findings} & set(frozen)):
        try:
            now = (root / path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            now = ""
        rows += difflib.unified_diff(
            frozen[path].splitlines(), now.splitlines(), f"{path} (frozen)", f"{path} (now)", lineterm="", n=2
        )
    return show_rows(rows)


def explain_name(workflow: Workflow, name: str, evaluation: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a name means. Raises UsageError for one that nothing has."""
    for metric in METRICS:
        if metric.name == name:
            value = None if evaluation is None else evaluation["metrics"].get(name)
            now = "not measured in the last verdict" if value is None else f"last verdict: {value}"
            text = show_rows((f"{name} ({metric.type}): {metric.meaning}", f"  {now}"))
            return {"kind": "metric", "name": name, "text": text}
    if ALIASES.get(name, name) in workflow.facts:
        return _explain_fact(workflow, ALIASES.get(name, name), evaluation)
    if name in workflow.guards:
        return _explain_guard(workflow, name, evaluation)
    phase = workflow.phase(name)
    if phase is not None:
        rows = [
            f"{phase.name}: {phase.purpose}",
            f"  Gate 1: {phase.gate_1.condition.text}",
            f"  guards: {', '.join(phase.gate_1.guards)}",
            f"  next:   {phase.next or 'what the root-cause record says'}",
            *_requirements(workflow, phase),
        ]
        return {"kind": "phase", "name": phase.name, "text": show_rows(rows)}
    if name in MESSAGES:
        return {"kind": "message", "name": name, "text": f"{name}: {MESSAGES[name]}"}
    raise UsageError(
        f"nothing is called {shorten(name)}",
        remedy="use a metric, a guard, a phase, or the word in brackets behind a message",
    )


def _requirements(workflow: Workflow, phase: Phase) -> Iterator[str]:
    if workflow.pipeline is None:
        return
    from phase_gate.tasks.asking import needs_of
    from phase_gate.tasks.pipeline import Pipeline

    yield from (f"  {name + ':':7} {text}" for name, text in needs_of(workflow, phase, Pipeline()))
    if phase.on_failure:
        yield f"  fails to {phase.on_failure}"


def _explain_fact(workflow: Workflow, name: str, evaluation: Mapping[str, Any] | None) -> dict[str, Any]:
    phases = [phase.name for phase in workflow.phases if name in wanted_names(workflow, phase)]
    said = [FactSource(**row) for row in (evaluation or {}).get("facts", ()) if row["name"] == name]
    rows = [f"{name} ({workflow.facts[name]}): a fact; {' and '.join(phases) or 'no phase'} asks for it"]
    if any(name in names for names in PROVIDED.values()):
        rows.append("  measured where the tools for it are installed; a declaration wins")
    rows.append(f'  declared with: phase-gate declare {name}=VALUE --reason "..."')
    rows += [f"  last verdict: {show_value(each.value)}, {each.who}" for each in said] or ["  last verdict: not known"]
    return {"kind": "fact", "name": name, "text": show_rows(rows)}


def _explain_guard(workflow: Workflow, name: str, evaluation: Mapping[str, Any] | None) -> dict[str, Any]:
    guard = workflow.guards[name]
    rows = [f"{name}: {guard.condition.text}", f"  if it is unmet: {guard.remedy}"]
    judged = [row for row in (evaluation or {"gate_1": {"guards": []}})["gate_1"]["guards"] if row["name"] == name]
    for row in judged:
        rows.append("  last verdict: met" if row["met"] else f"  last verdict: {row['detail']}")
    findings = [row for row in (evaluation or {"findings": []})["findings"] if name in (row["guard"], row["slug"])]
    rows += [f"    {row['id'] or row['file']}: {row['detail']}{_place(row)}" for row in findings]
    return {"kind": "guard", "name": name, "text": show_rows(rows), "findings": findings}


def _place(finding: Mapping[str, Any]) -> str:
    return "" if finding["line"] is None else f" ({finding['file']}:{finding['line']})"


def _verdict_text(document: Mapping[str, Any], reason: str, following: str) -> str:
    iteration = document["iteration"]
    counted = document["run_kind"] if iteration is None else f"iteration {iteration}"
    rows = [f"{document['phase']}, {counted}, {document['timestamp']}", ""]
    gate_1, gate_2 = document["gate_1"], document["gate_2"]
    rows.append(f"Gate 1, {gate_1['name']}: {'open' if gate_1['open'] else 'closed'}")
    said = who_of(document)
    for clause in gate_1["clauses"]:
        word = {True: "met", False: "unmet", None: "unknown"}[clause["met"]]
        shown = clause["problem"] or clause["shown"]
        shown += "".join(f", {who}" for name, who in said.items() if name in clause["values"])
        rows.append(f"  {word:8} {clause['text']}  ({shown})")
    for guard in gate_1["guards"]:
        word = "waived" if guard["waived"] else {True: "met", False: "unmet", None: "unknown"}[guard["met"]]
        detail = f": {guard['detail']}; {guard['remedy']}" if guard["detail"] else ""
        rows.append(f"  {word:8} {guard['name']}{detail}")
    rows.append(f"Gate 2, explicit exit signal: {gate_2['answer']} {gate_2['reason']}".rstrip())
    rows += [
        f"{'waived' if override['kind'] == 'waive' else 'override'}: {describe_override(override)}"
        for override in document["overrides"]
    ]
    for table in each_from_json(Table, document.get("tables", ())):
        rows += ["", *table_lines(table, width=_WIDTH), ""]
    rows += [f"warning: {text}" for text in document["warnings"]]
    rows += [f"note: {text}" for text in document["notes"]]
    for finding in (row for row in document["findings"] if not is_said_by(row, document["notes"])):
        rows.append(f"{finding['tier']} {finding['slug']}: {place_of(finding)} {finding['detail']}")
    return show_rows([*rows, "", f"verdict  {reason}", f"next     {following}"])
