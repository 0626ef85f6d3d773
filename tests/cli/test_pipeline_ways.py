"""The ways on through a pipeline for an honest user: what each message names is enough to go on."""

from __future__ import annotations

import pytest

from tests.support import Project
from tests.tasks.pipelines import Pipe


@pytest.fixture
def pipe(project: Project) -> Pipe:
    return Pipe(project)


# --- what lay there before


def test_a_brief_that_lay_there_before_the_first_attempt_counts(pipe: Pipe) -> None:
    pipe.make("intake-brief")
    pipe.make("master-plan")
    pipe.begin()
    assert pipe.read()["gate_1"]["satisfied"]
    assert pipe.signal()["can_exit"]
    pipe.enter()
    pipe.agree()
    assert pipe.read()["gate_1"]["satisfied"], "the reviewers have agreed on this very text"


# --- what a phase asks for


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
