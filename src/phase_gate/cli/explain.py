"""`phase-gate explain`: the last verdict in full, or the meaning of one name. Read-only."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phase_gate.cli._call import Call, Done
from phase_gate.cli._streams import read_given, render_json, screen_width
from phase_gate.codec import parse_foreign, spell_out, spell_out_each
from phase_gate.errors import MESSAGES, NotAllowedError, UsageError
from phase_gate.gate.measured import PROVIDED, wanted_names
from phase_gate.gate.outcomes import REMEDIES
from phase_gate.gate.verdict import evaluation_to_json
from phase_gate.proof.proof_text import render_proof
from phase_gate.proof.task_proof import load_proof
from phase_gate.proof.verdicts import MEANINGS
from phase_gate.report.panel import panel_text, render_panel
from phase_gate.task import Task
from phase_gate.visible import cut, show_rows
from phase_gate.workflow.condition_parser import ALIASES
from phase_gate.workflow.metrics import METRICS, show_value
from phase_gate.workflow.model import Phase


def explain(call: Call) -> Done:
    task = call.task()
    name, evaluation, standing = call.arguments.name, task.state.evaluation, task.current_status()
    if call.arguments.merge is not None and not call.arguments.gate_result:
        raise UsageError("--merge goes with --gate-result", remedy="give both, or neither")
    if name is not None:
        kind, named, rows, more = _find_meaning(task, name)
        text = show_rows(rows)
        return Done(text=text, document={"kind": kind, "name": named, **more, "text": text})
    if evaluation is None:
        text = show_rows((standing.verdict, f"  next: {standing.next_step}"))
        return Done(text=text, document={"evaluation": None, **standing.advice}, code=standing.exit_code)
    document = evaluation_to_json(evaluation)
    if call.arguments.gate_result:
        return _gate_result(call, document, standing.exit_code)
    width = screen_width()
    is_current = (standing.verdict, standing.next_step) == (evaluation.verdict, evaluation.next_step)
    lines = render_panel(evaluation, verbosity=1, width=width, now=None if is_current else standing)
    text = panel_text(lines, width=width)
    verdict = {"evaluation": document, "open": standing.is_open, **standing.advice}
    return Done(text=text, document=verdict, code=standing.exit_code)


# --- one name


#: Kind and name, rows for people, and more of the document.
_Meaning = tuple[str, str, Iterable[str], dict[str, Any]]


def _find_meaning(task: Task, name: str) -> _Meaning:
    """Return the meaning of a name. Raises UsageError if it is unknown."""
    workflow, evaluation = task.rules, task.state.evaluation
    fact, phase = ALIASES.get(name, name), workflow.phase(name)
    for metric, kind, meaning in METRICS:
        if metric == name:
            value = None if evaluation is None else evaluation.metrics.get(name)
            now = "not measured in the last verdict" if value is None else f"last verdict: {value}"
            return "metric", name, (f"{name} ({kind}): {meaning}", f"  {now}"), {}
    if fact in workflow.facts:
        return "fact", fact, _fact_rows(task, fact), {}
    if name in workflow.guards:
        return "guard", name, *_explain_guard(task, name)
    if phase is not None:
        return "phase", phase.name, _phase_rows(task, phase), {}
    found = {kind: words[name] for kind, words in {"message": MESSAGES, **WORDS}.items() if name in words}
    if not found:
        phases = ", ".join(each.name for each in workflow.phases)
        raise UsageError(
            f"nothing is called {cut(name)!r}",
            remedy=f"use a phase ({phases}), a metric, a guard, a status, or the word in brackets after a message",
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
    from phase_gate.tasks.pipeline_show import needs_in

    yield from (f"  {name + ':':7} {text}" for name, text in needs_in(task, phase))
    if phase.on_failure:
        yield f"  fails to {phase.on_failure}"


def _fact_rows(task: Task, name: str) -> Iterator[str]:
    workflow, evaluation = task.rules, task.state.evaluation
    phases = [phase.name for phase in workflow.phases if name in wanted_names(workflow, phase)]
    facts = [fact for fact in (() if evaluation is None else evaluation.facts) if fact.name == name]
    yield f"{name} ({workflow.facts[name]}): a fact; {' and '.join(phases) or 'no phase'} asks for it"
    if any(name in names for names in PROVIDED.values()):
        yield "  measured where the tools for it are installed; a declaration wins"
    yield f'  declared with: phase-gate declare {name}=VALUE --reason "..."'
    yield from [f"  last verdict: {show_value(each.value)}, {each.who}" for each in facts] or [
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
        subject = finding.id or finding.file
        rows.append(f"    {subject}{subject and ': '}{finding.detail}{place}")
    if name == "tests-unchanged" and state.freeze.red_sources is not None:
        frozen = task.store.objects.load(state.freeze.red_sources)
        changed = sorted({each.file for each in found} & frozen.keys())
        diff = [row for path in changed for row in _diff(task, path, frozen[path])]
        document["diff"] = show_rows(diff)
        rows += diff
    if name == "targets-proven" and (proof := load_proof(task)) is not None:
        document["proof"] = spell_out(proof)
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
    from phase_gate.tasks.pipeline_show import merge_gate_results, phase_result

    result = phase_result(evaluation)
    if call.arguments.merge is not None:
        try:
            handler = parse_foreign(read_given(call.start, call.arguments.merge))
        except ValueError:
            handler = None
        if not isinstance(handler, dict):
            raise UsageError(f"{call.arguments.merge} is no gate result", remedy="name a JSON file with an object")
        if str(handler.get("phase")).strip().upper() != result["phase"]:
            raise NotAllowedError(
                f"{call.arguments.merge} is not about {result['phase']}, as the last verdict is",
                remedy=f'merge a result with "phase": "{result["phase"]}"',
            )
        result = merge_gate_results(handler, result)
    return Done(text=render_json(result, indent=2), document=result, code=code, is_file=True)


# --- the words


#: Kind -> word -> meaning: what reports show in brackets or as a status.
WORDS: Mapping[str, Mapping[str, str]] = {
    "guard": {
        "complete-run": "Every known test ran: no option and no stop left one out.",
        "tests-kept": "Every test that was frozen when RED ended is still there, or has moved.",
        "no-new-skips": "No test is skipped that was not skipped before.",
        "criteria-covered": "Every acceptance criterion has a test: in RED a new one, later one that ran.",
        "baseline-kept": "Tests that passed before this cycle still pass.",
        "code-as-tested": "The code is the one that the last complete green run tested; documents may differ.",
        "red-for-a-reason": "Every new test fails on a check or on missing code, so that code can make it pass.",
        "tests-unchanged": "The tests, with their helpers, fixtures and data, are as they were when RED ended.",
        "rules-unchanged": "pytest's settings and the rules of the gate are as they were when RED ended.",
        "red-was-seen": "The tests of this cycle failed before they passed, because code of this project was missing.",
        "targets-proven": "In an experiment, each new test fails without the change and passes with it.",
        "new-code-tested": "Every new line of code ran in a test, according to coverage.py.",
        "outcomes-genuine": "Nothing but the tests themselves decided how they ended.",
        "verify-fresh": "No file changed after the verify command ran.",
        "verify-proves": "The verify command can fail, and its result shows something about the task.",
        "files-listed": "The task lists every file that was changed.",
        "constitution-kept": "The constitution is as it was when the pipeline began, or a person accepted its change.",
        "rules-kept": "The rules of the pipeline are as they were when it began.",
        "artifacts-made": "Every artifact that the phase requires is there, valid, and made in this attempt.",
        "checks-passed": "Every check that the phase requires ran and passed.",
        "consensus-reached": "Enough reviewers voted on this version, and their score is high enough.",
        "as-approved": "The artifacts are the versions that the reviewers agreed on.",
        "root-cause-known": "The root-cause record is valid, and names the phase to continue with.",
        "fix-checked": "The checks of the phase that failed pass now, if the recovery returns there.",
        "fix-tested": "The suite passes on the files as they are now, if the recovery returns to a phase with tests.",
        "drift-known": "git can show what has changed since the plan was approved.",
        "no-blocking-issue": "No finding or change request that blocks is open.",
        "no-pending-request": "Every change request is decided.",
    },
    "finding": {
        "already-passing": "In RED: the test is new or changed, and passes.",
        "asserts-off": "python -O leaves assertions out: the tests check nothing.",
        "broken-module": "pytest can't import or collect this module, so its tests fail; the others run.",
        "change-requested": "A change request waits for a decision: phase-gate pipeline request list.",
        "checks-nothing": "A target passes whatever the new code does.",
        "command-failed": "A command that is evidence ended with another code than 0.",
        "could-improve": "Code of this cycle that could be better, according to ruff.",
        "criterion-unknown": "A test is marked with an id that is not in the list of criteria.",
        "decision-incomplete": "A decision record lacks something.",
        "diagram-broken": "The parser of a diagram refuses it, or it draws nothing.",
        "document-not-counted": "A document changed in this cycle, and does not count; the message gives the reason.",
        "flaky": "The test passed only after a rerun.",
        "function-unnoticed": "A new or changed function can do nothing, and no target notices.",
        "guarding-fails": "In RED: the test is marked passes_already, and fails.",
        "needs-script": "The command has several parts: put them into a script, so that one exit code covers all.",
        "not-readable": "The command can't be read as you would type it.",
        "odd-xpass": "The test passes against an xfail mark that is new.",
        "outcome-rewritten": "A test raised something, and was reported as passed, or arrived as something else.",
        "plugin-removed": "A part of this plugin was unregistered or blocked.",
        "proves-nothing": "The command succeeds whatever was done.",
        "quality-worse": "ruff has more findings than when the phase began.",
        "runs-no-test": "The command lists tests, and runs none.",
        "streak-starts-over": "Files changed since the last green run: you need the full number of green runs again.",
        "suite-too-fast": "A suite that took its time takes none now, with all of its tests.",
        "support-changed": "RED changed a fixture, helper, constant or file of data that older tests use.",
        "test-dropped": "A test was taken out of the session without a deselect event.",
        "test-fails": "The test fails in a phase that wants passing tests.",
        "tests-gone": "The test was known before this cycle, and is missing since RED: it was not moved or renamed.",
        "too-broad": "The command runs more than this task; a failure may have nothing to do with it.",
        "two-outcomes": "The test ended differently in the run before, on the same files.",
        "vague-done": "The description of done can't be checked.",
        "worker-silent": "A worker ended without telling what it saw.",
    },
    "verdict": {
        "unstarted": "The phase has no run and no verdict yet.",
        "running": "A run has not ended yet.",
        "stale": "Something came after the last verdict: it does not count any more.",
        "void": "The run did not count: nothing was collected, or it was stopped.",
        "closed": "Gate 1 is closed: its condition or a guard is not met.",
        "early": "The exit signal came while Gate 1 was closed. It is spent.",
        "failed": "The gate of a pipeline phase, or an attempt at a verify task, failed; another try follows.",
        "waiting": "What is measured is in order; the exit signal, or a step of a verify task, is still to come.",
        "open": "Both gates were open: the phase has exited.",
        "needs-person": "A person has to answer before the work continues.",
        "halted": "The circuit is open: a person decides whether the work continues.",
        "stuck": "A phase is stuck if its circuit is open, a pipeline if it has used up its recoveries. A person "
        "has to decide: phase-gate status shows how.",
    },
    "circuit": {
        "closed": "The work makes progress.",
        "half-open": "One more complete run without progress opens the circuit; one with progress closes it.",
        "open": "Too many runs in a row made no progress. Only a person can reset the circuit or skip the phase.",
    },
    "run": {
        "complete": "Every known test ran. Only such a run is judged and counted.",
        "partial": "Known tests were left out, so the run does not count.",
        "incomplete": "The run stopped early, files changed, or it can't go back to RED: it does not count.",
        "empty": "No test was collected, or every test was skipped.",
        "void": "No test was meant to run.",
        "nested": "A run inside another run. It proves nothing about the outer one.",
        "lost": "The run began and never ended.",
        "odd": "No test failed, but something is strange: the run neither extends nor ends a streak.",
        "not-green": "A test failed.",
    },
    "test": {
        "passed": "The test ran and passed.",
        "failed": "The test ran and failed.",
        "error": "The setup or the teardown of the test failed.",
        "flaky": "The test failed first, and passed when it was run again.",
        "skipped": "The test did not run because of a skip.",
        "skipped-if": "The test did not run, and has a skipif mark.",
        "xfailed": "The test failed, as its xfail mark allows.",
        "xpassed": "The test passed, although it has an xfail mark.",
        "not-run": "pytest collected the test and did not run it.",
        "uncollectable": "The module of the test can't be imported, so it counts as failing.",
    },
    "criterion": {
        "met before": "Older tests show it already.",
        "failing": "A test for it fails, as RED wants it.",
        "passing": "A test for it passes.",
        "open": "No test shows it.",
        "waived": "No test shows it, and a person accepted that.",
    },
    "signal": {
        "absent": "No exit signal was given for this iteration.",
        "done": "The phase is done: the only answer that opens Gate 2.",
        "not-done": "A veto: the phase is not done.",
        "blocked": "The work can't continue without a person.",
        "test-wrong": "A test asks for the wrong thing; a person has to look at it.",
        "malformed": "exit-signal.yaml can't be read.",
        "stale": "The signal was for another iteration.",
        "refused": "The signal contradicts itself or the measurements.",
        "held": "The signal counts with the last of the confirming runs.",
    },
    "failing test": {
        "assertion": "A check of the test failed: a reason to write code.",
        "structural": "Code of this project is missing: a reason to write it.",
        **{reason: f"No code can fix it: {remedy}." for reason, remedy in REMEDIES.items()},
    },
    "task": {
        "PENDING": "No attempt at the verify task has begun.",
        "EXECUTING": "The executor works on it, and has not reported yet.",
        "VERIFYING": "The executor has reported; the verify command comes next.",
        "REVIEWING": "The verify command passed; the reviewer comes next.",
        "APPROVED": "All three steps have passed.",
        "FAILED": "The executor's report or the verify command failed.",
        "REJECTED": "The reviewer rejected the work.",
        "BLOCKED": "The executor can't continue: it waits for something.",
        "SKIPPED": "A person completed it without verification.",
    },
    "failed attempt": {
        "EXECUTION_FAILURE": "The executor reports that it failed.",
        "VERIFY_FAILURE": "The verify command failed.",
        "ARCHITECT_REJECTION": "The reviewer rejected the work.",
        "BLOCKED": "The executor waits for another task or for something outside.",
        "TIMEOUT": "A step took longer than its time limit.",
        "MALFORMED": "A report or a verdict can't be read.",
        "GATE_FAILURE": "The gate of a pipeline phase failed.",
    },
    "decision": {
        "waived": "A person accepted the present findings of a guard, with a reason.",
        "forced": "A person ended the phase or the task against the evidence.",
        "unverified": "A person completed the task without verification.",
    },
    "proof": {verdict: f"The target {meaning.description}." for verdict, meaning in MEANINGS.items()},
}
