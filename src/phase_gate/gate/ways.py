"""Ways out of a closed gate: what to type next, what leads back, what a person may decide.

Pure. Commands are for the task's own workflow: none of them names a phase that it does not have.
"""

from __future__ import annotations

from phase_gate.values import Value
from phase_gate.workflow.names import of_task, rewind_command, run_command, step_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from phase_gate.workflow.model import Phase, Workflow

#: Tests, or what gives them their meaning, are not as they were frozen: failing anew, they are taken as they are.
_MAY_GO_BACK = frozenset({"tests-kept", "tests-unchanged", "rules-unchanged", "targets-proven"})
#: Only the phase that sees tests fail can mend it.
_HAS_TO_GO_BACK = "red-was-seen"
#: Guards that send the user back to the phase in which tests fail.
SENDS_BACK = _MAY_GO_BACK | {_HAS_TO_GO_BACK}
#: Only a run can mend it, in a phase without tests, too.
_TAKES_RUN = frozenset({"code-as-tested", "fix-tested"})
#: A run that does not count is followed by another one, even if a person lets it pass.
_NEVER_WAIVED = "complete-run"


class Way(Value, kw_only=False):
    #: Something that can be typed as it stands.
    command: str
    #: What to do before, and what else there is.
    hint: str


def way_to(phase: Phase, task: str) -> str:
    """Return what to type to enter a phase, or to have it judged: a run, or a look where it needs no tests."""
    return step_command(phase.name, task, takes_run=phase.tests != "none")


def way_to_begin(workflow: Workflow, task: str) -> str:
    """Return what to type to begin a cycle: only a pipeline begins without a run."""
    takes_run = workflow.first.tests != "none" or workflow.pipeline is None
    return step_command(workflow.first.name, task, takes_run=takes_run)


def way_back(workflow: Workflow, phase: Phase, task: str) -> str:
    """Return what to type to go back to the phase that wants failing tests; nothing where none comes before."""
    before = workflow.phases[: workflow.phases.index(phase)]
    red = next((each for each in reversed(before) if each.tests == "failing"), None)
    if red is None:
        return ""
    if red is workflow.first and workflow.rewind_by_option:
        return run_command(red.name, task)
    return rewind_command(red.name, task)


def describe_decisions(task: str) -> str:
    """Return what a person may decide while the circuit is open, with what to type."""
    reset, skip = breaker_command("reset", task), breaker_command("skip", task)
    return f"a person may try once more: {reset}; or give the phase up: {skip}"


def breaker_command(action: Literal["reset", "skip"], task: str) -> str:
    """Return what a person types while the circuit is open."""
    return of_task(f'phase-gate breaker {action} --reason "..." --by NAME', task)


def waive_command(guard: str, task: str) -> str:
    """Return what a person types to let a guard's present findings pass."""
    return of_task(f'phase-gate waive {guard} --reason "..." --by NAME', task)


def way_out(guard: str, remedy: str, workflow: Workflow, phase: Phase, task: str, *, has_findings: bool) -> Way:
    """Return how to get on where a guard is not met.

    :param has_findings: it names something that a person could let pass.
    """
    again, back = way_to(phase, task), way_back(workflow, phase, task)
    ways = [remedy] if remedy else []
    if guard == _HAS_TO_GO_BACK and back:
        again = back
    elif guard in _TAKES_RUN:
        again = run_command(phase.name, task)
    elif guard in _MAY_GO_BACK and back:
        ways.append(f"or go back: {back}")
    # What a pipeline wants written is agreed on by its reviewers: no message offers to do without.
    if has_findings and guard != _NEVER_WAIVED and (workflow.pipeline is None or phase.tests != "none"):
        ways.append(f"a person may let it pass: {waive_command(guard, task)}")
    return Way(again, "; ".join(ways))
