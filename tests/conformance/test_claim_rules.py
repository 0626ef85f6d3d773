"""Claims and Gate 1 go by one rule: thresholds, counters, untested code, what can't be measured.

One test or more a clause, on a real task; then an honest agent that does only what `Next` says.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.claims.test_blocks import DOYAKEN, PRP
from tests.conformance.stories import command, ledger, status
from tests.conformance.test_exit_gate import GOOD, TEST, WORK, begin, call, claim, present
from tests.support import Project, Ran

#: The source document's own example of a sure claim, its remark included.
OWN_EXAMPLE = """\
EXIT_STATUS: COMPLETE
EXIT_CONFIDENCE: HIGH
EXIT_OVERRIDE: true  # Request to bypass threshold
EXIT_REASON: All criteria verified, tests passing, ready for review
"""
BARE = "EXIT_STATUS: COMPLETE\nEXIT_REASON: it answers\nREMAINING_WORK: none\n"


def work(project: Project, workflow: str, configuration: str = "") -> Project:
    """A task whose one phase waits for nothing but a claim."""
    project.write({"phase-gate.yaml": f"workflow: {workflow}\n{configuration}", "test_work.py": TEST, "work.py": WORK})
    ran = project.run("--phase=work")
    assert (ran.code, "phase-gate claim FILE" in ran.out) == (10, True), ran.out
    return project


def signal(project: Project) -> Ran:
    return command(project, "signal", "--reason", "the claim is true", "--json")


def points(document: Any) -> dict[str, int]:
    return {part["name"]: part["points"] for part in document["confidence_parts"]}


def run_again(project: Project) -> None:
    """One more iteration, on the same files."""
    project.run("--phase=auto")


# --- CG-15: words inside of the block, and one threshold


@pytest.mark.criterion("CG-15")
def test_the_documents_own_example_comes_out_as_it_says(project: Project) -> None:
    ran = call(begin(project), OWN_EXAMPLE)
    found = ran.document
    assert present(found, "pattern") == ["ready for review", "tests passing"]
    assert (ran.code, found["decision"], found["indicators"]) == (0, "complete", 3)
    assert found["reason"] == "it says done, 3 indicators (2 needed), confidence 65"


@pytest.mark.criterion("CG-15")
@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        pytest.param("it is not ready for review", [], id="denied"),
        pytest.param("once all tasks are completed it is done", [], id="a-condition"),
        pytest.param("{ready for review}", [], id="a-template"),
        pytest.param("all tasks are completed", ["all tasks.*completed"], id="said"),
    ],
)
def test_words_inside_are_weighed_like_words_outside(project: Project, reason: str, expected: list[str]) -> None:
    assert present(claim(begin(project), BARE.replace("it answers", reason)), "pattern") == expected


@pytest.mark.criterion("CG-15")
def test_patterns_of_the_project_reach_gate_1(project: Project) -> None:
    work(project, "exit-gate", "exit_gate: {patterns: [shipped]}\n")
    assert call(project, f"Shipped.\n\n{BARE}").code == 0
    assert signal(project).code == 0


@pytest.mark.criterion("CG-06", "CG-15")
@pytest.mark.parametrize("how", ["call", "environment"])
def test_a_lower_threshold_than_gate_1_has_is_for_a_person(project: Project, how: str) -> None:
    work(project, "exit-gate", "overrides: {allow_non_interactive: true}\n")
    arguments: tuple[str, ...] = ("--threshold", "1")
    name = "--threshold"
    if how == "environment":
        name = "PHASE_GATE_EXIT_THRESHOLD"
        project.environment.setenv(name, "1")
        arguments = ()
    refused = call(project, BARE, *arguments).document["error"]
    assert refused["problem"] == f"{name} with 1 indicator, where Gate 1 of WORK needs 2 needs a reason"
    assert not [line for line in ledger(project) if line["kind"] == "claimed"]
    ran = call(
        project, BARE, *arguments, "--by", "Ada", "--reason", "the second sign is a plan that she ticked on paper"
    )
    assert (ran.code, ran.document["threshold"]) == (0, 1)
    end = signal(project)
    assert (end.code, end.document["can_exit"]) == (0, True)
    shown = "claim: Ada asks for 1 indicator, where Gate 1 of WORK needs 2: the second sign is a plan"
    assert any(note.startswith(shown) for note in end.document["notes"])


@pytest.mark.criterion("CG-06", "CG-15")
def test_a_lower_threshold_is_not_for_a_script(project: Project) -> None:
    work(project, "exit-gate")
    ran = call(project, BARE, "--threshold", "1", "--by", "Ada", "--reason", "she ticked the plan on paper")
    assert (ran.code, ran.document["error"]["slug"]) == (13, "not-allowed")
    assert ran.document["error"]["problem"].endswith("is for a person at a terminal")


# --- CG-16: counters go by iteration


@pytest.mark.criterion("CG-16")
def test_low_claims_are_counted_by_iteration(project: Project) -> None:
    begin(project)
    low = "All tasks are completed."
    assert [call(project, low).code for _ in range(6)] == [10] * 6
    assert claim(project, low)["claims_low"] == 1
    run_again(project)
    assert (claim(project, low)["claims_low"], claim(project, low)["claims_low"]) == (2, 2)
    run_again(project)
    third = call(project, low)
    assert (third.code, third.document["claims_low"]) == (13, 3)
    assert third.document["reason"].startswith("3 iterations with a claim under 50 points: a person has to look")


@pytest.mark.criterion("CG-16")
def test_done_in_two_iterations_is_an_indicator(project: Project) -> None:
    begin(project)
    assert [(row["decision"], row["claims_done"]) for row in (claim(project, BARE), claim(project, BARE))] == [
        ("continue", 1),
        ("continue", 1),
    ]
    run_again(project)
    found = claim(project, BARE)
    assert (found["decision"], found["claims_done"]) == ("complete", 2)
    assert present(found, "signal") == ["done in a row"]
    run_again(project)
    assert claim(project, "EXIT_STATUS: CONTINUE\n")["claims_done"] == 0
    run_again(project)
    assert (claim(project, BARE)["decision"]) == "continue", "an explicit not-done begins the count anew"


# --- CG-17: untested code


@pytest.mark.criterion("CG-17")
@pytest.mark.parametrize("workflow", ["tdd", "exit-gate", "confidence"])
def test_a_claim_about_code_that_no_run_has_tested(project: Project, workflow: str) -> None:
    if workflow == "tdd":
        begin(project)
    else:
        work(project, workflow)
    project.write(work=f"{WORK}\n\ndef more():\n    return 1\n")
    text = f"All tasks are completed. Ready for review. No remaining work.\n\n{BARE}"
    ran = call(project, text)
    assert (ran.code, ran.document["decision"]) == (10, "continue")
    reason = ran.document["reason"]
    assert reason.startswith("files have changed since the last run")
    assert reason.endswith(": run the tests")
    assert ran.document["next_command"] == "pytest --phase=auto"
    project.write(work=WORK)
    if workflow != "tdd":
        assert signal(project).code == 10, "the refused claim counts no more when the change is taken back"
    assert call(project, text).code == 0, "the same words about what was tested"


# --- SE-13: what can't be measured


@pytest.mark.criterion("SE-13")
def test_a_moved_task_file_is_an_indicator(project: Project) -> None:
    begin(project, "confidence: {task_file: todo/work.md}\n")
    project.write({"done/work.md": "x"})
    found = claim(project, BARE)
    assert present(found, "evidence") == ["tests pass", "task file moved"]
    assert found["decision"] == "complete"


@pytest.mark.criterion("SE-13")
@pytest.mark.parametrize(("text", "code"), [(f"It is done.\n\n{BARE}", 0), (BARE, 10)])
def test_without_a_task_file_56_points_are_needed(project: Project, text: str, code: int) -> None:
    project.write({".gitignore": "__pycache__/\nsaid.txt\n", "phase-gate.yaml": "", "test_work.py": "", "work.py": ""})
    settings = "exit_gate: {indicator_threshold: 1}\n"
    project.write({"phase-gate.yaml": f"workflow: confidence\n{settings}", "test_work.py": TEST, "work.py": WORK})
    project.commit_all()
    work(project, "confidence", settings)
    ran = call(project, text)
    assert points(ran.document)["files changed"] == 0, "nothing differs from the commit: that is known"
    assert (ran.document["confidence_needed"], ran.code, signal(project).code) == (56, code, code)
    if code:
        assert ran.document["reason"] == "confidence 55 of the 80 points that can be measured, below the 56 needed"


@pytest.mark.criterion("SE-02")
def test_work_done_before_the_first_run_counts(project: Project) -> None:
    project.write({".gitignore": "__pycache__/\n", "phase-gate.yaml": "workflow: confidence\n"}).commit_all()
    work(project, "confidence")
    ran = call(project, GOOD)
    assert points(ran.document)["files changed"] == 15
    parts = {part["name"]: part["reason"] for part in ran.document["confidence_parts"]}
    assert parts["files changed"] == "2 files changed since the commit that the cycle began on"
    assert (ran.code, signal(project).code) == (0, 0)


# --- blocks that are seen and do not count


PLAIN = "is not written plainly, in capitals, at the left margin"


@pytest.mark.criterion("CG-12")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(f"```\n{BARE}```\n", "stands in a fence, a quote or an example", id="fenced"),
        pytest.param(BARE.replace("EXIT_STATUS:", "**EXIT_STATUS:**"), PLAIN, id="bold"),
        pytest.param(BARE.replace("EXIT_STATUS", "**EXIT_STATUS**"), PLAIN, id="bold-key"),
        pytest.param(BARE.replace("EXIT_STATUS", "- EXIT_STATUS"), PLAIN, id="a-list"),
        pytest.param(BARE.lower(), PLAIN, id="lower-case"),
        pytest.param(BARE.replace("EXIT_STATUS", "Exit_Status"), PLAIN, id="mixed-case"),
        pytest.param("".join(f"    {row}\n" for row in BARE.splitlines()), PLAIN, id="indented"),
        pytest.param(DOYAKEN.replace("DOYAKEN", "doyaken"), PLAIN, id="doyaken"),
        pytest.param(f"**{PRP.replace(chr(10), '**' + chr(10), 1)}", PLAIN, id="prp"),
    ],
)
@pytest.mark.parametrize("words", ["", "All tasks are completed.\n\n"])
def test_a_block_that_is_seen_says_why_it_does_not_count(project: Project, text: str, why: str, words: str) -> None:
    ran = call(begin(project), f"{words}{text}")
    assert (ran.code, ran.document["explicit"]) == (10, None)
    assert f"does not count: it {why}" in ran.document["reason"]
    assert "at the left margin" in ran.document["next_hint"]


# --- DG-21, DG-22: the block of a dual gate


@pytest.mark.criterion("DG-21")
def test_the_prompt_asks_for_the_dual_gate_part(project: Project) -> None:
    begin(project)
    for phase in ("red", "green", "refactor", "document"):
        prompt = command(project, "agent", "prompt", "--phase", phase, "--style", "prp")
        assert prompt.has("DUAL_GATE:", "  GATE_1: true | false", "  GATE_1_DETAIL: <", "  GATE_2: true | false")
        assert prompt.has("  CAN_EXIT: true | false")


@pytest.mark.criterion("DG-21")
def test_a_block_without_the_dual_gate_part_is_incomplete(project: Project) -> None:
    begin(project)
    rows = ("DUAL_GATE:", "GATE_1:", "GATE_1_DETAIL:", "GATE_2:", "CAN_EXIT:")
    bare = "".join(f"{row}\n" for row in PRP.splitlines() if not row.strip().startswith(rows))
    assert bare != PRP
    ran = call(project, f"All tasks are completed.\n\n{bare}")
    assert (ran.code, ran.document["explicit"]) == (10, None)
    assert "its DUAL_GATE part is missing: GATE_1, GATE_2, CAN_EXIT" in ran.document["reason"]
    one = PRP.replace("  GATE_2: true\n", "")
    assert "GATE_2 is missing" in claim(project, one)["problems"][0]
    assert call(project, f"All tasks are completed.\n\n{PRP}").code == 0


@pytest.mark.criterion("DG-22")
@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        pytest.param("tests_passing: 10/10, consecutive_runs: 2", [10, 10], id="passing-and-total"),
        pytest.param("tests_passing: 1/1, consecutive_runs: 7", [7], id="runs"),
        pytest.param("tests_failing: 3", [3], id="failing"),
        pytest.param("tests_passing: 1/1, consecutive_runs: 2", [], id="true"),
        pytest.param("all is well", [], id="no-numbers"),
    ],
)
def test_numbers_in_the_detail_are_compared(project: Project, detail: str, expected: list[int]) -> None:
    begin(project)
    rows = [row for row in PRP.splitlines() if not row.startswith("TESTS_") and "GATE_1_DETAIL" not in row]
    rows.insert(rows.index("  GATE_1: true") + 1, f'  GATE_1_DETAIL: "{detail}"')
    found = claim(project, "\n".join((*rows, "")))
    assert found["problems"] == []
    assert len(found["contradictions"]) == len(expected)
    for row, number in zip(found["contradictions"], expected, strict=True):
        assert row.startswith("GATE_1_DETAIL: ")
        assert f" {number} was claimed, " in row
        assert row.endswith(" was measured")


# --- an honest agent that does only what Next says


class HonestAgent:
    """Knows its task, reads `status`, and does what it says; a claim says only what is so."""

    def __init__(self, project: Project, style: str) -> None:
        self.project, self.style, self.steps = project, style, []  # type: ignore[var-annotated]

    def finish(self, limit: int = 12) -> None:
        while status(self.project)["phase"] != "DONE":
            assert len(self.steps) < limit, self.steps
            self.step()

    def step(self) -> None:
        said = status(self.project)
        following, hint = said["next_command"], said["next_hint"]
        self.steps.append(f"{following} | {hint} | {said['reason']}")
        if following.startswith("pytest "):
            self.project.write({"test_work.py": TEST, "work.py": WORK})
            self.project.run(*following.split()[1:])
        elif following.startswith("phase-gate signal"):
            command(self.project, "signal", "--reason", "every test passes")
        else:
            assert "phase-gate claim FILE" in hint, self.steps
            asked = "It is done.\n" if "a sentence of your own what is complete" in hint else ""
            self.project.write({"said.txt": f"I wrote the function.\n{asked}\n{self.block()}"})
            command(self.project, "claim", "said.txt")

    def block(self) -> str:
        prompt = command(self.project, "agent", "prompt", "--style", self.style).out
        block = prompt.partition("```\n")[2].partition("```")[0]
        for template, honest in (
            ("{COMPLETE|CONTINUE}", "COMPLETE"),
            ("{one sentence}", "the function answers, and its test shows it"),
            ("{none|what is left}", "none"),
            ('<brief description or "none">', "none"),
            ("TESTS_FAILING: <number>", "TESTS_FAILING: 0"),
            ("<number>", "1"),
            ("<count>", "2"),
            ("true | false", "true"),
            ("true/false", "true"),
            ("pass/fail/skip/unknown", "pass"),
            ("high/medium/low", "high"),
            ("IN_PROGRESS | COMPLETE | BLOCKED", "COMPLETE"),
            ("PASSING | FAILING | NOT_RUN", "PASSING"),
            ("IMPLEMENTATION | TESTING | DOCUMENTATION | REFACTORING", "IMPLEMENTATION"),
            ("<one line>", "merge it"),
            ("<its numbers>", '"tests_passing: 1/1"'),
        ):
            block = block.replace(template, honest)
        return block


@pytest.mark.sampled(4)
@pytest.mark.criterion("CG-15", "CG-16", "SE-13")
@pytest.mark.parametrize(
    ("place", "style"),
    [("no-git", "exit"), ("no-git", "prp"), ("git", "doyaken"), ("git", "ralph"), ("committed", "exit")],
)
@pytest.mark.parametrize("workflow", ["exit-gate", "confidence"])
def test_an_honest_agent_comes_from_an_empty_folder_to_done(
    project: Project, workflow: str, place: str, style: str
) -> None:
    project.write({"phase-gate.yaml": f"workflow: {workflow}\n"})
    if place != "no-git":
        project.write({".gitignore": "__pycache__/\nsaid.txt\n"})
        if place == "committed":
            # The work was there before the tool was, and all of it is committed.
            project.write({"test_work.py": TEST, "work.py": WORK})
        project.commit_all()
    HonestAgent(project, style).finish()
    assert status(project)["evaluation"]["can_exit"] is True
