"""What a test asks for may come out of the sources: values of its rows, and settings.

Pure. A source that changes such a value under the same id changes the test, and no file of tests shows it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.proof.model import TargetProof
from phase_gate.proof.reading import statements_of
from phase_gate.proof.running import SandboxRun
from phase_gate.values import replace
from phase_gate.visible import cut


def find_changed_rows(controls: tuple[SandboxRun, ...], treatment: SandboxRun) -> Iterator[tuple[str, str, str, str]]:
    """Yield the plain values that follow the change, and are the same in every control.

    Each with its test, its parameter, and what it was and is.
    """
    values = [{item.id: item.values for item in run.items} for run in controls]
    for item in treatment.items if values else ():
        for name, after in item.values.items():
            known = {others.get(item.id, {}).get(name, after) for others in values}
            before = min(known)
            if len(known) == 1 and before != after:
                yield item.id, name, before, after


def _find_weaker(controls: tuple[SandboxRun, ...], treatment: SandboxRun) -> Iterator[tuple[str, str]]:
    """Yield the tests that hypothesis tries less hard with the change, and which setting says so."""
    efforts = {item.id: item.effort for run in controls for item in run.items if item.effort}
    for item in treatment.items:
        before, after = efforts.get(item.id, {}), item.effort
        if not before or not after:
            continue
        weaker = {
            "max_examples": after["max_examples"] < before["max_examples"],
            "phases": not {*before["phases"]} <= {*after["phases"]},
            "derandomize": after["derandomize"] and not before["derandomize"],
            "suppress_health_check": not {*after["suppress_health_check"]} <= {*before["suppress_health_check"]},
        }
        for name in (name for name, is_weaker in weaker.items() if is_weaker):
            said = f"hypothesis' {name} was {_show(before[name])} in RED, and is {_show(after[name])} now"
            yield bare_id(item.id), f"{said}; leave its settings to the tests"


def _show(setting: Any) -> str:
    return (", ".join(setting) or "empty") if isinstance(setting, list) else str(setting)


def judge_rows(
    targets: tuple[TargetProof, ...],
    controls: tuple[SandboxRun, ...],
    treatment: SandboxRun,
    read: Callable[[str], bytes],
) -> tuple[tuple[TargetProof, ...], list[str]]:
    """Return the targets, those refuted whose rows mean something else by now, and what is to be said of others.

    Only a row whose id stands in a file of tests: others may well follow the sources, as those of a registry do.
    """
    refuted = dict(_find_weaker(controls, treatment))
    notes = []
    for test_id, name, before, after in find_changed_rows(controls, treatment):
        target, row = bare_id(test_id), test_id.partition("[")[2].removesuffix("]")
        said = f"[{row}] {name} was {cut(before)} in RED, and is {cut(after)} now"
        # One control does not show that the value is the same every time; None in RED is a value that was missing.
        is_plain = len(controls) > 1 and before != "None"
        if is_plain and not _written_ids(read(split_id(test_id)[0])).isdisjoint({row, *row.split("-")}):
            refuted.setdefault(target, f"{said}; write it into the test, or put it back")
        else:
            notes.append(f"a row has another value with the change: {target}{said}")
    judged = (
        replace(each, verdict="row-changed", why=refuted[each.id])
        if each.id in refuted and each.verdict == "proven"
        else each
        for each in targets
    )
    return tuple(judged), notes


def _written_ids(source: bytes) -> set[str]:
    """Return the ids of rows that a file of tests writes out: such a row has one meaning."""
    nodes = [node for statement in statements_of(source) for node in ast.walk(statement)]
    tables = (ast.walk(each) for node in nodes for each in getattr(node, "decorator_list", ()))
    ids = (node for table in tables for node in table if isinstance(node, ast.keyword) and node.arg in ("id", "ids"))
    texts = (node for each in ids for node in ast.walk(each) if isinstance(node, ast.Constant))
    return {node.value for node in texts if isinstance(node.value, str)}
