"""Combine shards into one run, with the same start record, evaluation and end record as any other run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from phase_gate.gate.record import JudgedRun
from phase_gate.project import Project
from phase_gate.runs.hello import Hello
from phase_gate.runs.recorder import Recorder
from phase_gate.shards.merging import combine_shards
from phase_gate.shards.records import Shard, ShardError
from phase_gate.storage.git_command import head_of
from phase_gate.storage.signal_file import read_signal_file
from phase_gate.storage.store import TaskStore


def combine_run(
    project: Project, store: TaskStore, shards: Sequence[Shard], *, exit_signal: str | None, reports: tuple[str, ...]
) -> JudgedRun:
    """Record the run that these shards are. Raises ShardError, before anything is written, if they are none.

    :param reports: files from the root, and folders with a slash, that are no part of what was tested.
    """
    facts = combine_shards(shards)
    first = shards[0]
    _refuse_other_place(project, first)
    _refuse_spent(store, shards)
    hello = Hello(
        phase=first.phase,
        start=project.root,
        exit_signal=exit_signal,
        criteria=first.criteria_given or None,
        arguments=("phase-gate", "combine"),
        signal=read_signal_file(store.signal_file),
        at=time.time(),
        writes=tuple((project.root / path.removesuffix("/"), "/" * path.endswith("/")) for path in reports),
    )
    run = Recorder(
        project,
        first.workflow,
        store,
        hello,
        start_facts=_start_facts(shards),
        # Again, when nothing can come between: another machine may be combining them, too.
        refuse=lambda: _refuse_spent(store, shards),
    )
    run.check_order()
    _take_criteria(run, first)
    written = {path for shard in shards for path in shard.written}
    try:
        run.begin()
        return run.end(facts, is_output=written.__contains__)
    finally:
        run.close()


def _start_facts(shards: Sequence[Shard]) -> Mapping[str, Any]:
    versions = sorted({shard.python for shard in shards})
    return {
        "python": ", ".join(versions),
        "pytest": shards[0].pytest,
        "shards": sorted({shard.id for shard in shards}),
    }


def _refuse_other_place(project: Project, shard: Shard) -> None:
    """Raise ShardError for shards of another task, commit or tree."""
    if shard.task != project.task:
        raise ShardError(
            f"the shards are of task {shard.task}, and this is task {project.task}",
            remedy=f"phase-gate ci combine --task={shard.task} DIR",
        )
    here = head_of(project.root)
    if here != shard.commit:
        raise ShardError(
            f"the shards ran on commit {shard.commit[:12] or 'none'}, and here is {here[:12] or 'none'}",
            remedy="check out the commit that they ran on",
        )
    # Jobs hand reports and the like on, and git has the data of this commit.
    if project.take_tree(new_data=False).digest != shard.tree:
        raise ShardError(
            "the shards ran on other sources than this checkout has",
            remedy="combine them in a clean checkout of the same commit, made as theirs was",
        )


def _refuse_spent(store: TaskStore, shards: Sequence[Shard]) -> None:
    """Refuse a shard that was part of a run already: combining twice is not running twice."""
    names = {shard.id: shard.name for shard in shards}
    for line in store.lines():
        if line.event.kind == "run-started":
            spent = sorted(names[each] for each in line.event.data.get("shards", ()) if each in names)
            if spent:
                run = str(line.event.data["run"])[:8]
                raise ShardError(
                    f"{spent[0]} is part of run {run} already: combining again is not running again",
                    remedy="run all shards again, and combine what they write",
                )


def _take_criteria(run: Recorder, shard: Shard) -> None:
    """Take the run's criteria. Raises ShardError if the shard looked for others."""
    run.take_criteria()
    criteria = run.criteria
    if tuple(sorted(criteria.ids)) != shard.criteria:
        raise ShardError(
            f"the shards looked for the criteria {', '.join(shard.criteria) or 'none'}, and this task has"
            f" {', '.join(criteria.ids) or 'none'}",
            remedy="give the shards the same --phase-criteria as the task has",
        )
