"""The ways on through a pipeline for an honest user: what each message names is enough to go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support import Project
from tests.tasks.pipelines import CONFIGURATION, PATHS, Pipe


@pytest.fixture
def pipe(project: Project) -> Pipe:
    return Pipe(project)


def start(pipe: Pipe, configuration: str = CONFIGURATION, files: Mapping[str, str] | None = None) -> Any:
    pipe.project.write({"phase-gate.yaml": configuration, "CONSTITUTION.md": "Members stay anonymous.\n"})
    pipe.project.write(files or {})
    return pipe.gate("advance")


def unmet(verdict: Any) -> list[str]:
    return [guard["name"] for guard in verdict["gate_1"]["guards"] if not guard["met"]]


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
            'review-decision: docs/pipeline/review-decision.md (10 different words; a line "Decision: approved")',
        ),
        ("AUDIT", 'audit-report: docs/pipeline/audit.json (JSON: {"summary": '),
        ("PRODUCTION_GATE", '(10 different words; a line "Verdict: PASS")'),
    ],
)
def test_a_phase_asks_in_words(pipe: Pipe, phase: str, words: str) -> None:
    pipe.at(phase)
    ran = pipe.gate("explain", phase)
    assert words in ran.out
    assert "(?" not in ran.out


def test_a_line_that_is_missing_is_told_in_words(pipe: Pipe) -> None:
    pipe.at("REVIEW")
    pipe.prepare()
    text = (pipe.project.root / PATHS["review-decision"]).read_text()
    pipe.project.write({PATHS["review-decision"]: text.replace("Decision: approved", "Decision: not approved")})
    (finding,) = [row for row in pipe.read()["findings"] if row["slug"] == "artifacts-made"]
    assert finding["detail"].endswith('it has no line "Decision: approved"')
    pipe.project.write({PATHS["review-decision"]: text.replace("Decision: approved", "**Decision:  Approved.**")})
    assert pipe.read()["gate_1"]["satisfied"]


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ("IMPLEMENTATION", ("unchanged: master-plan", "requests: none may wait for a decision")),
        (
            "REVIEW",
            (
                "tested: no change to the files since the last green run",
                "history: commits in git to compare with",
            ),
        ),
        ("QA_VALIDATION", ("tests:  the whole suite passes: pytest --phase=qa_validation",)),
    ],
)
def test_a_phase_names_the_facts_that_it_wants(pipe: Pipe, phase: str, words: tuple[str, ...]) -> None:
    pipe.at(phase)
    ran = pipe.gate("explain", phase)
    assert ran.code == 0
    for each in words:
        assert each in ran.out
