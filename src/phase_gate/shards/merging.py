"""One run of many shards: whether they belong together, and what they showed together.

Pure. Names and refuses everything that leaves a doubt that every collected test ran once, on the same code, by the same
rules. Who split the suite, and how, does not matter: what was run is compared with what was collected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence

from phase_gate.gate.measured import merge_values
from phase_gate.gate.outcomes import Bucket
from phase_gate.gate.record import Document
from phase_gate.shards.records import NOTHING_COLLECTED, Shard, ShardError, Split
from phase_gate.values import fields
from phase_gate.visible import count, name_first
from phase_gate.workflow.metrics import MetricValue

#: Names in one message; the rest is counted.
_NAMED = 5


def combine_shards(shards: Sequence[Shard]) -> Document:
    """Return what the shards showed together. Raises ShardError, with names, if they are not one whole run."""
    shards = _refuse_gaps(shards)
    _refuse_mixed(shards)
    _refuse_unfinished(shards)
    return merge_shards(shards, deselected=_find_deselected(shards))


# --- do they belong together? ----------------------------------------------------------------------------------------


def _refuse_gaps(shards: Sequence[Shard]) -> list[Shard]:
    """Return each shard once, in order."""
    _refuse_odd(shards, "the number of shards", lambda shard: str(shard.split), lambda shard: shard.split.total)
    by_index: dict[int, Shard] = {}
    for shard in shards:
        before = by_index.setdefault(shard.split.index, shard)
        if before.id != shard.id:  # a copy of the same file does no harm
            raise ShardError(
                f"{shard.name} is there twice: {before.file} and {shard.file}",
                remedy="remove what is left of an earlier run, or give each shard its own number",
            )
    total = shards[0].split.total
    missing = [str(Split(index, total)) for index in range(1, total + 1) if index not in by_index]
    if missing:
        subject, verb = ("shard", "is") if len(missing) == 1 else ("shards", "are")
        raise ShardError(
            f"{subject} {name_first(missing, _NAMED)} of the run {verb} missing",
            remedy="let every shard run, keep its record, and combine them all",
        )
    return [by_index[index] for index in sorted(by_index)]


def _refuse_mixed(shards: Sequence[Shard]) -> None:
    for shard in shards:
        if shard.facts is None:
            raise ShardError(
                f"{shard.name} began at {shard.began} and never ended: it crashed, or was stopped",
                remedy="run that shard again",
            )
    for what, show in _ALIKE.items():
        _refuse_odd(shards, what, show)
    _refuse_odd(shards, "the workflow", lambda shard: "", lambda shard: repr(shard.workflow))
    for name in sorted({name for shard in shards for name in shard.shown.settings}):
        values = {shard.id: repr(shard.shown.settings.get(name, "not set")) for shard in shards}
        _refuse_odd(shards, f"the setting {name!r}", lambda shard, values=values: values[shard.id])  # type: ignore[misc]
    _refuse_odd(
        shards,
        "the collection",
        lambda shard: _describe_collection(shard, shards),
        lambda shard: (shard.collection, shard.shown.collection_errors),
    )


#: In what the shards of one run are alike, and how that is shown.
_ALIKE: Mapping[str, Callable[[Shard], str]] = {
    "the commit": lambda shard: shard.commit[:12] or "none",
    "the sources": lambda shard: shard.tree.partition(":")[2][:12],
    "the task": lambda shard: shard.task,
    "the phase": lambda shard: shard.phase,
    "Python": lambda shard: ".".join(shard.python.split(".")[:2]),
    "pytest": lambda shard: shard.pytest,
    "the criteria": lambda shard: ", ".join(shard.criteria) or "none",
}


def _refuse_odd(
    shards: Sequence[Shard],
    what: str,
    show: Callable[[Shard], str],
    key: Callable[[Shard], Hashable] | None = None,
) -> None:
    """Refuse shards of which one has another value than most, and name it.

    :param key: what is compared; by default, what is shown.
    """
    values = [(key or show)(shard) for shard in shards]
    usual, times = Counter(values).most_common(1)[0]
    if times == len(values):
        return
    ordinary = shards[values.index(usual)]
    odd = next(shard for shard, value in zip(shards, values, strict=True) if value != usual)
    mine, others = (f" ({text})" if text else "" for text in (show(odd), show(ordinary)))
    raise ShardError(
        f"{odd.name}{mine} and {ordinary.name}{others} are not of one run: they differ in {what}",
        remedy="let all shards run on one commit, with the same settings, and combine only those",
    )


def _describe_collection(shard: Shard, shards: Sequence[Shard]) -> str:
    """Describe a shard's collection, with tests that only this shard has."""
    errors = shard.shown.collection_errors
    failed = f", {name_first(errors, _NAMED)} not imported" if errors else ""
    elsewhere = next((each.collected for each in shards if each.collection != shard.collection), shard.collected)
    own = sorted(set(shard.collected).difference(elsewhere))
    alone = f", among them {name_first(own, _NAMED)}" if own else ""
    return f"{count(len(shard.collected), 'test')} collected{alone}{failed}"


def _refuse_unfinished(shards: Sequence[Shard]) -> None:
    for shard in shards:
        facts = shard.shown
        not_run = [test_id for test_id, bucket in facts.outcomes.items() if bucket == "not-run"]
        if facts.is_void:
            why = "no test was meant to run"
        elif facts.interrupted:
            why = facts.interrupted
        elif not_run:
            why = f"{count(len(not_run), 'test')} of its own did not run: {name_first(sorted(not_run), _NAMED)}"
        elif shard.changed_sources:
            why = f"sources changed while it ran: {name_first(shard.changed_sources, _NAMED)}"
        else:
            continue
        raise ShardError(f"{shard.name} is not complete: {why}", remedy="run that shard again, to its end")


def _find_deselected(shards: Sequence[Shard]) -> frozenset[str]:
    """Return the collected tests that were left out on purpose. Raises ShardError for any that were just lost."""
    owner: dict[str, Shard] = {}
    for shard in shards:
        for test_id in shard.ran:
            before = owner.setdefault(test_id, shard)
            if before is not shard:
                twice = sorted(before.ran & shard.ran)
                raise ShardError(
                    f"{before.name} and {shard.name} both ran {count(len(twice), 'test')}: {name_first(twice, _NAMED)}",
                    remedy="split the suite: does each shard know its number, and have all the tests in one order?",
                )
    unseen = [test_id for test_id in shards[0].collected if test_id not in owner]
    if not unseen:
        return frozenset()
    out_of: dict[str, set[str]] = {}
    for shard in shards:
        for who, places in shard.left_out.items():
            out_of.setdefault(who, set()).update(shard.collected[place] for place in places)
    # What leaves out tests of another shard is what splits: a test that no shard runs is lost by it, not deselected.
    on_purpose = set().union(*(left for left in out_of.values() if left.isdisjoint(owner)))
    lost = [test_id for test_id in unseen if test_id not in on_purpose]
    if lost:
        raise ShardError(
            f"{count(len(lost), 'collected test')} ran in no shard: {name_first(lost, _NAMED)}",
            remedy="split the suite so that each test is in one shard",
        )
    return frozenset(unseen)


# --- what shards showed together, as if one session had shown it


def merge_shards(shards: Sequence[Shard], *, deselected: frozenset[str]) -> Document:
    """Return one session's facts.

    :param deselected: collected tests that were left out on purpose.
    """
    facts = [shard.shown for shard in shards]
    shared = [word for word in facts[0].narrowed_by if all(word in each.narrowed_by for each in facts)]
    if deselected and not shared:
        shared.append(f"{len(deselected)} deselected by a hook")
    measured, complaints = _merge_measured(shards)
    together = {name: merge_values([getattr(each, name) for each in facts]) for name in fields(Document)}
    together |= {
        "outcomes": _merge_outcomes(facts),
        "exit_status": max({each.exit_status for each in facts} - {0, NOTHING_COLLECTED}, default=0),
        "tally": _merge_tallies(facts, len(deselected)),
        "deselected": deselected,
        "sees_whole_files": all(each.sees_whole_files for each in facts),
        "narrowed_by": tuple(shared),
        "modules": _merge_modules(facts),
        "imported": tuple(sorted({path for each in facts for path in each.imported})),
        "measured": measured,
        "complaints": complaints,
        "surroundings": ", ".join(sorted({each.surroundings for each in facts})),
    }
    return Document(**together)


def _merge_outcomes(facts: Sequence[Document]) -> dict[str, Bucket]:
    """Return every test in its bucket. A test that can't be imported in one shard has failed."""
    found = {test_id: bucket for each in facts for test_id, bucket in each.outcomes.items()}
    broken = (
        test_id
        for each in facts
        for test_id, bucket in each.outcomes.items()
        if bucket == "uncollectable" and found[test_id] is not bucket
    )
    return found | dict.fromkeys(broken, "uncollectable")


def _merge_tallies(facts: Sequence[Document], deselected: int) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in facts:
        total.update(each.tally)
    # Every shard sees these, each time the same ones.
    errors = [each.collection_errors for each in facts]
    total["errors"] -= sum(map(len, errors)) - len(merge_values(errors))
    total["skipped"] -= sum(each.skipped_modules for each in facts) - max(each.skipped_modules for each in facts)
    total["deselected"] = deselected
    return {name: number for name, number in total.items() if number > 0}


def _merge_modules(facts: Sequence[Document]) -> dict[str, str]:
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
