"""Evidence of a pipeline: artifacts, votes on them, the constitution, requests, drift, and why a gate failed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from phase_gate.core.pipeline import Pipeline
from phase_gate.core.pipeline_evidence import measure
from phase_gate.core.pipeline_look import Look, Seen
from phase_gate.core.pipeline_order import requires_of
from phase_gate.evidence.artifacts import digest_file, look_at
from phase_gate.evidence.context import PipelineScene, Provider, Scene
from phase_gate.evidence.drift import look_for_drift
from phase_gate.gate.measured import Measured
from phase_gate.storage.tree.fingerprint import compile_globs
from phase_gate.workflow.model import DRIFT, Phase, PipelineRules

#: Metrics that tell where a pipeline is; the others are given where a rule asks for them.
_ALWAYS = frozenset({"attempt", "recoveries", "recovery_target", "lines_changed"})


class PipelineProvider(Provider):
    def measure(self, scene: Scene) -> Measured:
        view = scene.pipeline
        if view is None or view.state.pipeline is None:
            return Measured(warnings=("what a pipeline asks for is unknown: this cycle began as none",))
        found = measure(take_look(scene, view, view.state.pipeline), view.state.pipeline, view.workflow, view.phase)
        wanted = scene.wanted | _ALWAYS
        return Measured(
            metrics={name: value for name, value in found.metrics.items() if name in wanted},
            findings=tuple(each for each in found.findings if not _is_aside(each.slug, view.phase)),
            warnings=found.warnings,
        )


PROVIDER = PipelineProvider()


def _is_aside(slug: str, phase: Phase) -> bool:
    """Tell whether no rule of the phase speaks of a finding: a pending request is none of its business."""
    return slug == "no-pending-request" and slug not in phase.gate_1.guards


def take_look(scene: Scene, view: PipelineScene, pipeline: Pipeline) -> Look:
    """Return what is seen of the project, as far as the phase asks for it."""
    rules = view.workflow.pipeline
    assert rules is not None, "only a pipeline is asked"
    requires = requires_of(view.phase)
    wanted = {*requires.artifacts, *requires.approved, *(name for name in view.phase.raises if name != DRIFT)}
    if requires.consensus is not None:
        wanted |= set(requires.consensus.on)
    drift = None
    if DRIFT in view.phase.raises and rules.drift is not None:
        drift = look_for_drift(scene, rules.drift, pipeline.base, left_out(scene, rules))
    return Look(
        artifacts={
            name: look_at(scene.root, artifact) if name in wanted else Seen()
            for name, artifact in rules.artifacts.items()
        },
        constitution={path: digest_file(scene.root / path) for path in rules.constitution},
        tree=tree_of(view.tree_files(), rules),
        changed_rules=_changed_rules(view, pipeline),
        drift=drift,
    )


def left_out(scene: Scene, rules: PipelineRules) -> Callable[[str], bool]:
    """Return what tells documents and artifacts from the code."""
    matches = compile_globs((*scene.configuration.docs, *(each.path for each in rules.artifacts.values())))
    return lambda path: matches(path) or ".phase-gate" in path.split("/")


def tree_of(files: Mapping[str, str], rules: PipelineRules) -> str:
    """Return a digest of the tree without artifacts: a snapshot is one of them, and can't contain itself."""
    is_artifact = compile_globs([each.path for each in rules.artifacts.values()])
    text = "\0".join(part for pair in sorted(files.items()) for part in pair if not is_artifact(pair[0]))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _changed_rules(view: PipelineScene, pipeline: Pipeline) -> tuple[str, ...]:
    then: Mapping[str, str] = view.load(pipeline.rules)["names"]
    now = view.name_rules()
    return tuple(sorted(name for name in {*then, *now} if then.get(name) != now.get(name)))
