"""Every way from one phase of a workflow to another, and why it is taken.

Pure. What diagrams draw, and what is looked at to find phases that nothing leads to or out of; `order` decides which
of them is open now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from phase_gate.values import Value
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import DONE, STUCK

#: Both gates hold; the cycle may end here; back by option; Gate 1 is closed though somebody said done; a change
#: request leads elsewhere; a recovery leads back; no recovery is left.
Why = Literal["next", "end", "rewind", "failure", "request", "recovery", "stuck"]


class Transition(Value):
    source: str
    target: str
    why: Why


def find_transitions(workflow: Workflow) -> tuple[Transition, ...]:
    """Return them phase by phase, each once."""
    found = (each for phase in workflow.phases for each in _leaving(phase, workflow))
    return tuple(dict.fromkeys(found))


def _leaving(phase: Phase, workflow: Workflow) -> Iterator[Transition]:
    def to(targets: Iterable[str], why: Why) -> Iterator[Transition]:
        return (Transition(source=phase.name, target=target, why=why) for target in targets)

    if phase.recovers:
        # The failed phase, or an earlier one that the record names.
        yield from to((each.name for each in workflow.phases if not each.recovers), "recovery")
        yield from to((STUCK,), "stuck")
    else:
        yield from to((phase.next,), "next")
    if phase.may_end_cycle and phase.next != DONE:
        yield from to((DONE,), "end")
    if workflow.rewind_by_option and phase is not workflow.first:
        yield from to((workflow.first.name,), "rewind")
    if phase.on_failure:
        yield from to((phase.on_failure,), "failure")
    if phase.routes and workflow.pipeline is not None:
        yield from to(workflow.pipeline.routes.values(), "request")


def reach(start: str, transitions: Iterable[Transition]) -> frozenset[str]:
    """Return the phases that one may come to from there, itself included."""
    following: dict[str, list[str]] = {}
    for each in transitions:
        following.setdefault(each.source, []).append(each.target)
    reached, left = {start}, [start]
    while left:
        new = set(following.get(left.pop(), ())) - reached
        reached |= new
        left.extend(new)
    return frozenset(reached)
