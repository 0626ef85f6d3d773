"""`phase-gate claim`: what an agent says against what was measured."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.claims.test_blocks import DOYAKEN, EXIT, PRP, RALPH
from tests.cli.conftest import Begin, Desk
from tests.support import CALC

SURE = f"All tasks are completed.\n\n{EXIT}"


def claim(desk: Desk, text: str, *arguments: str) -> Any:
    """Return the exit code and the document of a claim."""
    desk.sample.write({"said.txt": text})
    ran = desk.gate("claim", "said.txt", *arguments, "--json")
    return ran.code, ran.document


def settle(desk: Desk, text: str) -> Desk:
    """Write the project's file."""
    desk.sample.write({"phase-gate.yaml": text})
    return desk


def settled(begin: Begin, text: str) -> Desk:
    """A project that has its file from the start, green twice."""
    desk = settle(begin(""), text)
    desk.sample.write(test_calc="def test_two():\n    assert 1 + 1 == 2\n")
    assert desk.sample.pytest("--phase=green").code == 10
    desk.sample.write(calc=CALC)
    assert [desk.sample.pytest("--phase=green").code for _ in range(2)] == [10, 0]
    return desk


@pytest.fixture
def green(begin: Begin) -> Desk:
    return begin("green")


# --- the decision


def test_a_claim_that_is_true(green: Desk) -> None:
    green.sample.write({"said.txt": SURE})
    ran = green.gate("claim", "said.txt")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "GREEN: complete: it says done, 2 indicators (2 needed), confidence 80",
        "  says        done (EXIT_STATUS)",
        "  indicators  2 (2 needed)",
        "    + all tasks.*completed: All tasks are completed.",
        "    + tests pass: Gate 1 is open in iteration 2",
        "    ? acceptance criteria: unknown: no criteria are listed",
        "    - 7 phrases not said",
        "  confidence  80 of 80 (56 needed)",
        "     30 status block: EXIT_STATUS",
        "     20 says complete: it says done",
        "     15 files changed: the sources are not what they were when the cycle began",
        "      ? task file moved: confidence.task_file is not set",
        "     10 keywords: 'complete'",
        "      5 tests pass: Gate 1 is open in iteration 2",
        '  next: phase-gate signal --reason "..."',
    ]


def test_a_claim_opens_no_gate(green: Desk) -> None:
    claim(green, SURE)
    assert green.gate("check").code == 10
    assert green.json("status")["exited"] is False
    assert green.json("status")["evaluation"]["gate_2"]["answer"] == "absent"


def test_standard_input(green: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SURE.encode())))
    assert green.gate("claim", "-").code == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_other_encodings(green: Desk, encoding: str) -> None:
    (green.root / "said.txt").write_bytes(SURE.encode(encoding))
    assert green.gate("claim", "said.txt").code == 0


def test_done_with_failing_tests_is_blocked(begin: Begin) -> None:
    desk = begin("stuck-1")
    code, found = claim(desk, f"All tasks are completed. Ready for review. No remaining work.\n\n{RALPH}")
    assert (code, found["decision"], found["gate"]) == (10, "continue", "blocked")
    assert found["reason"] == "1 test failed in the last complete run (iteration 1)"
    assert found["contradictions"][0].startswith(
        "TESTS_STATUS: PASSING was claimed, and it is not so: Gate 1 is closed"
    )


def test_failing_tests_stay_failing_until_a_run_shows_otherwise(begin: Begin) -> None:
    desk = begin("stuck-1")
    desk.sample.write(calc=CALC)
    code, found = claim(desk, SURE)
    assert (code, found["reason"]) == (10, "1 test failed in the last complete run (iteration 1)")


def test_gate_1_that_is_closed_for_another_reason(begin: Begin) -> None:
    code, found = claim(begin("green-once"), SURE)
    assert code == 10
    assert "needs one more green run with no file changes" in found["reason"]


def test_files_that_nobody_has_tested(green: Desk) -> None:
    green.edit_source()
    code, found = claim(green, SURE)
    row = next(each for each in found["indicator_rows"] if each["name"] == "tests pass")
    assert (code, row["present"]) == (10, None)
    assert row["detail"] == "unknown: files have changed since the last run (calc.py)"
    assert found["reason"] == "files have changed since the last run (calc.py): run the tests"


@pytest.mark.parametrize(
    ("text", "explicit", "reason"),
    [
        pytest.param(
            "All tasks are completed. Ready for review. No remaining work.\n\nEXIT_STATUS: CONTINUE\n",
            False,
            "it says itself that it is not done",
            id="continue-beats-any-number",
        ),
        pytest.param(
            "All tasks are completed. Ready for review.",
            None,
            "3 indicators (2 needed), and no block",
            id="no-block",
        ),
        pytest.param(EXIT, True, "it says done, with 1 indicator (2 needed)", id="a-block-alone"),
        pytest.param(f"{SURE}\n{RALPH.replace('true', 'false')}", False, "RALPH_STATUS says EXIT_SIGNAL", id="against"),
        pytest.param(SURE.replace("none", "the docs"), False, "and that work remains: 'the docs'", id="remaining-work"),
        pytest.param("I looked at the code.", None, "nothing claims completion", id="nothing"),
        pytest.param("", None, "nothing claims completion", id="empty"),
        pytest.param(f"```\n{SURE}```\n", None, "EXIT_STATUS (line 4) does not count: it stands in", id="fenced"),
        pytest.param("EXIT_STATUS: {COMPLETE|CONTINUE}\n", None, "is not one of COMPLETE, CONTINUE", id="template"),
        pytest.param(f"Ready for review.\n{PRP.replace('GREEN', 'RED')}", True, "speaks of phase RED", id="old-block"),
    ],
)
def test_go_on(green: Desk, text: str, explicit: bool | None, reason: str) -> None:
    code, found = claim(green, text)
    assert (code, found["decision"], found["explicit"]) == (10, "continue", explicit)
    assert reason in found["reason"]


@pytest.mark.parametrize("block", [EXIT, RALPH, DOYAKEN, PRP], ids=["exit", "ralph", "doyaken", "prp"])
def test_each_kind_of_block_will_do(green: Desk, block: str) -> None:
    assert claim(green, f"All tasks are completed.\n\n{block}")[0] == 0


def test_what_we_print_ourselves_is_read(green: Desk) -> None:
    block = green.gate("status", "--block").out
    found = claim(green, f"{block}\nReady for review.\n")[1]
    assert (found["explicit"], found["problems"]) == (False, [])
    assert claim(green, block.replace("false", "true"))[1]["explicit"] is True


def test_a_phase_may_be_written_in_any_case(green: Desk) -> None:
    assert claim(green, f"Ready for review.\n\n{PRP.replace('GREEN', 'green')}")[0] == 0


def test_claimed_numbers_are_compared(green: Desk) -> None:
    text = f"Ready for review.\n\n{PRP.replace('TESTS_TOTAL: 2', 'TESTS_TOTAL: 12')}\n{RALPH}"
    assert claim(green, text)[1]["contradictions"] == [
        "TESTS_TOTAL: 12 was claimed, 2 was measured",
    ]


# --- the record


def test_every_decision_is_in_the_ledger(green: Desk) -> None:
    claim(green, SURE)
    claim(green, EXIT)
    rows = [line.event.data["claim"] for line in green.store().lines() if line.event.kind == "claimed"]
    assert [(row["gate"], row["indicators"], row["explicit"], row["threshold"]) for row in rows] == [
        ("passed", 2, True, 2),
        ("blocked", 1, True, 2),
    ]
    assert sum(part["points"] for part in rows[0]["confidence_parts"]) == rows[0]["confidence"] == 80
    assert (rows[0]["phase"], rows[0]["iteration"]) == ("GREEN", 2)
    assert green.gate("audit").code == 0


def test_done_signals_in_a_row(green: Desk) -> None:
    counts = []
    for text in (EXIT, EXIT, "no words", "EXIT_STATUS: CONTINUE"):
        counts += [claim(green, text)[1]["claims_done"] for _ in range(2)]
        green.sample.pytest("--phase=green")
    assert counts == [1, 1, 2, 2, 2, 2, 0, 0], "by iteration, not by call"


def test_low_confidence_again_and_again_asks_a_person(green: Desk) -> None:
    answers = []
    for _ in range(3):
        answers.append(claim(green, "All tasks are completed."))
        green.sample.pytest("--phase=green")
    assert [code for code, _ in answers] == [10, 10, 13]
    assert answers[2][1]["decision"] == "ask a person"
    assert answers[2][1]["reason"].startswith("3 iterations with a claim under 50 points: a person has to look")
    assert "phase-gate force" in answers[2][1]["next_hint"]


def test_a_confident_one_clears_the_count(green: Desk) -> None:
    for _ in range(2):
        claim(green, "All tasks are completed.")
    code, found = claim(green, SURE)
    assert (code, found["claims_low"]) == (0, 0)


@pytest.mark.sweep
def test_blocked_claims_open_the_circuit(begin: Begin) -> None:
    desk = settled(begin, "exit_gate: {indicator_threshold: 9}\n")
    codes = []
    for _ in range(5):
        codes += [claim(desk, SURE)[0] for _ in range(2)]
        desk.sample.pytest("--phase=green")
    assert codes == [10] * 8 + [12, 12]
    breaker = desk.json("breaker", "status")["breaker"]
    assert (breaker["status"], breaker["reason"]) == ("open", "5 claims in a row that the exit gate blocked")
    assert desk.gate("check").code == 12


def test_an_open_circuit_halts_even_a_good_claim(begin: Begin) -> None:
    desk = begin("stuck-5")
    code, found = claim(desk, SURE)
    assert (code, found["decision"]) == (12, "halted")


def test_an_interrupted_run_comes_first(begin: Begin) -> None:
    desk = begin("stuck-5")
    desk.sample.write(test_stop="def test_stop():\n    raise KeyboardInterrupt\n")
    desk.sample.pytest_process("--phase=green")
    code, found = claim(desk, SURE)
    assert (code, found["decision"]) == (13, "interrupted")
    assert "was interrupted: ask the user" in found["reason"]


def test_a_new_phase_starts_anew(green: Desk) -> None:
    claim(green, EXIT)
    green.gate("signal", "--reason", "both pass")
    green.sample.pytest("--phase=refactor")
    state = green.store().look().state
    assert (state.claims.low, state.claims.done, state.claims.last) == (0, 0, None)


# --- thresholds


@pytest.mark.parametrize(
    ("file", "variable", "arguments", "expected"),
    [
        ("", None, (), (2, "default")),
        ("exit_gate: {indicator_threshold: 3}", None, (), (3, "phase-gate.yaml")),
        ("exit_gate: {thresholds: {docs: 1}}", None, ("--kind", "docs"), (1, "kind docs")),
        ("exit_gate: {thresholds: {docs: 1}}", "4", ("--kind", "docs"), (4, "PHASE_GATE_EXIT_THRESHOLD")),
        ("exit_gate: {indicator_threshold: 3}", "4", ("--threshold", "1"), (1, "--threshold")),
    ],
)
def test_thresholds(
    green: Desk, file: str, variable: str | None, arguments: tuple[str, ...], expected: tuple[int, str]
) -> None:
    if file:
        settle(green, f"{file}\n")
    if variable is not None:
        green.sample.environment.setenv("PHASE_GATE_EXIT_THRESHOLD", variable)
    _, found = claim(green, SURE, *arguments)
    assert (found["threshold"], found["threshold_from"]) == expected


def test_a_lower_threshold_for_one_call(green: Desk) -> None:
    text = f"It is done.\n\n{EXIT}"
    assert claim(green, text, "--threshold", "1")[0] == 0
    found = claim(green, text)[1]
    assert found["reason"] == "it says done, with 1 indicator (2 needed)"
    assert found["next_hint"].startswith("1 more indicator: words of your own such as `<promise>COMPLETE</promise>`,")


@pytest.mark.parametrize(
    ("variable", "arguments"),
    [
        pytest.param(None, ("--threshold", "0"), id="zero"),
        pytest.param("none", (), id="no-number-in-the-variable"),
        pytest.param("0", (), id="zero-in-the-variable"),
        pytest.param(None, ("--kind", "docs"), id="an-unknown-kind"),
    ],
)
def test_a_bad_threshold(green: Desk, variable: str | None, arguments: tuple[str, ...]) -> None:
    if variable is not None:
        green.sample.environment.setenv("PHASE_GATE_EXIT_THRESHOLD", variable)
    green.sample.write({"said.txt": SURE})
    assert green.error("claim", "said.txt", *arguments)[:2] == (2, "bad-usage")


# --- evidence


def rows(found: Any) -> dict[str, bool | None]:
    return {each["name"]: each["present"] for each in found["indicator_rows"] if each["kind"] == "evidence"}


def test_evidence_can_be_switched(green: Desk) -> None:
    off = "exit_gate: {evidence_checks: {tests: false, acceptance_criteria: false}}\n"
    assert rows(claim(settle(green, off), SURE)[1]) == {}


def test_all_evidence(green: Desk) -> None:
    settle(
        green,
        "evidence: {commands: {build: {run: 'true'}}}\n"
        "exit_gate: {plan_file: PLAN.md, evidence_checks: {build: true, clean_git: true}}\n",
    )
    green.sample.write({"PLAN.md": "- [x] one\n", ".gitignore": "said.txt\n__pycache__/\n"})
    green.sample.commit_all()
    found = rows(claim(green, SURE)[1])
    assert found["clean git"] is found["build"] is found["plan PLAN.md"] is True
    green.sample.write({"PLAN.md": "- [ ] one\n"})
    found = rows(claim(green, SURE)[1])
    assert found["clean git"] is found["plan PLAN.md"] is False


def test_evidence_that_is_not_there_is_unknown(green: Desk) -> None:
    settle(green, "exit_gate: {plan_file: PLAN.md, evidence_checks: {build: true, clean_git: true}}\n")
    found = rows(claim(green, SURE)[1])
    assert (found["clean git"], found["build"], found["plan PLAN.md"]) == (None, None, None)


def test_listed_criteria(begin: Begin) -> None:
    desk = begin("")
    test = "import pytest\n\n\n@pytest.mark.criterion('AC-1')\ndef test_one():\n    pass\n"
    desk.sample.write({"criteria.yaml": "AC-1: One\nAC-2: Two\n", "test_one.py": test})
    desk.sample.pytest("--phase=green", "--phase-criteria=criteria.yaml")
    assert rows(claim(desk, SURE)[1])["acceptance criteria"] is False
    desk.sample.write({"test_one.py": test.replace("'AC-1'", "'AC-1', 'AC-2'")})
    desk.sample.pytest("--phase=green", "--phase-criteria=criteria.yaml")
    assert rows(claim(desk, SURE)[1])["acceptance criteria"] is True


def test_the_task_file(green: Desk) -> None:
    settle(green, "confidence: {task_file: 'tasks/{task}.md', done_folder: done}\n")

    def part() -> Any:
        return next(each for each in claim(green, SURE)[1]["confidence_parts"] if each["name"] == "task file moved")

    assert part()["met"] is None
    green.sample.write({"tasks/default.md": "x"})
    assert part()["met"] is False
    (green.root / "done").mkdir()
    (green.root / "tasks/default.md").rename(green.root / "done/default.md")
    assert (part()["met"], part()["points"]) == (True, 20)


def test_a_claim_that_was_blocked_does_not_hide_what_was_changed(begin: Begin) -> None:
    desk = begin("green-once")
    assert claim(desk, SURE)[0] == 10
    desk.sample.pytest("--phase=green")
    assert claim(desk, SURE)[0] == 0
    desk.sample.pytest("--phase=green")
    assert claim(desk, SURE)[0] == 0, "a claim that passed hides nothing either: it is about the whole cycle"


def test_files_changed_come_from_git(begin: Begin) -> None:
    desk = begin("")
    desk.sample.write({".gitignore": "said.txt\n__pycache__/\n", "kept.py": "A = 1\n"})
    settle(desk, "exit_gate: {indicator_threshold: 1}\n").sample.write(test_calc="def test_two():\n    pass\n")
    desk.sample.commit_all()
    desk.sample.pytest("--phase=green")

    def changed() -> Any:
        return next(each for each in claim(desk, "")[1]["confidence_parts"] if each["name"] == "files changed")[
            "reason"
        ]

    assert changed() == "0 files changed since the commit that the cycle began on"
    desk.sample.write(committed="A = 1\n")
    desk.sample.commit_all()
    assert changed().startswith("1 file changed")
    desk.sample.write(staged="A = 1\n")
    desk.sample.git("add", "staged.py")
    assert changed().startswith("2 files")
    desk.sample.write(kept="A = 2\n")
    assert changed().startswith("3 files")
    desk.sample.write(untracked="A = 1\n")
    assert changed().startswith("4 files")
    assert claim(desk, RALPH)[1]["contradictions"][-1] == "FILES_MODIFIED: 3 was claimed, 4 was measured"


# --- overrides

OVERRIDE = "EXIT_STATUS: COMPLETE\nEXIT_CONFIDENCE: HIGH\nEXIT_OVERRIDE: true\n"


def test_an_override_is_a_request(green: Desk) -> None:
    code, found = claim(green, OVERRIDE)
    assert (code, found["override"]) == (10, {"requested": True, "honoured": False})
    assert found["warnings"][0] == "EXIT_OVERRIDE is recorded as a request; exit_gate.honour_override is off"


def test_an_override_that_is_honoured(begin: Begin) -> None:
    green = settled(begin, "exit_gate: {honour_override: true, as_signal: true}\n")
    code, found = claim(green, OVERRIDE)
    assert (code, found["override"]) == (0, {"requested": True, "honoured": True})
    assert found["leniency"] == ["EXIT_OVERRIDE is honoured, with 1 indicator (2 needed)"]
    assert found["leniency"][0] in found["reason"]
    ran = green.gate("claim", "said.txt", "--as-signal")
    assert ran.has("let pass    EXIT_OVERRIDE is honoured", "signal: done")
    assert green.json("status")["exited"] is True


@pytest.mark.parametrize("text", [OVERRIDE.replace("HIGH", "LOW"), OVERRIDE.replace("EXIT_CONFIDENCE: HIGH\n", "")])
def test_an_override_needs_high_confidence(green: Desk, text: str) -> None:
    code, found = claim(settle(green, "exit_gate: {honour_override: true}\n"), text)
    assert (code, found["override"]["honoured"]) == (10, False)


def test_no_override_against_a_measured_failure(begin: Begin) -> None:
    desk = settle(begin("stuck-1"), "exit_gate: {honour_override: true}\n")
    code, found = claim(desk, OVERRIDE)
    assert (code, found["override"]["honoured"]) == (10, False)


def test_without_an_explicit_signal_where_that_is_set(begin: Begin) -> None:
    green = settled(begin, "exit_gate: {require_explicit_signal: false}\n")
    assert claim(green, "All tasks are completed.")[0] == 0
    assert claim(green, "All tasks are completed.\n\nEXIT_STATUS: CONTINUE\n")[0] == 10
    assert claim(green, "Not all tasks are completed.")[0] == 10


# --- as a signal


def test_as_a_signal_is_off(green: Desk) -> None:
    green.sample.write({"said.txt": SURE})
    assert green.error("claim", "said.txt", "--as-signal")[:2] == (13, "not-allowed")


def test_as_a_signal(begin: Begin) -> None:
    green = settled(begin, "exit_gate: {as_signal: true}\n")
    code, found = claim(green, SURE, "--as-signal", "--by", "loop")
    assert (code, found["evaluation"]["can_exit"]) == (0, True)
    assert found["evaluation"]["gate_2"]["by"] == "loop"
    assert green.json("status")["exited"] is True


def test_a_claim_that_is_blocked_is_no_signal(begin: Begin) -> None:
    green = settled(begin, "exit_gate: {as_signal: true}\n")
    assert claim(green, EXIT, "--as-signal")[1]["evaluation"] is None


def test_not_done_as_a_signal_is_a_veto(begin: Begin) -> None:
    green = settled(begin, "exit_gate: {as_signal: true}\n")
    code, found = claim(green, "EXIT_STATUS: CONTINUE\nREMAINING_WORK: the docs\n", "--as-signal")
    assert (code, found["evaluation"]["gate_2"]["answer"]) == (10, "not-done")


# --- transcripts


def lines(*rows: Any) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            lines(
                {"type": "user", "message": {"role": "user", "content": "do it"}},
                {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": SURE}]}},
                {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}},
            ),
            id="messages-with-parts",
        ),
        pytest.param(
            lines(
                {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}},
                {
                    "type": "response_item",
                    "payload": {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": SURE}],
                    },
                },
                {"type": "event_msg", "payload": {"type": "agent_message", "message": SURE}},
            ),
            id="response-items",
        ),
        pytest.param(
            lines({"type": "item.completed", "item": {"type": "agent_message", "text": SURE}}), id="completed-items"
        ),
        pytest.param(lines({"role": "user", "content": "do it"}, {"role": "assistant", "content": SURE}), id="roles"),
        pytest.param("no JSON\n" + lines({"role": "model", "parts": [{"text": SURE}]}), id="a-line-that-is-no-json"),
    ],
)
def test_a_transcript(green: Desk, text: str) -> None:
    assert claim(green, text, "--transcript")[0] == 0


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lines({"role": "user", "content": SURE}), id="what-the-user-says"),
        pytest.param(
            lines({"role": "assistant", "content": [{"type": "tool_use", "text": SURE}]}), id="what-a-tool-is-asked"
        ),
        pytest.param(
            lines({"role": "assistant", "content": SURE}, {"role": "user", "content": "go on"}),
            id="before-the-last-prompt",
        ),
        pytest.param(
            lines({"type": "assistant", "isSidechain": True, "message": {"role": "assistant", "content": SURE}}),
            id="an-assistant-of-the-assistant",
        ),
    ],
)
def test_a_transcript_in_which_nobody_claims(green: Desk, text: str) -> None:
    assert claim(green, text, "--transcript")[1]["blocks"] == []


def test_a_transcript_that_is_none(green: Desk) -> None:
    green.sample.write({"said.txt": SURE})
    assert green.error("claim", "said.txt", "--transcript") == (2, "bad-usage", "there is no line of JSON in it")


def test_a_file_that_is_not_there(green: Desk) -> None:
    code, slug, problem = green.error("claim", "nowhere.txt")
    assert (code, slug) == (2, "bad-usage")
    assert problem == "nowhere.txt can't be read: No such file or directory"
