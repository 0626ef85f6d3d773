"""`phase-gate claim`: what an agent says against what was measured."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.claims.test_blocks import EXIT, PRP, RALPH
from tests.cli.conftest import Begin, CommandProject
from tests.support import CALC

SURE = f"All tasks are completed.\n\n{EXIT}"


def claim(gated: CommandProject, text: str, *arguments: str) -> Any:
    """Return the exit code and the document of a claim."""
    gated.project.write({"said.txt": text})
    ran = gated.gate("claim", "said.txt", *arguments, "--json")
    return ran.code, ran.document


def settled(begin: Begin, text: str) -> CommandProject:
    """A project that has its file from the start, green twice."""
    gated = begin("")
    gated.project.write({"phase-gate.yaml": text}, test_calc="def test_two():\n    assert 1 + 1 == 2\n")
    assert gated.project.run("--phase=green").code == 10
    gated.project.write(calc=CALC)
    assert [gated.project.run("--phase=green").code for _ in range(2)] == [10, 0]
    return gated


@pytest.fixture
def green(begin: Begin) -> CommandProject:
    return begin("green")


# --- the decision


@pytest.mark.criterion("CG-03")
def test_a_claim_that_is_true(green: CommandProject) -> None:
    green.project.write({"said.txt": SURE})
    ran = green.gate("claim", "said.txt")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "GREEN: complete: it reports done, 2 indicators (2 needed), confidence 65",
        "  claims      done (EXIT_STATUS)",
        "  indicators  2 (2 needed)",
        "    + all tasks.*completed: All tasks are completed.",
        "    + tests pass: Gate 1 is open in iteration 2",
        "    ? acceptance criteria: no criteria are listed",
        "    - 7 phrases not found",
        "  confidence  65 of 65 (50 needed)",
        "     30 status block: EXIT_STATUS",
        "     20 reports complete: it reports done",
        "      ? files changed: git can't tell",
        "      ? task file moved: confidence.task_file is not set",
        "     10 keywords: 'complete'",
        "      5 tests pass: Gate 1 is open in iteration 2",
        '  next: phase-gate signal  # --reason "..." adds a reason',
    ]


def test_a_transcript_on_standard_input(green: CommandProject, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ({"role": "user", "content": "do it"}, {"role": "assistant", "content": SURE})
    text = "no JSON\n".join(f"{json.dumps(row)}\n" for row in rows)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert green.gate("claim", "-").code == 0


@pytest.mark.criterion("CG-12")
def test_done_with_failing_tests_is_blocked(begin: Begin) -> None:
    gated = begin("stuck-1")
    code, found = claim(gated, f"All tasks are completed. Ready for review. No remaining work.\n\n{RALPH}")
    assert (code, found["decision"], found["gate"]) == (10, "continue", "blocked")
    assert found["reason"] == "1 test failed in the last complete run"


def test_after_the_exit_it_leads_to_the_next_phase(begin: Begin) -> None:
    code, found = claim(begin("green-exited"), SURE)
    assert (code, found["next_command"]) == (0, "pytest --phase=refactor")


@pytest.mark.criterion("CG-03", "CG-05", "CG-12", "SE-07")
@pytest.mark.parametrize(
    ("text", "explicit", "reason"),
    [
        pytest.param(
            "All tasks are completed. Ready for review. No remaining work.\n\nEXIT_STATUS: CONTINUE\n",
            False,
            "the claim itself reports not done",
            id="continue-beats-any-number",
        ),
        pytest.param(
            "All tasks are completed. Ready for review.",
            None,
            "3 indicators (2 needed), but no block",
            id="no-block",
        ),
        pytest.param(EXIT, True, "it reports done, with 1 indicator (2 needed)", id="a-block-alone"),
        pytest.param(
            f"```\n{SURE}```\n",
            None,
            "nothing claims completion: there is no whole",
            id="fenced",
        ),
        pytest.param(f"Ready for review.\n{PRP.replace('GREEN', 'RED')}", True, "is for phase RED", id="old-block"),
    ],
)
def test_go_on(green: CommandProject, text: str, explicit: bool | None, reason: str) -> None:
    code, found = claim(green, text)
    assert (code, found["decision"], found["explicit"]) == (10, "continue", explicit)
    assert reason in found["reason"]


def test_what_we_print_ourselves_is_read(green: CommandProject) -> None:
    block = green.gate("status", "--block").out
    found = claim(green, f"{block}\nReady for review.\n")[1]
    assert (found["explicit"], found["blocks"][0]["problems"]) == (False, [])
    assert claim(green, block.replace("false", "true"))[1]["explicit"] is True


# --- thresholds


@pytest.mark.parametrize(
    ("variable", "arguments"),
    [
        pytest.param(None, ("--threshold", "0"), id="zero"),
        pytest.param("none", (), id="no-number-in-the-variable"),
        pytest.param("0", (), id="zero-in-the-variable"),
        pytest.param(None, ("--kind", "docs"), id="an-unknown-kind"),
    ],
)
def test_a_bad_threshold(green: CommandProject, variable: str | None, arguments: tuple[str, ...]) -> None:
    if variable is not None:
        green.project.environment.setenv("PHASE_GATE_EXIT_THRESHOLD", variable)
    green.project.write({"said.txt": SURE})
    assert green.error("claim", "said.txt", *arguments)[:2] == (2, "bad-usage")


def test_without_an_explicit_signal_where_that_is_set(begin: Begin) -> None:
    green = settled(begin, "exit_gate: {require_explicit_signal: false}\n")
    assert claim(green, "All tasks are completed.")[0] == 0
    assert green.gate("claim", "said.txt").has("let pass    ")
    assert claim(green, "All tasks are completed.\n\nEXIT_STATUS: CONTINUE\n")[0] == 10
    assert claim(green, "Not all tasks are completed.")[0] == 10
