"""A verdict in one word and a sentence, what to type next, and the ways out of a closed gate.

Pure. Code asks the word; the sentences are for people only. Commands are for the task's own workflow: none of them
names a phase that it does not have.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.values import Literal, Value
from phase_gate.workflow.names import of_task, rewind_command, run_command, step_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.workflow.model import Phase, Workflow

Status = Literal[
    "unstarted",  # no run or verdict of the present phase yet
    "running",  # a run has not ended yet
    "stale",  # something came after the last verdict
    "void",  # the run did not count
    "closed",  # Gate 1 is closed
    "early",  # the exit signal came while Gate 1 was closed
    "failed",  # the gate of a pipeline, or an attempt at a verify task, failed, and another try follows
    "waiting",  # Gate 1 is open, Gate 2 is not; or a verify task waits for its executor, its command or its reviewer
    "open",  # the phase has exited
    "needs-person",  # the signal, or a verify task, asks for a person
    "halted",  # the circuit is open
    "stuck",  # a pipeline has spent its recoveries
]

_LEADS: Mapping[str, str] = {
    "void": "go on: ",
    "closed": "go on: ",
    "early": "signal came too early: ",
    "needs-person": "stop: ",
    "halted": "halt: ",
}


def show_verdict(status: str, reason: str) -> str:
    """Return a verdict as a sentence."""
    return f"{_LEADS.get(status, '')}{reason}"


def show_next(command: str, hint: str) -> str:
    """Return the next step in one line that can be copied as a whole: what follows # is a comment to a shell."""
    return f"{command}  # {hint}" if command and hint else command or hint


class Verdict(Value, kw_only=False):
    """Where a task stands, why, and what follows: of an iteration, or of a look."""

    status: Status
    reason: str
    #: Something that can be typed as it stands, or empty.
    next_command: str = ""
    #: A sentence for people, or empty: what to do where nothing can be typed, or what the command is good for.
    next_hint: str = ""

    @property
    def verdict(self) -> str:
        """The verdict as a sentence."""
        return show_verdict(self.status, self.reason)

    @property
    def next_step(self) -> str:
        """The next command, the hint, or both, in one line."""
        return show_next(self.next_command, self.next_hint)


# --- ways out of a closed gate

#: Tests, or what gives them their meaning, are not as they were frozen: failing anew, they are taken as they are.
UNDONE = frozenset({"tests-kept", "tests-unchanged", "rules-unchanged"})
_MAY_GO_BACK = UNDONE | {"targets-proven"}
#: Only the phase that sees tests fail can mend it.
_HAS_TO_GO_BACK = "red-was-seen"
#: Guards that send the user back to the phase in which tests fail.
SENDS_BACK = _MAY_GO_BACK | {_HAS_TO_GO_BACK}
#: Only a run can mend it, in a phase without tests, too.
_TAKES_RUN = frozenset({"code-as-tested", "fix-tested"})
#: A run that does not count is followed by another one, even if a person lets it pass.
_NEVER_WAIVED = "complete-run"


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


_Decision = Literal["reset", "skip"]


def breaker_command(action: _Decision, task: str) -> str:
    """Return what a person types while the circuit is open."""
    return of_task(f'phase-gate breaker {action} --reason "..." --by NAME', task)


def waive_command(guard: str, task: str) -> str:
    """Return what a person types to let a guard's present findings pass."""
    return of_task(f'phase-gate waive {guard} --reason "..." --by NAME', task)


def way_out(
    guard: str, remedy: str, workflow: Workflow, phase: Phase, task: str, *, has_findings: bool
) -> tuple[str, str]:
    """Return what to type where a guard is not met; and what to do before, or instead.

    :param has_findings: it names something that a person could let pass.
    """
    command, back = way_to(phase, task), way_back(workflow, phase, task)
    ways = [remedy] if remedy else []
    if guard == _HAS_TO_GO_BACK and back:
        command = back
    elif guard in _TAKES_RUN:
        command = run_command(phase.name, task)
    elif guard in UNDONE:
        # The same command alone would be refused once more: what changes something comes first.
        ways, command = [f"{remedy}, then run: {command}"], ""
    if guard in _MAY_GO_BACK and back:
        ways.append(f"or go back: {back}")
    # What a pipeline wants written is agreed on by its reviewers: no message offers to do without.
    if has_findings and guard != _NEVER_WAIVED and (workflow.pipeline is None or phase.tests != "none"):
        ways.append(f"a person may let it pass: {waive_command(guard, task)}")
    return command, "; ".join(ways)
