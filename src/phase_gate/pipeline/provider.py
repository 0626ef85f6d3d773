"""Evidence of a pipeline: artifacts, votes on them, the constitution, requests, drift, and why a gate failed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.errors import ConditionError, ConfigurationError, WorkflowError
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import Measured
from phase_gate.pipeline.artifacts import digest_file, look_at
from phase_gate.pipeline.evidence import measure
from phase_gate.pipeline.model import Pipeline
from phase_gate.pipeline.order import rules_of
from phase_gate.pipeline.seen import Drifted, SeenArtifact, SeenProject
from phase_gate.storage.tree.fingerprint import compile_globs
from phase_gate.storage.tree.git import NoGitError, run_git
from phase_gate.values import Value
from phase_gate.workflow.model import DRIFT, Drift, Phase, PipelineRules, Workflow, requires_of

#: Metrics that tell where a pipeline is; the others are given where a rule asks for them.
_ALWAYS = frozenset({"attempt", "recoveries", "recovery_target", "lines_changed"})


class PipelineView(Value):
    """What only this provider looks at."""

    workflow: Workflow
    phase: Phase
    pipeline: Pipeline
    #: Returns a stored object.
    load: Callable[[str], Any]
    #: Returns the rules that hold now, each under its name.
    name_rules: Callable[[], Mapping[str, str]]
    #: Returns the commands of checks, by the names of their rules.
    name_commands: Callable[[], Mapping[str, str]]
    #: Returns the files of the tree, with ids of their contents.
    tree_files: Callable[[], Mapping[str, str]]


class PipelineProvider(Provider):
    def __init__(self, view: PipelineView) -> None:
        self._view = view

    def measure(self, context: EvidenceContext) -> Measured:
        view = self._view
        found = measure(look_at_project(context, view), view.pipeline, view.workflow, view.phase)
        wanted = context.wanted | _ALWAYS
        return Measured(
            metrics={name: value for name, value in found.metrics.items() if name in wanted},
            findings=tuple(each for each in found.findings if not _is_aside(each.slug, view.phase)),
            warnings=found.warnings,
        )


def _is_aside(slug: str, phase: Phase) -> bool:
    """Tell whether no rule of the phase speaks of a finding: a pending request is none of its business."""
    return slug == "no-pending-request" and slug not in phase.gate_1.guards


def look_at_project(context: EvidenceContext, view: PipelineView) -> SeenProject:
    """Return what is seen of the project, as far as the phase asks for it."""
    rules = rules_of(view.workflow)
    requires = requires_of(view.phase)
    wanted = {*requires.artifacts, *requires.approved, *(name for name in view.phase.raises if name != DRIFT)}
    if requires.consensus is not None:
        wanted |= set(requires.consensus.on)
    drift = None
    if DRIFT in view.phase.raises and rules.drift is not None:
        drift = look_for_drift(context, rules.drift, view.pipeline.base, left_out(context, rules))
    changed, problem = _changed_rules(view)
    return SeenProject(
        artifacts={
            name: look_at(context.root, artifact) if name in wanted else SeenArtifact()
            for name, artifact in rules.artifacts.items()
        },
        constitution={path: digest_file(context.root / path) for path in rules.constitution},
        tree=tree_of(view.tree_files(), rules),
        changed_rules=changed,
        rules_problem=problem,
        drift=drift,
    )


def left_out(context: EvidenceContext, rules: PipelineRules) -> Callable[[str], bool]:
    """Return what tells documents and artifacts from the code."""
    matches = compile_globs((*context.configuration.docs, *(each.path for each in rules.artifacts.values())))
    return lambda path: matches(path) or ".phase-gate" in path.split("/")


def tree_of(files: Mapping[str, str], rules: PipelineRules) -> str:
    """Return a digest of the tree without artifacts: a snapshot is one of them, and can't contain itself."""
    is_artifact = compile_globs([each.path for each in rules.artifacts.values()])
    text = "\0".join(part for pair in sorted(files.items()) for part in pair if not is_artifact(pair[0]))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _changed_rules(view: PipelineView) -> tuple[tuple[str, ...], str]:
    """Return the names of the rules that have changed, and why the present ones can't be read."""
    then: Mapping[str, str] = view.load(view.pipeline.rules)["names"]
    try:
        now, commands = view.name_rules(), view.name_commands()
    except (ConfigurationError, WorkflowError, ConditionError) as error:
        # The pipeline goes by the rules that it began with: everything else can still be looked at.
        return (), f"can't be read: {error.problem}; {error.remedy}"
    changed = {name for name in {*then, *now} if then.get(name) != now.get(name)}
    # One that was missing may be added; once a phase was entered or judged with it, it stays.
    changed |= {name for name, rule in view.pipeline.commands.items() if commands.get(name) != rule}
    return tuple(sorted(changed)), ""


# --- what git shows since the plan was approved: configuration files that changed, and how many lines did


def look_for_drift(
    context: EvidenceContext, rules: Drift, base: str, is_left_out: Callable[[str], bool]
) -> Drifted | None:
    """Return what changed since that commit, documents and artifacts left out; None if git can't tell."""
    if not base:
        return None
    root = str(context.root)
    try:
        changed = _count(root, base)
        others = run_git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
    except NoGitError:
        return None
    for path in os.fsdecode(others).split("\0"):
        if path:
            changed[path] = _count_lines(context, path)
    kept = {path: lines for path, lines in changed.items() if not is_left_out(path)}
    return Drifted(files=_configuration(context, rules, kept), lines=sum(kept.values()))


def _count(root: str, base: str) -> dict[str, int]:
    """Return how many lines of which tracked files are not those of a commit."""
    options = ("--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
    changed = {}
    for row in os.fsdecode(run_git(root, "diff", *options, "--relative", base, "--", ".")).split("\0"):
        added, _, rest = row.partition("\t")
        removed, _, path = rest.partition("\t")
        if path:
            # A binary file has dashes there: it changed, by no readable line.
            changed[path] = sum(int(number) for number in (added, removed) if number.isdigit())
    return changed


def _configuration(context: EvidenceContext, rules: Drift, changed: Mapping[str, int]) -> dict[str, str]:
    matches = compile_globs(rules.files)
    return {path: digest_file(context.root / path) for path in changed if matches(path)}


def _count_lines(context: EvidenceContext, path: str) -> int:
    try:
        with (context.root / path).open("rb") as file:
            # A binary file has no lines, as git sees it.
            if b"\0" in file.read(8192):
                return 0
            file.seek(0)
            return sum(1 for _ in file)
    except OSError:
        return 0
