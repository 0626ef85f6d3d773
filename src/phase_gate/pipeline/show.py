"""What a phase of a pipeline asks for, and where a recovery stands, in rows for people."""

from __future__ import annotations

from phase_gate.gate.runs import count
from phase_gate.pipeline.model import Pipeline
from phase_gate.workflow.model import DRIFT, SNAPSHOT, Artifact, Phase, Workflow, requires_of, settle

Rows = list[tuple[str, str]]


def needs_of(workflow: Workflow, phase: Phase, pipeline: Pipeline) -> Rows:
    """Return what the phase requires, each with where it lives."""
    rules = workflow.pipeline
    assert rules is not None, "only a pipeline is asked"
    requires = requires_of(phase)
    rows: Rows = [("artifact", _artifact(rules.artifacts[name])) for name in requires.artifacts]
    rows += [("check", f"{name} (evidence.commands.{name} in phase-gate.yaml)") for name in requires.checks]
    if requires.consensus is not None:
        threshold, voters = settle(requires.consensus.threshold, workflow), settle(requires.consensus.voters, workflow)
        rows.append(
            (
                "consensus",
                f"on {', '.join(requires.consensus.on)}: a score of {threshold:g}, {count(int(voters), 'voter')}; "
                "each votes with phase-gate review vote.yaml",
            )
        )
    rows += [("unchanged", f"{name}, as it was agreed on") for name in requires.approved]
    if DRIFT in phase.raises:
        rows.append(("drift", "changes that the plan did not speak of make change requests"))
    pending = len(pipeline.pending)
    if pending:
        rows.append(("requests", f"{count(pending, 'change request')} without a decision: phase-gate request list"))
    return rows


def _artifact(artifact: Artifact) -> str:
    if artifact.schema == SNAPSHOT:
        return f"{artifact.name}: phase-gate snapshot makes it ({artifact.path})"
    wants = []
    if artifact.schema:
        wants.append(f"JSON, schema {artifact.schema}")
    elif artifact.min_words > 1:
        wants.append(f"{artifact.min_words} different words")
    if artifact.pattern:
        wants.append(f"says {artifact.pattern}")
    return f"{artifact.name}: {artifact.path}" + (f" ({'; '.join(wants)})" if wants else "")


def render_sections(title: str, sections: list[tuple[str, list[str]]], *, markdown: bool) -> str:
    """Return a report with headings; the same in both forms."""
    lines = [f"# {title}" if markdown else title, ""]
    for heading, rows in sections:
        lines += [f"## {heading}", ""] if markdown else [heading]
        lines += [f"- {row}" if markdown else f"  {row}" for row in rows]
        lines.append("")
    return "\n".join(lines).rstrip("\n")
