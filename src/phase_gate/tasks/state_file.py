"""STATE.md: the verify tasks for people, written after every step and never read back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.errors import StorageError
from phase_gate.project import Project
from phase_gate.storage.files import REAL, make_folder, write_atomically
from phase_gate.storage.places import make_state_folder
from phase_gate.storage.root import place_below
from phase_gate.tasks.model import Verification
from phase_gate.tasks.overview import RECENT, Overview, failures_to_json, stats_to_json
from phase_gate.tasks.result import skip_to_json, status_to_json
from phase_gate.tasks.rules import escalate
from phase_gate.tasks.show import task_block, task_rows

FILE_NAME = "STATE.md"


def state_file(project: Project) -> Path:
    """Return where the file is, or will be. Raises ConfigurationError if that is outside of the project."""
    named = project.configuration.verification.state_file
    if named is None:
        return project.state_folder / FILE_NAME
    return place_below(project.root, named, setting="verification.state_file")


def write_state_file(
    project: Project, overview: Overview, verification_of: Callable[[str], Verification | None]
) -> bool:
    """Write the file; tell whether that was possible. The ledger has everything anyway."""
    path = state_file(project)
    text = render_state(overview, verification_of)
    with contextlib.suppress(StorageError):
        make_state_folder(project.state_folder)
        make_folder(REAL, path.parent)
        write_atomically(REAL, path, text.encode("utf-8", "replace"), durable=False)
        return True
    return False


def render_state(overview: Overview, verification_of: Callable[[str], Verification | None]) -> str:
    """Return the whole file."""
    parts = ["# State of the verification gate", "Written by `phase-gate verify`; changes made here are lost."]
    current = overview.current
    verification = None if current is None else verification_of(current.task)
    if current is not None and verification is not None:
        parts.append("\n".join(task_block(verification)))
        escalation = escalate(verification, overview.halted(verification.spec.wave))
        parts.append(_yaml({"current_task": status_to_json(current.task, verification, escalation)}))
    stats = stats_to_json(overview)
    parts += ["## Statistics", _yaml({"gate_stats": stats})]
    if overview.rows:
        parts += ["## Tasks", "```text\n" + "\n".join(task_rows(overview.rows)) + "\n```"]
    rows = [skip_to_json(row) for row in overview.rows if row.skip is not None]
    if rows:
        forced = sum(row["skip_kind"] is None for row in rows)
        parts += [
            "## Not verified",
            f"Warning: {len(rows)} of {overview.total} tasks did not pass the gate; {forced} of them were forced.",
            _yaml({"tasks": rows}),
        ]
    concerns = [{"task": row.name, "status": row.word, "because": list(row.weak_because)} for row in overview.rows]
    concerns = [row for row in concerns if row["because"]]
    if concerns:
        parts += ["## Concerns", _yaml({"concerns": concerns})]
    failures = overview.failures[:RECENT]
    if failures:
        parts += ["## Failure log", _yaml({"recent_failures": failures_to_json(failures)})]
    return "\n\n".join(parts) + "\n"


def _yaml(document: Mapping[str, Any]) -> str:
    import yaml

    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)
    # What a user wrote must not end the block.
    return "```yaml\n" + text.replace("```", "'''") + "```"
