"""The constitution of a pipeline: files that may not change while a cycle lasts, unless a person accepts it."""

from __future__ import annotations

from phase_gate.errors import NotAllowedError
from phase_gate.gate.overrides import Person, refuse_excuse
from phase_gate.gate.state import Event
from phase_gate.pipeline.artifacts import digest_file
from phase_gate.pipeline.begin import override, pipeline_of
from phase_gate.pipeline.model import Pipeline
from phase_gate.pipeline.order import rules_of
from phase_gate.storage.again import again_if_moved
from phase_gate.task import Task
from phase_gate.values import Value

AS_RECORDED = "as recorded"


class Accepted(Value):
    #: Files that are not what was recorded.
    changed: tuple[str, ...]
    #: Digests of all files, as they are recorded now.
    constitution: dict[str, str]


def compare_constitution(task: Task, pipeline: Pipeline) -> dict[str, str]:
    """Return each file of the constitution with what became of it."""
    return {
        path: _compare(pipeline.constitution.get(path, ""), digest_file(task.project.root / path))
        for path in rules_of(task.rules).constitution
    }


def _compare(recorded: str, now: str) -> str:
    if not recorded:
        return "never recorded"
    if not now:
        return "missing"
    return AS_RECORDED if recorded == now else "changed"


@again_if_moved
def accept_constitution(task: Task, person: Person) -> Accepted:
    """Record the files as they are: a person answers for it."""
    root = task.project.root
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        compared = compare_constitution(task.after(change), pipeline_of(change.state))
        changed = tuple(path for path, word in compared.items() if word != AS_RECORDED)
        if not changed:
            raise NotAllowedError("the constitution is as recorded", remedy="there is nothing to accept")
        now = {path: digest_file(root / path) for path in compared}
        missing = [path for path, digest in now.items() if not digest]
        if missing:
            raise NotAllowedError(f"{missing[0]} is missing, so it can't be accepted", remedy="put it back first")
        person.require(change.opened.state, "a change of the constitution")
        refuse_excuse(person.reason)
        data = {"constitution": now, "reason": person.reason, "by": person.by}
        change.record(
            override("constitution-accept", change.state, person, at=change.at),
            Event(kind="constitution-accepted", data=data),
        )
    return Accepted(changed=changed, constitution=now)
