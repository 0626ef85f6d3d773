"""What was seen of a pipeline's files, and why an artifact does not count. Pure values; `provider` looks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.gate.findings import Finding
from phase_gate.values import Value, field
from phase_gate.workflow.model import SNAPSHOT, Artifact


class SeenArtifact(Value):
    """An artifact as it is now."""

    #: What matches its glob, from the root.
    files: tuple[str, ...] = ()
    #: Of its content; empty if nothing is there.
    digest: str = ""
    #: What its content lacks, in words.
    problems: tuple[str, ...] = ()
    #: Where it is JSON: what stands in it, read by its schema.
    document: Any = None


class Drifted(Value):
    """What git shows since the plan was approved."""

    #: Configuration files that changed, with digests of their content.
    files: Mapping[str, str] = field(default_factory=dict)
    lines: int = 0


class SeenProject(Value):
    """What was seen of the project."""

    artifacts: Mapping[str, SeenArtifact]
    #: Digests of the constitution's files; empty for one that is not there.
    constitution: Mapping[str, str]
    #: The tree, artifacts left out, as snapshots name it.
    tree: str
    #: Rules that are not what they were when the cycle began.
    changed_rules: tuple[str, ...] = ()
    #: Why the present rules can't be read; empty where they can.
    rules_problem: str = ""
    #: None: unknown.
    drift: Drifted | None = None


def fault_of(seen: SeenArtifact, described: Artifact, *, old: Iterable[str], tree: str) -> str:
    """Say why an artifact does not count; nothing if it does."""
    if not seen.files:
        return "is missing" if described.schema != SNAPSHOT else "is missing: phase-gate pipeline snapshot makes it"
    if seen.problems:
        return "; ".join(seen.problems)
    if described.schema == SNAPSHOT and seen.document.tree != tree:
        return "shows another tree than the present one: phase-gate pipeline snapshot makes it anew"
    if seen.digest in old:
        phrase = "this phase" if described.made == "phase" else "this attempt"
        return f"is what lay there before {phrase} began: it has to be made anew"
    return ""


def fingerprint(*parts: str) -> str:
    """Return what makes two requests the same one."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def hard(slug: str, name: str, detail: str, *, proof: str = "") -> Finding:
    """Return a finding that closes its guard."""
    return Finding(slug=slug, tier="hard", id=name, detail=detail, proof=proof)
