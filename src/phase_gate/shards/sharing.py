"""The records of shards in the store that the task is shared in: an event names each, and an object has it.

So nothing has to be carried from job to job. The ledger's own chain, and its key, vouch for what a shard wrote; what
was part of a run is spent; and a shard that ran to its end is not run again in the same round: then all of them are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from phase_gate.errors import ShardError
from phase_gate.gate.state import Event
from phase_gate.shards.records import SCHEMA, Shard, Split, shard_from_json, shard_to_json
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.store import TaskStore
from phase_gate.values import Value

BEGAN, ENDED = "shard-began", "shard-ended"

#: Variables by which CI systems name a pipeline: two of them at once on one commit are two rounds.
_ROUNDS = (
    ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT"),
    ("CI_PIPELINE_ID",),
    ("BUILDKITE_BUILD_ID",),
    ("CIRCLE_WORKFLOW_ID",),
    ("BUILD_TAG",),
    ("BUILD_BUILDID",),
)


def round_of(environment: Mapping[str, str]) -> str:
    """Return the name of the CI's pipeline; empty where no variable says one."""
    for names in _ROUNDS:
        if environment.get(names[0]):
            return "-".join(environment.get(name, "") for name in names)
    return ""


@again_if_moved
def hand_in(store: TaskStore, *shards: Shard, round_name: str) -> None:
    """Write records of one shard into the shared store: that it began, that it ended, or both."""
    with store.transaction() as change:
        for shard in shards:
            record = store.keep("evidence", shard_to_json(shard))
            data = {
                "shard": shard.id,
                "index": shard.split.index,
                "total": shard.split.total,
                "phase": shard.phase,
                "commit": shard.commit,
                "round": round_name,
                "record": record,
                "schema": SCHEMA,
            }
            change.record(Event(kind=BEGAN if shard.facts is None else ENDED, data=data))


# --- what the ledger says


class Handed(Value):
    """One shard of a round, as its events tell."""

    shard: str
    split: Split
    record: str
    schema: int
    has_ended: bool


class Round(Value):
    """The shards that belong together, by their numbers."""

    name: str
    phase: str
    commit: str
    shards: Mapping[int, Handed]

    @property
    def missing(self) -> list[str]:
        """The shards that have not ended, as they are typed."""
        total = next((each.split.total for each in self.shards.values()), 0)
        numbers = range(1, total + 1)
        return [
            str(Split(number, total))
            for number in numbers
            if number not in self.shards or not self.shards[number].has_ended
        ]


def find_round(events: Iterable[Event], *, commit: str, name: str) -> Round | None:
    """Return the newest round of shards on this commit whose records were not part of a run yet; None: there is none.

    :param name: only the round of this name, if it is not empty.
    """
    rounds: dict[tuple[str, str, str, int], dict[int, Handed]] = {}
    newest: tuple[str, str, str, int] | None = None
    for event in events:
        data = event.data
        if event.kind == "run-started":
            spent = {*data.get("shards", ())}
            if spent:
                for key, shards in rounds.items():
                    rounds[key] = {number: each for number, each in shards.items() if each.shard not in spent}
        if event.kind not in (BEGAN, ENDED) or data["commit"] != commit or (name and data["round"] != name):
            continue
        key = (data["round"], data["phase"], data["commit"], data["total"])
        shards = rounds.setdefault(key, {})
        handed = Handed(
            shard=data["shard"],
            split=Split(data["index"], data["total"]),
            record=data["record"],
            schema=data["schema"],
            has_ended=event.kind == ENDED,
        )
        before = shards.get(data["index"])
        if event.kind == BEGAN:
            if before is not None and before.has_ended:
                shards.clear()  # it was done: this is another round, and the others have to run in it, too
            shards[data["index"]] = handed
        elif before is None or before.shard != data["shard"]:
            continue  # of a round that is over, or of a shard that was begun anew elsewhere
        else:
            shards[data["index"]] = handed
        newest = key
    if newest is None or not rounds[newest]:
        return None
    return Round(name=newest[0], phase=newest[1], commit=newest[2], shards=rounds[newest])


# --- reading, and waiting for them


def collect_shards(
    store: TaskStore,
    *,
    commit: str,
    environment: Mapping[str, str],
    wait: Callable[[Round | None], bool],
) -> list[Shard]:
    """Return the records of the newest round on this commit. Raises ShardError if there is none.

    :param wait: is told what is there while a shard is missing; waits, and tells whether to look again.
    """
    name = round_of(environment)
    while True:
        store.look()
        found = find_round((line.event for line in store.lines()), commit=commit, name=name)
        if (found is not None and not found.missing) or not wait(found):
            break
    if found is None:
        assert store.shared is not None, "it was chosen"
        raise ShardError(
            f"no shard that ran on commit {commit[:12] or 'none'} waits in {store.shared.shown}",
            remedy="let every shard run with the same store: pytest --phase=PHASE --phase-shard=I/N",
        )
    return [_load(store, each) for _, each in sorted(found.shards.items())]


def _load(store: TaskStore, handed: Handed) -> Shard:
    document: Any = store.objects.load(handed.record)
    try:
        if handed.schema != SCHEMA:
            raise ValueError("another version's")
        shard = shard_from_json(document, file=f"the record of shard {handed.split} in the store")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ShardError(
            f"shard {handed.split} wrote another record than this version reads",
            remedy="let the same version of pytest-phase-gate run the shards and combine them",
        ) from None
    if (shard.id, shard.split) != (handed.shard, handed.split):
        raise ShardError(
            f"the record of shard {handed.split} is another shard's", remedy="run that shard again, and combine them"
        )
    return shard
