"""What to do about a closed gate: the reason in one sentence, the next command to type or a hint; and the ways out.

Pure. Part of the evaluation, not of a renderer, so that panel, JSON and hooks agree. Not loaded while a gate is open.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from phase_gate.gate.breaker import describe_open
from phase_gate.gate.freshness import hint_at_outputs
from phase_gate.gate.measured import (
    ALREADY_PASSING,
    BROKEN_MODULE,
    NO_NEW_SKIPS,
    OPTION,
    STREAK_STARTS_OVER,
    TEST_FAILS,
)
from phase_gate.gate.verdict import LET_ONE_RUN, Evaluation, Gate1Result, Signal, Verdict, phase_command
from phase_gate.values import Literal
from phase_gate.visible import count, name_first
from phase_gate.workflow.metrics import CLAIM_METRICS, METRIC_TYPES, Metrics
from phase_gate.workflow.model import Guard, Phase, Workflow
from phase_gate.workflow.names import of_task, rewind_command, run_command, status_command

if TYPE_CHECKING:
    from phase_gate.gate.measured import Finding
    from phase_gate.workflow.conditions import Clause

#: The fact that no more improvements are identified.
_IMPROVED = "no_more_improvements_identified"

#: What to do if no test ran in a phase that requires failing tests.
_WRITE_ONE = "write the test for this step, and let it run: it has to fail"


def advise_closed(evaluation: Evaluation, workflow: Workflow, phase: Phase) -> Verdict:
    """Return the verdict if Gate 1 is closed or a person is needed: its reason names the first missing requirement."""
    reading = evaluation.gate_2
    again = phase_command(phase, evaluation.task)
    if reading.calls_person:
        reason = f"needs a person ({reading.answer}): {reading.reason}"
        return Verdict("needs-person", reason, *_way_out(workflow, reading, phase, evaluation.task))
    if evaluation.iteration is None:
        reason = f"this run does not count ({evaluation.run_kind}): {evaluation.run_note}"
        hint = {"empty": _WRITE_ONE if phase.tests == "failing" else LET_ONE_RUN}.get(evaluation.run_kind, "")
        if phase.tests == "none":
            hint = ""  # it needs no test
            if not all(guard.passes for guard in evaluation.gate_1.guards):
                missing, again, hint = _find_missing(evaluation, workflow, phase)
                reason = f"{reason}; {missing}"
        changed = [finding for finding in evaluation.findings if finding.tier == "hard" and finding.change]
        if changed:  # it may be the reason that tests did not run
            hint = f"undo the change: {_first(changed)}"
        broken = _name_broken(evaluation.findings)
        return Verdict("void", f"{broken}; {reason}" if broken else reason, again, _MEND if broken else hint)
    reason, command, hint = what_gate_1_misses(evaluation, workflow, phase)
    if extra := evaluation.missing_extra:
        # Something could not be measured without the extra: the next evaluation shows the rest.
        hint = f"pip install 'pytest-phase-gate[{extra}]'"
    return Verdict("early" if reading.is_done else "closed", reason, command, hint)


def advise_halt(evaluation: Evaluation) -> Verdict:
    """Return the verdict for an open circuit, including the verdict without it."""
    task = evaluation.task
    reason = describe_open(evaluation.breaker, evaluation.timestamp)
    if evaluation.status == "open":
        # The phase has not exited: an open circuit is never success.
        more = (
            f"Both gates would be open, but {evaluation.phase} does not exit: signal again once the circuit is closed"
        )
    else:
        more = f"Also: {evaluation.verdict}"
    command = status_command(task)
    return Verdict("halted", f"{reason}. {more}", command, describe_decisions(task))


def _way_out(workflow: Workflow, reading: Signal, phase: Phase, task: str) -> tuple[str, str]:
    """Return command and hint."""
    if reading.answer == "test-wrong":
        back = return_command(workflow, phase, task) or phase_command(phase, task)
        first = "have a person correct the test"
        return ("", f"{first}, then run: {back}") if "..." in back else (back, first)
    return phase_command(phase, task), "have a person help"


def what_gate_1_misses(evaluation: Evaluation, workflow: Workflow, phase: Phase) -> tuple[str, str, str]:
    """Return the first requirement that keeps Gate 1 closed, a command and a hint."""
    reason, command, hint = _find_missing(evaluation, workflow, phase)
    if broken := _name_broken(evaluation.findings):
        # Until the module can be imported, nothing else can be fixed.
        return f"{broken}; {reason}", command or phase_command(phase, evaluation.task), _MEND
    return reason, command, _what_makes_red(phase, evaluation.gate_1, evaluation.metrics) or hint


#: A stash of all files would remove the new test, too.
STASH = "move its files away, or stash them by their names: git stash push -u -- FILE"


def _what_makes_red(phase: Phase, gate_1: Gate1Result, metrics: Metrics) -> str:
    """Return how to make tests fail in RED; empty if a guard is not met, or if they fail already."""
    if phase.tests != "failing" or not all(guard.passes for guard in gate_1.guards):
        return ""
    if metrics.get("tests_passing"):
        return f'take their code back ({STASH}), or mark them: @pytest.mark.passes_already("why")'
    if metrics.get("tests_total") == 0 and metrics.get("suite_total"):
        return f"write a test that fails; if its code is there already, take that back ({STASH})"
    return ""


#: What to do about a module that can't be collected.
_MEND = "fix that"


def _name_broken(findings: tuple[Finding, ...]) -> str:
    """Return the error of the first module that could not be collected; empty if there is none."""
    broken = [f"{finding.place} {finding.detail}".strip() for finding in findings if finding.slug == BROKEN_MODULE]
    more = f" (and {count(len(broken) - 1, 'other module')})" if len(broken) > 1 else ""
    return f"{broken[0]}{more}" if broken else ""


def _find_missing(evaluation: Evaluation, workflow: Workflow, phase: Phase) -> tuple[str, str, str]:
    gate_1, metrics, findings = evaluation.gate_1, evaluation.metrics, evaluation.findings
    task, again = evaluation.task, phase_command(phase, evaluation.task)
    for guard in gate_1.guards:
        if not guard.passes:
            reason = f"{guard.name}: {guard.detail}{_names(guard.name, findings)}"
            return reason, suggest_command(guard.name, workflow, phase, task), guard.remedy
    for clause in gate_1.clauses:
        if clause.met is not True and clause.group is None:
            reason, todo = _explain_clause(phase, clause, metrics, findings)
            command, hint = _declare_or_run([clause], again, task)
            return reason, command, hint or todo
    groups = [clause for clause in gate_1.clauses if clause.group is not None and clause.met is not True]
    if groups:
        ways = (groups[0].group or "").replace(" OR ", ", ")
        places = metrics.get("improvements_found")
        if (
            isinstance(places, int)
            and places > 0
            and any(_IMPROVED in (*clause.values, *clause.unknown) for clause in groups)
        ):
            # A tool has just found possible improvements, so do not ask an agent to declare that there are none.
            found = f"{count(places, 'place')} could still be better"
            enough = _declare(groups, task, but=_IMPROVED)
            hint = "improve it" + (f" (or, if it is good enough: {enough})" if enough else "")
            return f"{found}; or one of these has to be met: {ways}", again, hint
        return f"one of these has to be met: {ways}", *_declare_or_run(groups, again, task)
    return f"{gate_1.name} is not met", again, ""


def _names(guard: str, findings: tuple[Finding, ...]) -> str:
    """Return the subjects of the guard's findings, the first three by name."""
    rows = [finding for finding in findings if finding.belongs_to(guard)]
    return f" ({_first(rows)})" if rows else ""


def _name_files(metric: str, findings: tuple[Finding, ...]) -> str:
    """Return the files that keep a metric from its required value, the first three by name."""
    slug, words = _SPOKEN_OF_BY.get(metric, ("", ""))
    rows = [finding for finding in findings if finding.slug == slug and (finding.file or finding.more)]
    return f"{words}{_first(rows)}" if rows else ""


def _first(findings: Iterable[Finding]) -> str:
    rows = tuple(findings)
    names = [finding.place or finding.detail for finding in rows if not finding.more]
    return name_first(names, beside=sum(finding.more for finding in rows))


def _declare_or_run(clauses: list[Clause], again: str, task: str) -> tuple[str, str]:
    """Return command and hint."""
    claim = of_task("phase-gate claim FILE", task)
    for clause in clauses:
        if not CLAIM_METRICS.isdisjoint(clause.unknown):
            return "", f"{claim}, with what the agent printed"
        if "confidence" in clause.values:
            # A new run does not help: claim the same iteration again, with a better text.
            return "", f"state in your own words what is complete, then: {claim}"
        if not CLAIM_METRICS.isdisjoint(clause.values):
            return "", f"{again}, then claim again with a status block that reports done: {claim}"
    declare = _declare(clauses, task)  # contains a reason that only the user can write: can't be typed unchanged
    return ("", declare) if declare else (again, "")


def _declare(clauses: list[Clause], task: str, *, but: str = "") -> str:
    """Return the command that declares the first fact that would help; empty if there is none."""
    for clause in clauses:
        for name in clause.unknown:
            if clause.text == f"{name} == true" and name not in METRIC_TYPES and name != but:
                return of_task(f'phase-gate declare {name}=true --reason "..."', task)
    return ""


def _explain_clause(phase: Phase, clause: Clause, metrics: Metrics, findings: tuple[Finding, ...]) -> tuple[str, str]:
    """Return what a clause misses, and what to do before the same command again; empty if the command is enough."""
    failing = [finding for finding in findings if finding.slug == TEST_FAILS]
    if failing and "tests_failing" in clause.values:
        names, is_one = _first(failing), len(failing) == 1
        reason = f"{names} {'fails' if is_one else 'fail'}"
        return reason, f"change the code until {names} {'passes' if is_one else 'pass'}"
    skipped = [finding for finding in findings if finding.slug == NO_NEW_SKIPS]
    if (
        skipped
        and not metrics.get("tests_passing")
        and not clause.values.keys().isdisjoint(("tests_failing", "tests_passing"))
    ):
        return f"newly skipped: {_first(skipped)}", f"let {'it' if len(skipped) == 1 else 'them'} run"
    if clause.unknown:
        return (
            f"not measured: {', '.join(clause.unknown)}",
            f"see how it is measured (phase-gate explain {clause.unknown[0]})",
        )
    reasons = (
        words + _name_files(name, findings)
        for name in clause.values
        if (words := _in_words(name, phase, metrics, clause))
    )
    reason = next(reasons, f"{clause.text} is not met ({clause.shown})")
    if "consecutive_green_runs" in clause.values:
        flaky = [finding for finding in findings if finding.slug == "flaky"]
        changed = [finding.file for finding in findings if finding.slug == STREAK_STARTS_OVER]
        return reason, f"make {_first(flaky)} pass without a rerun" if flaky else hint_at_outputs(changed)
    todo = (words for name, words in _TO_DO.items() if name in clause.values)
    return reason, next(todo, f"change what has to change for {clause.text}")


def _in_words(name: str, phase: Phase, metrics: Metrics, clause: Clause) -> str:
    """Return what a clause misses of one of its metrics; empty if its text and values are clearer."""
    if name in _ABSENT and not clause.values[name]:
        return _ABSENT[name]
    if name in ("tests_failing", "tests_passing"):
        return _passing_words(phase, metrics)
    if name == "tests_total":
        return _total_words(phase, metrics, clause)
    have = clause.values[name]
    needs = [value for other, value in clause.values.items() if other != name]
    if not needs and (literal := re.fullmatch(rf"{name} >= (\d+)", clause.text)):
        needs = [int(literal[1])]
    if len(needs) != 1 or not isinstance(have, int) or not isinstance(needs[0], int) or have >= needs[0]:
        return ""
    if name == "consecutive_green_runs":
        return _streak_words(metrics, needs[0] - have)
    return _HAS_OF_NEEDS.get(name, "").format(have, needs[0])


def _streak_words(metrics: Metrics, missing: int) -> str:
    if flaky := metrics.get("tests_flaky"):
        return f"{count(int(flaky), 'test')} passed only after a rerun: the streak starts over"
    run = "one more green run" if missing == 1 else f"{missing} more green runs"
    return f"needs {run} with no file changes"


def _passing_words(phase: Phase, metrics: Metrics) -> str:
    passing = metrics.get("tests_passing")
    if phase.tests == "failing" and isinstance(passing, int) and passing > 0:
        return (
            f"{count(passing, 'test')} already {'passes' if passing == 1 else 'pass'}, but a new test must fail first"
        )
    return ""


def _total_words(phase: Phase, metrics: Metrics, clause: Clause) -> str:
    total, criteria = metrics.get("tests_total"), metrics.get("criteria_count")
    if total == 0:
        if phase.tests == "failing" and metrics.get("suite_total"):
            return "no new or changed test: write the test for this step first"
        return "no test counts: nothing measured is never enough"
    if "criteria_count" in clause.values:
        return f"{count(int(total or 0), 'test')} for {criteria} criteria"
    return ""


#: What is there, and what is required.
_HAS_OF_NEEDS = {
    "docs_generated": "{} of {} documents written or changed in this cycle",
    "diagrams_valid": "{} of {} diagrams can be read",
    "indicators": "{} of {} indicators in the last claim",
    "confidence": "confidence {} of {} in the last claim",
}
#: What is missing, with an example of a document.
_ABSENT = {
    "diagrams_total": "there is no diagram in the documents",
    "has_adr": "there is no architecture decision record, like docs/adr/0001-title.md",
    "has_c4_diagrams": "there is no C4 diagram, like one that begins with C4Context",
    "claimed_done": "the last claim is not done, or something contradicts it",
}

#: What to do about a clause.
_TO_DO: Mapping[str, str] = {
    "criteria_count": "write a test for each criterion",
    "tests_total": "write a test that runs",
    "docs_generated": "write them in Markdown, in docs",
    **dict.fromkeys(("diagrams_valid", "all_diagrams_valid"), "fix the diagrams"),
    **dict.fromkeys(("diagrams_total", "has_adr", "has_c4_diagrams"), "add one"),
}

#: Findings that name the files of a clause, and the words before them.
_SPOKEN_OF_BY: Mapping[str, tuple[str, str]] = {
    "consecutive_green_runs": (STREAK_STARTS_OVER, "; the streak starts over because these files changed: "),
    "tests_failing": (ALREADY_PASSING, ": "),
    "tests_passing": (ALREADY_PASSING, ": "),
    "docs_generated": ("document-not-counted", "; not counted: "),
    "diagrams_valid": ("diagram-broken", ": "),
    "has_adr": ("decision-incomplete", "; incomplete: "),
}


# --- ways out of a closed gate

#: Frozen tests or their meaning have changed: if they fail again in RED, they are accepted with the changes.
UNDONE = frozenset({"tests-kept", "tests-unchanged", "rules-unchanged"})
_MAY_GO_BACK = UNDONE | {"targets-proven"}
#: Only the phase that sees tests fail can fix it.
_HAS_TO_GO_BACK = "red-was-seen"
#: Guards that send the user back to the phase in which tests fail.
SENDS_BACK = _MAY_GO_BACK | {_HAS_TO_GO_BACK}
#: Only a run can fix it, even in a phase without tests.
_TAKES_RUN = frozenset({"code-as-tested", "fix-tested"})
#: A run that does not count requires another one, even if a person waives the guard.
_NEVER_WAIVED = "complete-run"


def return_command(workflow: Workflow, phase: Phase, task: str) -> str:
    """Return the command that returns to the phase with failing tests; empty if there is no earlier one."""
    before = workflow.phases[: workflow.phases.index(phase)]
    red = next((each for each in reversed(before) if each.tests == "failing"), None)
    if red is None:
        return ""
    if red is workflow.first and workflow.start == "any":
        return run_command(red.name, task)
    return rewind_command(red.name, task)


def describe_decisions(task: str) -> str:
    """Return the decisions of a person while the circuit is open, with their commands."""
    reset, skip = breaker_command("reset", task), breaker_command("skip", task)
    return f"a person may try once more: {reset}; or give the phase up: {skip}"


_Decision = Literal["reset", "skip"]


def breaker_command(action: _Decision, task: str) -> str:
    """Return the command for a person while the circuit is open."""
    return of_task(f'phase-gate breaker {action} --reason "..." --by NAME', task)


def waive_command(guard: str, task: str) -> str:
    """Return the command for a person to waive a guard's current findings."""
    return of_task(f'phase-gate waive {guard} --reason "..." --by NAME', task)


def suggest_command(guard: str, workflow: Workflow, phase: Phase, task: str) -> str:
    """Return the command to type if a guard is not met; empty if something else has to be done first."""
    back = return_command(workflow, phase, task)
    if guard == _HAS_TO_GO_BACK and back:
        return back
    if guard in _TAKES_RUN:
        return run_command(phase.name, task)
    # The same command alone would be refused again: the change to make comes first.
    return "" if guard in UNDONE else phase_command(phase, task)


def _how_to_undo(remedy: str, found: Collection[Finding]) -> str:
    """Return what to do about changes: an option that was not given when the tests were frozen is left out."""
    added = [each for each in found if each.change == "added" and each.id.startswith(OPTION)]
    others = dict.fromkeys(each.place or each.detail for each in found if each not in added)
    ways = [f"leave out {name_first(each.id.removeprefix(OPTION) for each in added)}"] if added else []
    ways += [f"{remedy}{': ' if others else ''}{name_first(others)}"] if others or not added else []
    return ", and ".join(ways)


def suggest_steps(guard: Guard, found: Collection[Finding], workflow: Workflow, phase: Phase, task: str) -> str:
    """Return what to do if a guard is not met, before its command or instead.

    :param found: its findings, which a person could waive.
    """
    name, remedy, back = guard.name, guard.remedy, return_command(workflow, phase, task)
    ways = [remedy] if remedy else []
    if name in UNDONE:
        ways = [f"{_how_to_undo(remedy, found)}, then run: {phase_command(phase, task)}"]
    if name in _MAY_GO_BACK and back:
        ways.append(f"or go back: {back}")
    # The reviewers of a pipeline agree on its documents: no message offers to skip them.
    if found and name != _NEVER_WAIVED and (workflow.pipeline is None or phase.tests != "none"):
        waive = f"or waive it: {waive_command(name, task)}"
        if name == _HAS_TO_GO_BACK:
            # A command follows, and it belongs to the remedy.
            return f"{remedy} ({waive})"
        ways.append(waive)
    return "; ".join(ways)
