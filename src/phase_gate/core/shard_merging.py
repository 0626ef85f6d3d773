"""What shards showed together, as if one session had shown it.

Pure. Whether they belong together is decided before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from phase_gate.core.shard_record import Shard
from phase_gate.gate.record import SessionFacts
from phase_gate.gate.test_parts import merge_parts
from phase_gate.workflow.metrics import MetricValue

#: pytest's status for a session without tests: a shard may be empty where there are few.
_NOTHING_COLLECTED = 5


def merge_shards(shards: Sequence[Shard], *, deselected: frozenset[str]) -> SessionFacts:
    """Return one session's facts.

    :param deselected: collected tests that were left out on purpose.
    """
    facts = [shard.shown for shard in shards]
    first = facts[0]
    measured, complaints = _merge_measured(shards)
    shared = [word for word in first.narrowed_by if all(word in each.narrowed_by for each in facts)]
    if deselected and not shared:
        shared.append(f"{len(deselected)} deselected by a hook")
    statuses = {each.exit_status for each in facts} - {0, _NOTHING_COLLECTED}
    return SessionFacts(
        outcomes={test_id: bucket for each in facts for test_id, bucket in each.outcomes.items()},
        exit_status=max(statuses, default=0),
        tally=_merge_tallies(facts, len(deselected)),
        duration_s=max(each.duration_s for each in facts),
        deselected=deselected,
        sees_whole_files=all(each.sees_whole_files for each in facts),
        narrowed_files=frozenset().union(*(each.narrowed_files for each in facts)),
        narrowed_by=tuple(shared),
        collection_errors=first.collection_errors,
        skipped_modules=max(each.skipped_modules for each in facts),
        failures={test_id: failure for each in facts for test_id, failure in each.failures.items()},
        messages={test_id: text for each in facts for test_id, text in each.messages.items()},
        internal_error=any(each.internal_error for each in facts),
        marked={test_id: ids for each in facts for test_id, ids in each.marked.items()},
        settings=first.settings,
        parts=merge_parts(each.parts for each in facts),
        plugins=first.plugins,
        testpaths=first.testpaths,
        modules=_merge_modules(facts),
        imported=tuple(sorted({path for each in facts for path in each.imported})),
        doubts=tuple(dict.fromkeys(doubt for each in facts for doubt in each.doubts)),
        foreign_hooks=tuple(sorted({hook for each in facts for hook in each.foreign_hooks})),
        measured=measured,
        complaints=complaints,
        surroundings=", ".join(sorted({each.surroundings for each in facts})),
        notes=tuple(dict.fromkeys(text for each in facts for text in each.notes)),
    )


def _merge_tallies(facts: Sequence[SessionFacts], deselected: int) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in facts:
        total.update(each.tally)
    # Every shard sees these, each time the same ones.
    total["errors"] -= sum(len(each.collection_errors) for each in facts[1:])
    total["skipped"] -= sum(each.skipped_modules for each in facts) - max(each.skipped_modules for each in facts)
    total["deselected"] = deselected
    return {name: number for name, number in total.items() if number > 0}


def _merge_modules(facts: Sequence[SessionFacts]) -> dict[str, str]:
    """Return where modules were found; outside of the project, if that is so in one shard only."""
    found: dict[str, str] = {}
    for each in facts:
        for name, path in each.modules.items():
            if path.startswith("../") or name not in found:
                found[name] = path
    return found


def _merge_measured(shards: Sequence[Shard]) -> tuple[dict[str, MetricValue], tuple[str, ...]]:
    """Return what plugins measured, as far as all shards agree: half of a suite may measure something else."""
    complaints = list(dict.fromkeys(text for shard in shards for text in shard.shown.complaints))
    first, *others = shards
    measured: dict[str, MetricValue] = {}
    for name in sorted({name for shard in shards for name in shard.shown.measured}):
        value = first.shown.measured.get(name)
        odd = next((shard for shard in others if shard.shown.measured.get(name) != value), None)
        if odd is None:
            measured[name] = value
        else:
            theirs = odd.shown.measured.get(name)
            complaints.append(
                f"metric {name!r} is {value!r} in {first.name} and {theirs!r} in {odd.name}: unknown in the whole run"
            )
    return measured, tuple(complaints)
