"""A small project that goes through the shipped pipeline, one honest phase after the other."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

from phase_gate.config.workflow_files import load_shipped_workflow
from phase_gate.gate.state import state_to_json
from phase_gate.storage.opening import Place
from phase_gate.storage.store import TaskStore
from tests.e2e.sessions import ledger
from tests.storage.stores import contents
from tests.support import Project, Result

WORKFLOW = load_shipped_workflow("pipeline")
CHECKS = ("build", "test", "lint", "types", "start")

#: A check fails while a file of its name lies there: the commands themselves may not change on the way.
CONFIGURATION = "workflow: pipeline\nevidence:\n  commands:\n" + "".join(
    f"    {name}: {{run: test ! -e docs/broken-{name}}}\n" for name in CHECKS
)

FOLDER = "docs/pipeline"
PATHS: Mapping[str, str] = {
    "intake-brief": f"{FOLDER}/intake-brief.md",
    "master-plan": f"{FOLDER}/master-plan.md",
    "architecture-plan": f"{FOLDER}/architecture-plan.md",
    "role-plans": f"{FOLDER}/roles/developer.md",
    "review-decision": f"{FOLDER}/review-decision.md",
    "audit-report": f"{FOLDER}/audit.json",
    "production-report": f"{FOLDER}/production-report.md",
    "root-cause": f"{FOLDER}/root-cause.json",
    "recovery-plan": f"{FOLDER}/recovery-plan.md",
    "repository-snapshot": f"{FOLDER}/snapshot.json",
}

LINE = (
    "INTAKE",
    "CONSENSUS_MASTER_PLAN",
    "ARCHITECTURE",
    "CONSENSUS_ARCHITECTURE",
    "ROLE_PLANNING",
    "CONSENSUS_ROLE_PLANS",
    "IMPLEMENTATION",
    "QA_VALIDATION",
    "REVIEW",
    "AUDIT",
    "PRODUCTION_GATE",
)

_WORDS = (
    "This text says plainly what the library lends, to whom, for how many days, what a late book costs, which parts "
    "of the program have to know about money, where reminders come from, why members stay anonymous, and what we leave "
    "for another year because nobody has asked for it yet, whatever that may be worth."
)

#: The phases that change requests lead to.
ROUTES = {
    "scope": "CONSENSUS_MASTER_PLAN",
    "architecture": "CONSENSUS_ARCHITECTURE",
    "dependency": "CONSENSUS_ROLE_PLANS",
    "config": "QA_VALIDATION",
    "requirement": "CONSENSUS_MASTER_PLAN",
}

#: No two artifacts of these stories have the same text: an old one is told by it.
_VERSIONS = itertools.count(1)

#: What the beginning of a story leaves: nothing in it names the folder, so it is played once and copied.
_PLAYED: dict[str, dict[str, bytes]] = {}


def unmet(verdict: Any) -> list[str]:
    return [guard["name"] for guard in verdict["gate_1"]["guards"] if not guard["met"]]


def details(verdict: Any, guard: str) -> str:
    return " | ".join(
        f"{row['id']} {row['detail']}".strip() for row in verdict["findings"] if guard in (row["slug"], row["guard"])
    )


class Pipe:
    """A task in a pipeline, and somebody who does what its phases ask for."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def begin(self, configuration: str = CONFIGURATION, **files: str) -> Pipe:
        self.project.write(
            {
                "phase-gate.yaml": configuration,
                "CONSTITUTION.md": "Members stay anonymous.\n",
                "lending.py": "def fine(days):\n    return 20 * days\n",
                "test_lending.py": "from lending import fine\n\n\ndef test_fine():\n    assert fine(2) == 40\n",
            }
        )
        self.project.commit_all()
        assert self.gate("advance").code == 0
        return self

    def at(self, phase: str) -> Pipe:
        """Begin, and go honestly up to this phase; played once, then copied."""
        known = [name for name in LINE[: LINE.index(phase) + 1] if name in _PLAYED]
        if known:
            for name, content in _PLAYED[known[-1]].items():
                path = self.project.root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        else:
            self.begin()
            _PLAYED[self.phase] = contents(self.project.root)
        while self.phase != phase:
            self.do()
            _PLAYED[self.phase] = contents(self.project.root)
        return self

    # --- what is true

    @property
    def state(self) -> Any:
        """The stored state: `status` would take the tree each time."""
        store = TaskStore(Place(self.project.root / ".phase-gate", "default"))
        return state_to_json(store.read().state)

    @property
    def phase(self) -> str:
        return str(self.state["phase"])

    @property
    def pipeline(self) -> Any:
        return self.state["parts"]["work"]

    @property
    def steps(self) -> list[tuple[str, str]]:
        """The phases that were entered, and how."""
        rows = [line["data"] for line in ledger(self.project) if line["kind"] == "phase-entered"]
        return [(row["phase"], row["how"]) for row in rows]

    # --- what somebody does

    def gate(self, *arguments: str) -> Result:
        return self.project.call(*arguments)

    def read(self) -> Any:
        """Have the phase judged, with nothing signalled; return the verdict."""
        return self.gate("advance", "--json").document

    def signal(self) -> Any:
        return self.gate("signal", "--reason", "as asked for", "--json").document

    def make(self, name: str, text: str | None = None) -> None:
        """Write a new version of an artifact."""
        if name == "repository-snapshot":
            assert self.gate("advance").code in (0, 10)
            return
        usual = f"# {name}\n\nVersion {next(_VERSIONS)}. {_WORDS}\n"
        if name == "review-decision":
            usual += "\nDecision: approved\n"
        elif name == "production-report":
            usual += "\nVerdict: PASS\n"
        elif name == "audit-report":
            usual = json.dumps({"summary": usual, "findings": []})
        elif name == "root-cause":
            usual = self.record()
        self.project.write({PATHS[name]: usual if text is None else text})

    def record(self, **changes: Any) -> str:
        document = {
            "failed_phase": self.pipeline["failed_phase"],
            "summary": f"the gate failed, {next(_VERSIONS)}",
            "root_cause": "nobody looked",
            "requires_phase_rewind_to": None,
        }
        return json.dumps({**document, **changes})

    def ask(self, kind: str, title: str = "another wish", *options: str) -> Result:
        """Ask for a change."""
        return self.gate("pipeline", "request", "new", "--type", kind, "--title", title, *options)

    def audit(self, *findings: Mapping[str, Any]) -> None:
        self.make("audit-report", json.dumps({"summary": f"read it {next(_VERSIONS)}", "findings": list(findings)}))

    def vote(self, by: str, vote: str = "approve", confidence: float = 1.0, **more: Any) -> Result:
        text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in more.items())
        self.project.write({"vote.yaml": f"vote: {vote}\nconfidence: {confidence}\nby: {by}\n{text}"})
        ran = self.gate("pipeline", "vote", "vote.yaml")
        self.project.remove("vote.yaml")
        return ran

    def agree(self) -> None:
        for name in ("ann", "bob"):
            assert self.vote(name).code in (0, 10)

    def prepare(self, *without: str) -> None:
        """Do everything that the present phase asks for, but these: artifacts, or `votes`."""
        for name in MADE[self.phase]:
            if name not in without:
                self.make(name)
        if self.phase in AGREED and "votes" not in without:
            self.agree()

    def do(self) -> None:
        """Go through the present phase, honestly, and enter the one that follows."""
        phase = self.phase
        self.prepare()
        if phase == "QA_VALIDATION":
            ran = self.project.run("--phase=qa_validation")
            assert ran.code == 0, ran.out
        verdict = self.signal()
        assert verdict["can_exit"], verdict
        self.enter()

    def enter(self) -> None:
        """Enter the phase that follows the one that has exited, where its signal has not."""
        if self.phase != "DONE" and self.state.get("exited"):
            assert self.gate("advance").code == 0
            assert not self.state.get("exited")

    def fail(self) -> Any:
        """Let the gate fail: a signal with nothing done. Returns the verdict."""
        if self.phase == "QA_VALIDATION":
            self.project.write({"docs/broken-build": ""})
            self.project.run("--phase=qa_validation")
            verdict = self.signal()
            self.project.remove("docs/broken-build")
            return verdict
        return self.signal()

    def recover(self, rewind: str | None = None) -> Any:
        """Go honestly through the recovery; returns the verdict of its exit."""
        self.make("root-cause", self.record(requires_phase_rewind_to=rewind))
        self.make("recovery-plan")
        self.agree()
        if self.pipeline["failed_phase"] == "QA_VALIDATION" and rewind is None:
            self.project.run("--phase=recovery_loop")
        verdict = self.signal()
        assert verdict["can_exit"], verdict
        self.enter()
        return verdict


#: What has to be written in each phase, and where reviewers are asked.
MADE: Mapping[str, tuple[str, ...]] = {
    "INTAKE": ("intake-brief",),
    "CONSENSUS_MASTER_PLAN": ("master-plan",),
    "ARCHITECTURE": ("architecture-plan", "repository-snapshot"),
    "CONSENSUS_ARCHITECTURE": (),
    "ROLE_PLANNING": ("role-plans",),
    "CONSENSUS_ROLE_PLANS": (),
    "IMPLEMENTATION": ("repository-snapshot",),
    "QA_VALIDATION": (),
    "REVIEW": ("review-decision", "repository-snapshot"),
    "AUDIT": ("audit-report",),
    "PRODUCTION_GATE": ("production-report",),
    "RECOVERY_LOOP": ("root-cause", "recovery-plan"),
}
AGREED = ("CONSENSUS_MASTER_PLAN", "CONSENSUS_ARCHITECTURE", "CONSENSUS_ROLE_PLANS", "RECOVERY_LOOP")
