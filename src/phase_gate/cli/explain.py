"""`phase-gate explain`: the last verdict in full, or the meaning of one name. Read-only."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phase_gate.cli._answer import Call, Done
from phase_gate.cli._streams import render_json, screen_width
from phase_gate.cli._words import WORDS
from phase_gate.codec import spell_out, spell_out_each
from phase_gate.errors import MESSAGES, NotAllowedError, UsageError
from phase_gate.gate.measured import PROVIDED, wanted_names
from phase_gate.gate.order import shorten
from phase_gate.gate.verdict import evaluation_to_json
from phase_gate.proof.proof_text import render_proof
from phase_gate.proof.task_proof import load_proof
from phase_gate.report.panel import panel_text, render_panel
from phase_gate.report.text import proof_section, table_lines
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.visible import show_rows
from phase_gate.workflow.condition_text import ALIASES
from phase_gate.workflow.metrics import all_metrics, show_value
from phase_gate.workflow.model import Phase


def explain(call: Call) -> Done:
    task = call.task()
    name, evaluation, standing = call.arguments.name, task.state.evaluation, task.current_status()
    if name is not None:
        kind, named, rows, more = _find_meaning(task, name)
        text = show_rows(rows)
        return Done(text=text, document={"kind": kind, "name": named, **more, "text": text})
    if evaluation is None:
        text = show_rows((standing.verdict, f"  next: {standing.next_step}"))
        return Done(text=text, document={"evaluation": None, **standing.document}, code=standing.exit_code)
    document = evaluation_to_json(evaluation)
    if call.arguments.gate_result:
        return _gate_result(call, document, standing.exit_code)
    width = screen_width()
    text = panel_text(render_panel(evaluation, verbosity=1, width=width), width=width)
    if (standing.verdict, standing.next_step) != (evaluation.verdict, evaluation.next_step):  # no longer current
        text = f"{text}\n{show_rows(('', f'now     {standing.verdict}', f'next    {standing.next_step}'))}"
    verdict = {"evaluation": document, "open": standing.is_open, **standing.document}
    return Done(text=text, document=verdict, code=standing.exit_code)


# --- one name


#: Kind and name, rows for people, and more of the document.
_Meaning = tuple[str, str, Iterable[str], dict[str, Any]]


def _find_meaning(task: Task, name: str) -> _Meaning:
    """Return the meaning of a name. Raises UsageError if it is unknown."""
    workflow, evaluation = task.rules, task.state.evaluation
    fact, phase = ALIASES.get(name, name), workflow.phase(name)
    for metric in all_metrics():
        if metric.name == name:
            value = None if evaluation is None else evaluation.metrics.get(name)
            now = "not measured in the last verdict" if value is None else f"last verdict: {value}"
            return "metric", name, (f"{name} ({metric.type}): {metric.meaning}", f"  {now}"), {}
    if fact in workflow.facts:
        return "fact", fact, _fact_rows(task, fact), {}
    if name in workflow.guards:
        return "guard", name, *_explain_guard(task, name)
    if phase is not None:
        return "phase", phase.name, _phase_rows(task, phase), {}
    found = {kind: words[name] for kind, words in {"message": MESSAGES, **WORDS}.items() if name in words}
    if not found:
        raise UsageError(
            f"nothing is called {shorten(name)}",
            remedy="use a metric, a guard, a phase, a status, or the word in brackets after a message",
        )
    (first, meaning), *others = found.items()
    return first, name, [f"{name}: {meaning}", *(f"  of a {kind}: {other}" for kind, other in others)], {}


def _phase_rows(task: Task, phase: Phase) -> Iterator[str]:
    workflow = task.rules
    yield f"{phase.name}: {phase.purpose}"
    yield f"  Gate 1: {phase.gate_1.condition}"
    yield f"  guards: {', '.join(phase.gate_1.guards)}"
    yield f"  next:   {phase.next or 'the phase named in the root-cause record'}"
    if workflow.pipeline is None:
        return
    from phase_gate.tasks.requirements import needs_in

    yield from (f"  {name + ':':7} {text}" for name, text in needs_in(task, phase))
    if phase.on_failure:
        yield f"  fails to {phase.on_failure}"


def _fact_rows(task: Task, name: str) -> Iterator[str]:
    workflow, evaluation = task.rules, task.state.evaluation
    phases = [phase.name for phase in workflow.phases if name in wanted_names(workflow, phase)]
    said = [fact for fact in (() if evaluation is None else evaluation.facts) if fact.name == name]
    yield f"{name} ({workflow.facts[name]}): a fact; {' and '.join(phases) or 'no phase'} asks for it"
    if any(name in names for names in PROVIDED.values()):
        yield "  measured where the tools for it are installed; a declaration wins"
    yield f'  declared with: phase-gate declare {name}=VALUE --reason "..."'
    yield from [f"  last verdict: {show_value(each.value)}, {each.who}" for each in said] or [
        "  last verdict: not known"
    ]


def _explain_guard(task: Task, name: str) -> tuple[list[str], dict[str, Any]]:
    guard, state, evaluation = task.rules.guards[name], task.state, task.state.evaluation
    rows = [f"{name}: {meaning}"] if (meaning := WORDS["guard"].get(name)) else [f"{name}: a guard of this project"]
    rows += [f"  requires: {guard.condition}", f"  if it is unmet: {guard.remedy}"]
    found = [] if evaluation is None else [each for each in evaluation.findings if each.belongs_to(name)]
    document: dict[str, Any] = {"findings": spell_out_each(found)}
    for each in () if evaluation is None else evaluation.gate_1.guards:
        if each.name == name:
            rows.append("  last verdict: met" if each.met else f"  last verdict: {each.detail}")
    for finding in found:
        place = "" if finding.line is None else f" ({finding.file}:{finding.line})"
        rows.append(f"    {finding.id or finding.file}: {finding.detail}{place}")
    if name == "tests-unchanged" and state.freeze.red_sources is not None:
        frozen = task.store.objects.load(state.freeze.red_sources)
        changed = sorted({each.file for each in found} & frozen.keys())
        diff = [row for path in changed for row in _diff(task, path, frozen[path])]
        document["diff"] = show_rows(diff)
        rows += diff
    if name == "targets-proven" and (proof := load_proof(task)) is not None:
        document["proof"] = spell_out(proof)
        section = proof_section({state.phase or "": document["proof"]})
        tables = () if section is None else section.tables
        for table in tables:  # the verdicts follow below
            shown = replace(table, columns=table.columns[:-1], rows=tuple(row[:-1] for row in table.rows))
            rows += table_lines(shown, width=screen_width())
        rows += render_proof(proof).text.splitlines()
    return rows, document


def _diff(task: Task, path: str, frozen: str) -> Iterator[str]:
    """Return the changes to a file since the tests were frozen."""
    try:
        now = (task.project.root / path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        now = ""
    return difflib.unified_diff(
        frozen.splitlines(), now.splitlines(), f"{path} (frozen)", f"{path} (now)", lineterm="", n=2
    )


# --- the verdict as a gate result


def _gate_result(call: Call, evaluation: Mapping[str, Any], code: int) -> Done:
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
    return Done(text=render_json(result, indent=2), document=result, code=code, is_file=True)


def _refuse_other_phase(file: str, said: object, phase: str) -> None:
    """Refuse scores for a phase other than the verdict's."""
    if str(said).strip().upper() != phase:
        raise NotAllowedError(
            f"{file} is not about {phase}, as the last verdict is", remedy=f'merge a result with "phase": "{phase}"'
        )
