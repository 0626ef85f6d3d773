"""`phase-gate pipeline`, and what other commands say in a pipeline; the clauses are in tests/tasks and tests/e2e."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from pathlib import Path

import jsonschema
import pytest

from tests.e2e.sessions import SCHEMAS
from tests.support import Project
from tests.tasks.pipelines import CONFIGURATION, Pipe

OVERRIDES = "overrides: {allow_non_interactive: true}\n"


@pytest.fixture
def pipe(project: Project) -> Pipe:
    return Pipe(project)


def test_a_phase_says_what_it_asks_for_when_it_begins(pipe: Pipe) -> None:
    pipe.project.write({"phase-gate.yaml": CONFIGURATION, "CONSTITUTION.md": "x\n"})
    ran = pipe.gate("advance")
    assert ran.has(
        "INTAKE begins: The requirements are written down",
        "artifact      intake-brief: docs/pipeline/intake-brief.md (20 different words)",
        "constitution  CONSTITUTION.md: recorded",
        "next: write the required files, then phase-gate advance",
    )
    status = pipe.gate("status", "--json")
    jsonschema.validate(status.document, json.loads((SCHEMAS / "status.schema.json").read_text()))
    assert (status.document["reason"], status.document["next_command"]) == (
        "no verdict on INTAKE yet",
        "phase-gate advance",
    )


def test_a_phase_with_reviewers_says_that_they_vote(pipe: Pipe) -> None:
    pipe.at("CONSENSUS_MASTER_PLAN")
    pipe.signal()
    pipe.gate("advance")
    pipe.prepare()
    ran = pipe.gate("signal", "--reason", "they agree")
    assert ran.has("next: write the required files again, let the reviewers vote, then phase-gate advance")


def test_where_tests_are_asked_for_the_next_step_is_a_run(pipe: Pipe) -> None:
    pipe.at("QA_VALIDATION")
    assert pipe.gate("status", "--json").document["next_command"] == "pytest --phase=qa_validation"
    ran = pipe.gate("advance")
    assert ran.code == 13
    assert "pytest --phase=qa_validation" in ran.err


def test_a_waiver_counts_in_a_phase_without_tests(pipe: Pipe) -> None:
    pipe.begin(CONFIGURATION + OVERRIDES)
    assert not pipe.read()["gate_1"]["satisfied"]
    waive = ("waive", "artifacts-made", "--reason", "the brief was given by phone", "--by", "ann")
    assert pipe.gate(*waive).code == 0
    verdict = pipe.read()
    guard = next(row for row in verdict["gate_1"]["guards"] if row["name"] == "artifacts-made")
    assert (guard["met"], guard["waived"]) == (False, True)
    # The condition itself is no guard: it can't be waived.
    assert not verdict["gate_1"]["satisfied"]
    # Exactly what was there: a file that is too short is another finding.
    pipe.make("intake-brief", "short\n")
    assert not next(row for row in pipe.read()["gate_1"]["guards"] if row["name"] == "artifacts-made")["waived"]


def test_a_forced_exit_leads_where_the_phase_leads(pipe: Pipe) -> None:
    pipe.begin(CONFIGURATION + OVERRIDES)
    pipe.fail()
    force = ("force", "--reason", "the customer waits", "--by", "ann", "--word", "OVERRIDE")
    assert pipe.gate(*force).code == 0
    pipe.enter()
    assert pipe.phase == "INTAKE"


def test_a_vote_is_about_one_version_and_has_one_name(pipe: Pipe) -> None:
    pipe.at("CONSENSUS_MASTER_PLAN")
    pipe.make("master-plan")
    shown = pipe.gate("pipeline", "vote", "--json").document
    assert (shown["votes"], shown["score"], shown["reached"]) == ([], None, False)
    assert pipe.vote("ann", version="0" * 12).code == 13
    assert pipe.vote("ann", phase="ARCHITECTURE").code == 13
    pipe.project.write({"vote.yaml": "vote: approve\nconfidence: 1\nby: ann\n"})
    ran = pipe.gate("pipeline", "vote", "vote.yaml", "--by", "bob")
    assert (ran.code, "words" in pipe.pipeline) == (13, False)
    assert "vote.yaml is signed by ann, but --by is bob" in ran.err
    assert pipe.gate("pipeline", "vote", "vote.yaml", "--by", "ANN").code == 10
    about = {"version": shown["version"], "phase": "consensus_master_plan"}
    assert pipe.vote("\uff21nn", **about).code == 10, "one voter, of two, in other letters"
    assert pipe.vote("bob", **about).code == 0
    pipe.make("master-plan")
    assert pipe.vote("cyd", version=shown["version"]).code == 13


def test_nobody_votes_where_nobody_asks(pipe: Pipe) -> None:
    pipe.at("CONSENSUS_MASTER_PLAN")
    pipe.prepare()
    assert pipe.signal()["can_exit"]
    ran = pipe.vote("cyd")
    assert ran.code == 13
    assert "ARCHITECTURE asks for no vote" in ran.err


def test_a_snapshot_where_artifacts_are_part_of_the_tree(pipe: Pipe) -> None:
    moved = "artifacts: {repository-snapshot: {path: snapshots/now.json}}\ndocs: []\n"
    pipe.begin(CONFIGURATION + moved)
    while pipe.phase != "ARCHITECTURE":
        pipe.do()
    pipe.make("architecture-plan")
    assert pipe.gate("advance").code == 10
    pipe.project.git("add", "-A")
    assert pipe.read()["gate_1"]["satisfied"], "it does not contain itself"


def test_a_pipeline_of_another_task_stands_by_itself(pipe: Pipe) -> None:
    pipe.at("INTAKE")
    assert pipe.gate("advance", "--task", "other").code == 0
    verdict = pipe.gate("signal", "--task", "other", "--reason", "x", "--json").document
    assert verdict["next_command"] == "phase-gate pipeline recover --task other"
    assert pipe.phase == "INTAKE"


def test_the_second_cycle_begins_where_the_first_was_done(pipe: Pipe) -> None:
    pipe.at("PRODUCTION_GATE")
    pipe.do()
    assert pipe.phase == "DONE"
    assert pipe.gate("advance").code == 0
    assert (pipe.phase, pipe.state["cycle"]) == ("INTAKE", 2)
    # What the first cycle left is old.
    assert not pipe.read()["gate_1"]["satisfied"]
    pipe.do()
    assert pipe.phase == "CONSENSUS_MASTER_PLAN"


def test_a_blocking_request_does_not_lock_a_recovery_up(pipe: Pipe) -> None:
    pipe.begin(CONFIGURATION + OVERRIDES)
    pipe.fail()
    pipe.gate("pipeline", "request", "new", "--type", "scope", "--title", "unlawful", "--blocking")
    pipe.recover()
    assert pipe.phase == "INTAKE"
    pipe.prepare()
    assert not pipe.read()["gate_1"]["satisfied"]
    assert pipe.gate("pipeline", "request", "reject", "CR-1", "--reason", "it is lawful", "--by", "ann").code == 0
    assert pipe.read()["gate_1"]["satisfied"]


def test_only_a_person_rejects_what_a_phase_found_or_what_blocks(pipe: Pipe) -> None:
    pipe.at("AUDIT")
    pipe.audit({"id": "A-1", "severity": "blocking", "kind": "security", "title": "names are logged"})
    pipe.read()
    pipe.gate("pipeline", "request", "new", "--type", "scope", "--title", "unlawful", "--blocking")
    for name in ("CR-1", "CR-2"):
        ran = pipe.gate("pipeline", "request", "reject", name, "--reason", "no time for it", "--by", "ann")
        assert ran.code == 13
        assert "for a person at a terminal" in ran.err
    listed = pipe.gate("pipeline", "request", "list", "--json").document["requests"]
    assert [row["status"] for row in listed] == ["proposed", "proposed"]


def test_the_report_tells_what_happened_on_the_way(pipe: Pipe) -> None:
    pipe.at("REVIEW")
    pipe.prepare()
    pipe.gate("pipeline", "request", "new", "--type", "config", "--title", "newer tools", "--by", "ann")
    assert pipe.signal()["can_exit"]
    pipe.enter()
    pipe.fail()
    ran = pipe.gate("report", "-o", "story.md")
    assert ran.code in (0, 10), ran.err
    story = (pipe.project.root / "story.md").read_text(encoding="utf-8").replace("\\_", "_")
    assert "Next: `phase-gate advance`" in story
    for words in (
        "CR-1 asks for a change (config) (ann): newer tools",
        "CR-1 approved (REVIEW)",
        "back to QA_VALIDATION, by a change request",
        "the gate of QA_VALIDATION failed: ",
        "RECOVERY_LOOP begins",
        "voted approve (1) (ann)",
    ):
        assert words in story, words


# --- the ways on: what each message names is enough


def test_a_brief_that_lay_there_before_the_first_attempt_counts(pipe: Pipe) -> None:
    pipe.make("intake-brief")
    pipe.make("master-plan")
    pipe.begin()
    assert pipe.read()["gate_1"]["satisfied"]
    assert pipe.signal()["can_exit"]
    pipe.enter()
    pipe.agree()
    assert pipe.read()["gate_1"]["satisfied"], "the reviewers have agreed on this very text"


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        (
            "REVIEW",
            (
                'review-decision: docs/pipeline/review-decision.md (10 different words; a line "Decision: approved")',
                "fails to RECOVERY_LOOP",
                "next:   AUDIT",
                "tested: no change to the files since the last green run",
                "history: commits in git to compare with",
            ),
        ),
        ("AUDIT", ('audit-report: docs/pipeline/audit.json (JSON: {"summary": ',)),
        ("PRODUCTION_GATE", ('(10 different words; a line "Verdict: PASS")',)),
        ("IMPLEMENTATION", ("unchanged: master-plan", "requests: none may wait for a decision")),
        ("QA_VALIDATION", ("tests:  the whole suite passes: pytest --phase=qa_validation",)),
        ("RECOVERY_LOOP", ("next:   the phase named in the root-cause record",)),
    ],
)
def test_a_phase_says_in_words_what_it_asks_for(pipe: Pipe, phase: str, words: tuple[str, ...]) -> None:
    pipe.begin()
    ran = pipe.gate("explain", phase)
    assert ran.has(*words)
    assert "(?" not in ran.out


# --- an honest user goes by what messages say: from an empty folder to DONE, by way of a recovery and STUCK


#: A recovery for the first failure, and none for the second.
RULES = CONFIGURATION + "parameters: {max_recoveries: 1}\noverrides: {allow_non_interactive: true}\n"
TEXT = (
    "The library lends books to its members for a while, and a late one costs twenty cents a day. Reminders are sent "
    "by hand, members stay anonymous, and whatever nobody has asked for yet waits until another year has come round "
    "again, with more money, time and people."
)

RIGHT, WRONG = "def fine(days):\n    return 20 * days\n", "def fine(days):\n    return 21 * days\n"
TESTS = "from lending import fine\n\n\ndef test_fine():\n    assert fine(2) == 40\n"
_NUMBERS = itertools.count(1)

#: More than the whole way takes: who goes round in a circle ends here.
MOST = 120


class HonestUser:
    """Types what is named as the next step; does what a phase asks for in its rows, and nothing else."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe
        self.session: list[str] = []

    def type(self, line: str) -> str:
        words = shlex.split(
            line.replace("NAME", "ann").replace("FILE", "vote.yaml").replace('"..."', '"it is as the phase asks"')
        )
        self.session.append(line)
        assert len(self.session) < MOST, "\n".join(self.session)
        if words[0] == "pytest":
            return self.pipe.project.run(*words[1:]).out
        assert words[0] == "phase-gate", line
        ran = self.pipe.gate(*words[1:])
        assert ran.code in (0, 10, 12), f"{line}: {ran.err}"
        return ran.out

    def go_on(self) -> None:
        """Do the next step that the status names."""
        command = self.pipe.gate("status", "--json").document["next_command"]
        if command == "phase-gate advance" and not self.pipe.state.get("exited"):
            self.do_what_is_asked_for()
        self.type(command)

    def do_what_is_asked_for(self) -> None:
        said = self.type(f"phase-gate explain {self.pipe.phase}")
        for path, wants in re.findall(r"^  artifact: [\w-]+: (\S+) \((.*)\)$", said, re.M):
            self.write(path.replace("*", "first"), self.make(wants))
        for command in re.findall(r"then (phase-gate pipeline vote FILE)", said):
            for name in ("ann", "bob"):
                self.write("vote.yaml", f"vote: approve\nconfidence: 1.0\nby: {name}\n")
                self.type(command)

    def make(self, wants: str) -> str:
        """Return a new text that has what the row asks for."""
        text = f"{TEXT} Version {next(_NUMBERS)}."
        if "root_cause" in wants:
            said = {"failed_phase": self.pipe.pipeline["failed_phase"], "summary": text, "root_cause": text}
            return json.dumps({**said, "requires_phase_rewind_to": None})
        if "JSON" in wants:
            return json.dumps({"summary": text, "findings": []})
        return "\n\n".join((text, *re.findall('a line "(.*)"', wants)))

    def write(self, path: str, text: str) -> None:
        self.pipe.project.write({path: text})

    def reach(self, phase: str) -> None:
        while self.pipe.phase != phase:
            self.go_on()


@pytest.fixture
def user(project: Project) -> HonestUser:
    return HonestUser(Pipe(project))


@pytest.mark.sweep
def test_the_whole_way_with_a_failure_a_recovery_and_guidance(user: HonestUser) -> None:
    pipe = user.pipe
    pipe.project.write({"phase-gate.yaml": RULES, "CONSTITUTION.md": "Members stay anonymous.\n"})
    pipe.project.write({"lending.py": WRONG, "test_lending.py": TESTS})
    pipe.project.commit_all()
    user.type("phase-gate advance")
    user.reach("QA_VALIDATION")

    # The tests fail, and somebody says done.
    user.type("pytest --phase=qa_validation")
    user.type("phase-gate signal")
    assert pipe.phase == "RECOVERY_LOOP"
    assert pipe.gate("history", "--events", "--json").code == 0
    pipe.project.write({"lending.py": RIGHT})
    user.type("phase-gate pipeline recover")
    user.reach("QA_VALIDATION")
    user.reach("REVIEW")

    # Nothing is written, and no recovery is left.
    user.type("phase-gate signal")
    assert pipe.phase == "STUCK"
    user.go_on()
    report = pipe.gate("pipeline", "recover").out
    (resume,) = re.findall(r"phase-gate pipeline recover resume .*", report)
    user.type(resume)
    assert pipe.phase == "REVIEW"
    user.reach("DONE")
    assert Path(pipe.project.root, "docs/pipeline/production-report.md").is_file()
