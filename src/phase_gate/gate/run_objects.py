"""What a run leaves behind beside the events of its end: documents too big for the ledger, which names them.

Pure. The shell stores them and hands their digests to `run_end`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.gate.criteria import table_to_json
from phase_gate.gate.freeze import freeze, frozen_to_json
from phase_gate.gate.inventory import Inventory, merge_inventories
from phase_gate.gate.judged_run import JudgedRun
from phase_gate.gate.outcomes import Bucket

#: Failing tests whose message is stored with a run.
_MESSAGES_KEPT = 50


def known_tests(judged: JudgedRun) -> Inventory:
    """Return the tests that the task knows from now on."""
    known, inventory = judged.past.known, judged.record.inventory
    # In the first phase the known set follows the sources; afterwards it may only grow.
    return inventory if judged.in_first_phase or known is None else merge_inventories(known, inventory)


def objects_of(judged: JudgedRun, *, inventory: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the documents of a run that counts, by the names that the event of its end has for them.

    :param inventory: the digest of the run's inventory, which is stored already.
    :param texts: the sources of the target files.
    """
    record, outcomes = judged.record, judged.outcomes
    session = record.session
    ids = sorted(session.outcomes.items())
    objects: dict[str, Any] = {"outcomes": {test_id: bucket for test_id, bucket in ids if bucket is not Bucket.PASSED}}
    if judged.traced.rows:
        objects["criteria"] = table_to_json(record.criteria, judged.traced.rows, phase=judged.phase.name)
    if outcomes.failing:
        # How tests failed, for whoever wants to know later what was tried; not all, if they are many.
        shown = sorted(outcomes.failing)[:_MESSAGES_KEPT]
        objects["failures"] = {test_id: session.messages.get(test_id, "") for test_id in shown}
    if record.meaning.written:
        objects["outputs"] = sorted(record.meaning.written)
    if judged.in_first_phase or judged.state.freeze.current is None:
        objects["frozen"] = frozen_to_json(freeze(record.inventory, record.meaning), inventory=inventory)
    if judged.in_first_phase:
        objects |= {
            "targets": sorted(outcomes.targets),
            # So that `explain` can show what changed. Only the files that this cycle is about.
            "sources": dict(texts),
            "red": _red(judged),
        }
    return objects


def _red(judged: JudgedRun) -> dict[str, Any]:
    """Return what has been red in this cycle, and on which files."""
    record = judged.record
    accepted = {
        test_id: failure
        for test_id, failure in record.session.failures.items()
        if test_id in judged.outcomes.failing and failure.is_accepted
    }
    return {
        "bodies": {**judged.past.red, **{test_id: record.inventory.body(test_id) for test_id in accepted}},
        "modules": sorted({failure.missing for failure in accepted.values() if failure.missing}),
        "tree": record.sources.shown,
        "beside": dict(record.sources.beside),
    }
