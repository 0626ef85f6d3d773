"""Our own rules, as far as they change what a test means or what a gate asks."""

from __future__ import annotations

from phase_gate.workflow.model import Workflow
from phase_gate.workflow.model_json import name_rules
from phase_gate.workflow.settings import ConfidenceRules, Configuration, ExitGate, ProofSettings, QualitySettings


def own_settings(own: Configuration, workflow: Workflow) -> dict[str, str]:
    """Return what may not change once the tests are frozen, by name."""
    settings = {f"workflow {name}": text for name, text in name_rules(workflow).items()}
    settings["phase-gate.yaml docs"] = ", ".join(own.docs)
    settings |= {f"phase-gate.yaml evidence.commands.{each.name}": each.rule for each in own.commands}
    if own.quality != QualitySettings():
        settings["phase-gate.yaml evidence.quality"] = own.quality.rule
    settings |= {f"phase-gate.yaml evidence.documents.{name}": text for name, text in own.documents.rules.items()}
    if own.proof.rule != ProofSettings().rule:
        settings["phase-gate.yaml proof"] = own.proof.rule
    settings["phase-gate.yaml freeze"] = ", ".join(own.freeze)
    settings["phase-gate.yaml overrides.allow_non_interactive"] = str(own.allow_non_interactive).lower()
    for section, rules, usual in (
        ("exit_gate", own.exit_gate, ExitGate()),
        ("confidence", own.confidence, ConfidenceRules()),
    ):
        if rules != usual:
            settings[f"phase-gate.yaml {section}"] = repr(rules)
    return settings
