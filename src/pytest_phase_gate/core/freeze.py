"""The freeze at the first phase's exit: the tests, and what gives them their meaning.

Pure. From then on a test that is gone, altered, or means something else closes the gate; new ones may come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_phase_gate.core.findings import Finding
from pytest_phase_gate.core.inventory import Inventory, bare_name, join_id
from pytest_phase_gate.core.module_code import ModuleStatement, find_changes


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportFile:
    """A file that tests use: its content, and for Python the hashes of its statements."""

    content: str
    statements: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """Everything beside the tests' own bodies that decides what they say, at one moment."""

    #: Statements of the files with tests whose content is not the frozen one.
    modules: Mapping[str, tuple[ModuleStatement, ...]] = field(default_factory=dict)
    #: Content and, for Python, statements of the files that tests use.
    support: Mapping[str, tuple[str, tuple[ModuleStatement, ...] | None]] = field(default_factory=dict)
    #: Files among them that the run itself has written: they are its output.
    written: frozenset[str] = frozenset()
    #: pytest's settings and our own rules, by name.
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """What was so when the tests were frozen."""

    inventory: Inventory
    support: Mapping[str, SupportFile]
    settings: Mapping[str, str]


def freeze(inventory: Inventory, meaning: Meaning) -> Frozen:
    return Frozen(
        inventory=inventory,
        support={
            path: SupportFile(content=content, statements=None if rows is None else _hashes(rows))
            for path, (content, rows) in meaning.support.items()
        },
        settings=dict(meaning.settings),
    )


def _hashes(rows: tuple[ModuleStatement, ...]) -> tuple[str, ...]:
    return tuple(row.hash for row in rows)


def _hash_code(rows: tuple[ModuleStatement, ...]) -> str:
    """Return a hash of the code, not of the text: what is reformatted under a waiver is still what was waived."""
    return hashlib.sha256("\n".join(_hashes(rows)).encode()).hexdigest()


def find_altered(frozen: Frozen, inventory: Inventory, meaning: Meaning) -> list[Finding]:
    """Return what changed about the frozen tests and the code and data around them."""
    findings = _altered_bodies(frozen.inventory, inventory)
    for path, now in meaning.modules.items():
        before = frozen.inventory.files.get(path)
        if before is not None:
            proof = _hash_code(now)
            findings += _code_changes(path, before.statements, now, "the code around its tests changed", proof)
    for path, file in frozen.support.items():
        found = meaning.support.get(path)
        if found is None:
            if path not in meaning.written:
                findings.append(_altered(path, "a file that the tests use is gone"))
        elif found[0] != file.content:
            if file.statements is not None and found[1] is not None:
                findings += _code_changes(
                    path, file.statements, found[1], "a file that the tests use changed", _hash_code(found[1])
                )
            else:
                findings.append(_altered(path, "a file that the tests use changed", proof=found[0]))
    folders = {path.rpartition("/")[0] for path in frozen.inventory.files}
    for path in meaning.support:
        if path.endswith("conftest.py") and path not in frozen.support and _is_above(path, folders):
            findings.append(_altered(path, "a new conftest.py above frozen tests", proof=meaning.support[path][0]))
    return findings


def _altered_bodies(frozen: Inventory, now: Inventory) -> list[Finding]:
    findings = []
    for path, file in frozen.files.items():
        found = now.files.get(path)
        if found is None or found.content == file.content:
            continue
        if not path.endswith(".py"):
            # A text with examples, say: the file itself is the test.
            findings.append(_altered(path, "a file of tests is not the one that was frozen", proof=found.content))
            continue
        present = {bare_name(name) for name in found.ids}
        for name, body in file.bodies.items():
            if name in present and found.bodies.get(name, "") != body:
                findings.append(
                    Finding(
                        slug="tests-unchanged",
                        tier="hard",
                        id=join_id(path, name),
                        file=path,
                        detail="its body is not the one that was frozen",
                        proof=found.bodies.get(name, ""),
                    )
                )
    return findings


def _code_changes(
    path: str, before: tuple[str, ...], now: tuple[ModuleStatement, ...], what: str, proof: str
) -> list[Finding]:
    return [_altered(path, what, line or None, proof) for line in find_changes(before, now)]


def _altered(path: str, detail: str, line: int | None = None, proof: str = "") -> Finding:
    return Finding(slug="tests-unchanged", tier="hard", file=path, line=line, detail=detail, proof=proof)


def _is_above(conftest: str, folders: set[str]) -> bool:
    home = conftest.rpartition("/")[0]
    return any(not home or folder == home or folder.startswith(f"{home}/") for folder in folders)


def find_changed_settings(frozen: Frozen, settings: Mapping[str, str]) -> list[Finding]:
    """Return the settings that are not what they were: pytest's and our own."""
    return [
        Finding(
            slug="rules-unchanged",
            tier="hard",
            id=name,
            detail=f"was {_show(frozen.settings.get(name))}, is {_show(settings.get(name))}",
            proof=hashlib.sha256(repr(settings.get(name)).encode("utf-8", "replace")).hexdigest(),
        )
        for name in sorted({*frozen.settings, *settings})
        if frozen.settings.get(name) != settings.get(name)
    ]


def _show(value: str | None) -> str:
    if value is None:
        return "not set"
    return repr(value if len(value) <= 60 else f"{value[:57]}...")


def frozen_to_json(frozen: Frozen, *, inventory: str) -> dict[str, Any]:
    """Return the freeze as a document; the inventory stands in it by its own digest."""
    return {
        "inventory": inventory,
        "support": {
            path: {"content": file.content, "statements": None if file.statements is None else list(file.statements)}
            for path, file in frozen.support.items()
        },
        "settings": dict(frozen.settings),
    }


def frozen_from_json(document: Mapping[str, Any], inventory: Inventory) -> Frozen:
    return Frozen(
        inventory=inventory,
        support={
            path: SupportFile(
                content=row["content"], statements=None if row["statements"] is None else tuple(row["statements"])
            )
            for path, row in document["support"].items()
        },
        settings=document["settings"],
    )
