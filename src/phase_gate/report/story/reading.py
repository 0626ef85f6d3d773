"""Read a task's story from its files. Verifies every line on the way, and only looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phase_gate.errors import StateError, StorageError
from phase_gate.gate.parts import PARTS, load_part
from phase_gate.gate.standing import Standing
from phase_gate.project import Project
from phase_gate.report.story.builder import StoryBuilder
from phase_gate.report.story.model import LedgerCheck, Story
from phase_gate.storage.opening import read_event
from phase_gate.storage.store import TaskStore, now
from phase_gate.task import Task
from phase_gate.values import replace

if TYPE_CHECKING:
    from phase_gate.gate.state import State


def read_story(project: Project, store: TaskStore) -> Story:
    """Return the story as far as it can be trusted: what is behind a damaged line is not told, and the damage is."""
    damaged: list[StateError] = []

    def load(name: str) -> Any:
        try:
            if store.may_lack(name):
                return None  # of an earlier cycle, and no longer kept
            return store.objects.load(name)
        except StateError as error:
            damaged.append(error)
            return None

    builder, events, head = StoryBuilder(load), 0, ""
    lost: tuple[str, ...] = ()
    standing = Standing(is_open=False, status="closed", reason="")  # the damage is told instead, where there is some
    try:
        for line in store.lines():
            read_event(line, builder.see)
            events, head = line.seq, line.hash
        opened = store.look()
        task = Task(project, store, builder.state)
        lost = task.lost_runs
        store.check_objects(opened.state)
        standing = task.standing()
    except StorageError:
        raise
    except StateError as error:
        damaged.append(error)
    # Told once: that is where objects are loaded.
    story = builder.build(
        standing, LedgerCheck(events=events, head=head), at=now(), task=project.task, root=str(project.root), lost=lost
    )
    return _with_damage(_with_parts(project, story, builder.state), damaged)


def _with_parts(project: Project, story: Story, state: State) -> Story:
    """Return the story with what the features of the project tell."""
    look = project.look_at_tasks("phase-gate report")
    told = [load_part(name).sections(state.parts.get(name), folder=project.state_folder, look=look) for name in PARTS]
    return replace(story, more=(*story.more, *(section for sections in told for section in sections)))


def _with_damage(story: Story, damaged: list[StateError]) -> Story:
    if not damaged:
        return story
    first = damaged[0]
    closed = Standing(is_open=False, status="closed", reason=first.problem, next_hint=first.remedy)
    check = replace(story.ledger, problem=first.problem, remedy=first.remedy)
    return replace(story, ledger=check, standing=closed)
