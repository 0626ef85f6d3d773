"""The dual-condition exit gate and smart exit detection: one test or more a clause, on a real task."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from types import ModuleType
from typing import Any

import pytest

from tests.claims.test_blocks import DOYAKEN, EXIT
from tests.config.test_claim_settings import DOCUMENT
from tests.conformance.stories import command, ledger, status
from tests.storage.stores import contents
from tests.support import OURS, Ran, Sample

TEST = "from work import answer\n\n\ndef test_answer():\n    assert answer() == 42\n"
WORK = "def answer():\n    return 42\n"
WRONG = WORK.replace("42", "41")
GOOD = f"All tasks are completed.\n\n{EXIT}"


#: What the beginning of a story leaves: nothing in it names the folder, so it is played once and copied.
_PLAYED: dict[tuple[str, str], dict[str, bytes]] = {}


def begin(sample: Sample, configuration: str = "", *, work: str = WORK) -> Sample:
    """A task in GREEN whose code was written in it; twice green if it is right."""
    if any(sample.root.iterdir()):
        return _play(sample, configuration, work)
    if (configuration, work) not in _PLAYED:
        _PLAYED[configuration, work] = contents(_play(sample, configuration, work).root)
        return sample
    for name, content in _PLAYED[configuration, work].items():
        path = sample.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return sample


def _play(sample: Sample, configuration: str, work: str) -> Sample:
    files = {"test_work.py": TEST, "work.py": WRONG}
    sample.write({**files, "phase-gate.yaml": configuration} if configuration else files)
    assert sample.pytest("--phase=green").code == 1
    sample.write(work=work)
    for _ in range(2):
        sample.pytest("--phase=green")
    return sample


def in_git(sample: Sample) -> None:
    sample.write({".gitignore": "said.txt\n__pycache__/\n"}).commit_all()


def call(sample: Sample, text: str, *arguments: str) -> Ran:
    sample.write({"said.txt": text})
    return command(sample, "claim", "said.txt", *arguments, "--json")


def claim(sample: Sample, text: str, *arguments: str) -> Any:
    return call(sample, text, *arguments).document


def present(document: Any, kind: str) -> list[str]:
    return [row["name"] for row in document["indicator_rows"] if row["kind"] == kind and row["present"]]


def known(document: Any) -> dict[str, bool | None]:
    return {row["name"]: row["present"] for row in document["indicator_rows"] if row["kind"] == "evidence"}


def claims(sample: Sample) -> list[Any]:
    return [line["data"]["claim"] for line in ledger(sample) if line["kind"] == "claimed"]


# --- CG: the exit gate


@pytest.mark.criterion("CG-01")
def test_six_patterns_each_once_in_any_case(sample: Sample) -> None:
    text = (
        "<promise>complete</promise>\nALL TASKS are completed. All tasks are completed.\n"
        "The implementation is finished. Ready for Review. No remaining work. All acceptance criteria are met.\n"
    )
    found = claim(begin(sample), text)
    assert present(found, "pattern") == [
        "<promise>COMPLETE</promise>",
        "all tasks.*completed",
        "implementation.*finished",
        "ready for review",
        "no remaining work",
        "all acceptance criteria.*met",
    ]
    assert found["indicators"] == 7, "six in words, and the tests"


@pytest.mark.criterion("CG-02")
def test_measurements_are_indicators_that_can_be_switched(sample: Sample) -> None:
    checks = "evidence_checks: {tests: true, acceptance_criteria: true, clean_git: true, build: true}"
    build = "evidence: {commands: {build: {run: test -e built, shell: true}}}\n"
    shown = 'import pytest\n\n\n@pytest.mark.criterion("AC-1")\ndef test_one():\n    pass\n'
    sample.write({".gitignore": "said.txt\nbuilt\n__pycache__/\n", "criteria.yaml": "AC-1: It answers\n"})
    configuration = f"run: {{criteria: criteria.yaml}}\n{build}exit_gate: {{{checks}}}\n"
    sample.write({"test_one.py": shown, "test_work.py": TEST, "work.py": WRONG, "phase-gate.yaml": configuration})
    sample.commit_all()
    begin(sample, configuration)
    yes = {"tests pass": True, "acceptance criteria": True, "clean git": False, "build": False}
    assert known(claim(sample, "")) == yes
    sample.commit_all()
    assert known(claim(sample, "")) == {**yes, "clean git": True}
    sample.write({"built": ""})
    assert known(claim(sample, "")) == dict.fromkeys(yes, True)
    sample.write({"phase-gate.yaml": f"exit_gate: {{{checks.replace('true', 'false')}}}\n"})
    assert known(claim(sample, "")) == {}


@pytest.mark.criterion("CG-03")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param(GOOD, 0, id="both"),
        pytest.param(EXIT, 10, id="too-few-indicators"),
        pytest.param("All tasks are completed. Ready for review.", 10, id="no-signal"),
        pytest.param(GOOD.replace("COMPLETE", "CONTINUE"), 10, id="not-true"),
    ],
)
def test_enough_indicators_and_the_signal(sample: Sample, text: str, code: int) -> None:
    ran = call(begin(sample), text)
    assert (ran.code, ran.document["threshold"]) == (code, 2)


@pytest.mark.criterion("CG-04")
def test_status_reason_and_remaining_work_are_read(sample: Sample) -> None:
    text = "EXIT_STATUS: CONTINUE\nEXIT_REASON: the parser is slow\nREMAINING_WORK: make it fast\n"
    found = claim(begin(sample), text)
    assert found["blocks"][0]["fields"] == {
        "EXIT_STATUS": "CONTINUE",
        "EXIT_REASON": "the parser is slow",
        "REMAINING_WORK": "make it fast",
    }
    assert found["remaining_work"] == "make it fast"


@pytest.mark.criterion("CG-05")
def test_continue_wins_over_any_number(sample: Sample) -> None:
    words = "All tasks are completed. The implementation is finished. Ready for review. No remaining work."
    found = claim(begin(sample), f"{words}\n\nEXIT_STATUS: CONTINUE\n", "--threshold", "1")
    assert (found["indicators"], found["decision"]) == (5, "continue")
    assert found["reason"] == "it says itself that it is not done"


@pytest.mark.criterion("CG-06")
def test_the_threshold_by_file_environment_call_and_kind(sample: Sample) -> None:
    begin(sample, "exit_gate: {indicator_threshold: 4, thresholds: {docs: 3}}\n")

    def found(*arguments: str) -> tuple[int, str]:
        document = claim(sample, "", *arguments)
        return document["threshold"], document["threshold_from"]

    assert found() == (4, "phase-gate.yaml")
    assert found("--kind", "docs") == (3, "kind docs")
    sample.environment.setenv("PHASE_GATE_EXIT_THRESHOLD", "5")
    assert found("--kind", "docs") == (5, "PHASE_GATE_EXIT_THRESHOLD")
    assert found("--threshold", "6") == (6, "--threshold")
    assert claim(sample, GOOD)["gate"] == "blocked"
    assert claim(sample, GOOD, "--threshold", "2")["gate"] == "passed"


@pytest.mark.criterion("CG-07")
def test_a_person_may_force_completion(sample: Sample) -> None:
    begin(sample, "overrides: {allow_non_interactive: true}\n", work=WRONG)
    reason = ("--reason", "the vendor confirmed the number by phone")
    assert claim(sample, GOOD)["gate"] == "blocked"
    assert command(sample, "force", *reason).code != 0, "nobody answers for it"
    assert command(sample, "force", *reason, "--by", "ann", "--word=OVERRIDE").code == 0
    (record,) = [line["data"] for line in ledger(sample) if line["kind"] == "overridden"]
    assert (record["kind"], record["by"]) == ("force", "ann")
    assert status(sample)["evaluation"]["forced_exit"] is True


ASKED = "EXIT_STATUS: COMPLETE\nEXIT_CONFIDENCE: HIGH\nEXIT_OVERRIDE: true\n"


@pytest.mark.sampled(4)
@pytest.mark.criterion("CG-08")
@pytest.mark.parametrize(
    ("configuration", "work", "text", "code", "honoured"),
    [
        pytest.param("", WORK, ASKED, 10, False, id="a-request"),
        pytest.param("exit_gate: {honour_override: true}\n", WORK, ASKED, 0, True, id="honoured-by-configuration"),
        pytest.param(
            "exit_gate: {honour_override: true}\n", WORK, ASKED.replace("HIGH", "LOW"), 10, False, id="not-high"
        ),
        pytest.param("exit_gate: {honour_override: true}\n", WRONG, ASKED, 10, False, id="never-against-a-failure"),
    ],
)
def test_an_override_is_a_request(
    sample: Sample, configuration: str, work: str, text: str, code: int, honoured: bool
) -> None:
    ran = call(begin(sample, configuration, work=work), text)
    assert (ran.code, ran.document["override"]) == (code, {"requested": True, "honoured": honoured})
    assert claims(sample)[-1]["override"]["requested"] is True
    assert command(sample, "check").code == 10, "Gate 2 never opens by it"


@pytest.mark.criterion("CG-09")
def test_each_decision_is_logged(sample: Sample) -> None:
    begin(sample)
    claim(sample, GOOD)
    claim(sample, EXIT)
    rows = [(row["gate"], row["indicators"], row["explicit"], row["threshold"]) for row in claims(sample)]
    assert rows == [("passed", 2, True, 2), ("blocked", 1, True, 2)]


@pytest.mark.criterion("CG-10")
def test_a_gate_that_never_passes_opens_the_circuit(sample: Sample) -> None:
    begin(sample, "exit_gate: {indicator_threshold: 9}\n")
    codes = []
    for _ in range(5):
        codes.append(call(sample, GOOD).code)
        sample.pytest("--phase=green")
    assert codes == [10, 10, 10, 10, 12]
    breaker = command(sample, "status", "--json").document["breaker"]
    assert breaker["reason"] == "5 claims in a row that the exit gate blocked"
    assert command(sample, "check").code == 12


@pytest.mark.criterion("CG-11")
def test_the_documents_configuration_is_accepted(sample: Sample) -> None:
    found = claim(begin(sample, DOCUMENT), f"All tasks completed.\n\n{EXIT}")
    assert found["gate"] == "passed"
    assert [row["name"] for row in found["indicator_rows"]] == [
        "<promise>COMPLETE</promise>",
        "all tasks completed",
        "ready for review",
        "tests pass",
        "acceptance criteria",
    ]


@pytest.mark.criterion("CG-12")
def test_done_with_failing_tests_is_blocked(sample: Sample) -> None:
    found = claim(begin(sample, work=WRONG), f"{GOOD}\nReady for review. No remaining work.\n")
    assert (found["gate"], found["reason"]) == ("blocked", "1 test failed in the last complete run (iteration 3)")


@pytest.mark.criterion("CG-12")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Not all tasks are completed.", id="negated"),
        pytest.param("I am not outputting <promise>COMPLETE</promise>.", id="not-outputting"),
        pytest.param("# Implementation finished\n\nWork goes on.\n", id="a-heading"),
        pytest.param(f"```\n{GOOD}```\n", id="fenced"),
        pytest.param("".join(f"> {row}\n" for row in GOOD.splitlines()), id="quoted"),
        pytest.param("".join(f"    {row}\n" for row in GOOD.splitlines()) + "I have not finished.", id="indented"),
    ],
)
def test_what_is_no_claim(sample: Sample, text: str) -> None:
    found = claim(begin(sample), text)
    assert (present(found, "pattern"), found["blocks"], found["is_claim"]) == ([], [], False)


@pytest.mark.criterion("CG-12", "SE-09")
@pytest.mark.parametrize("style", ["exit", "prp", "doyaken", "ralph"])
def test_an_echoed_prompt_is_no_claim(sample: Sample, style: str) -> None:
    begin(sample)
    for phase in ("red", "green", "refactor", "document"):
        prompt = command(sample, "agent", "prompt", "--phase", phase, "--style", style)
        assert prompt.has(phase.upper(), "Gate 1", "Gate 2", "at the left margin")
        for echoed in (prompt.out, prompt.out.replace("```", "")):
            found = claim(sample, echoed)
            assert (found["is_claim"], found["explicit"], present(found, "pattern")) == (False, None, [])


@pytest.mark.criterion("CG-13")
def test_thresholds_can_be_calibrated_from_what_became_of_claims(sample: Sample) -> None:
    claim(begin(sample), GOOD)
    sample.write(work=WRONG)
    sample.pytest("--phase=green")
    sample.write(work=WORK)
    for _ in range(2):
        sample.pytest("--phase=green")
    score = claim(sample, GOOD)["confidence"]
    assert command(sample, "signal", "--reason", "done now").code == 0
    found = command(sample, "history", "--calibration", "--json").document
    rows = [row for row in found["rows"] if row["claims"]]
    assert (sum(row["claims"] for row in rows), sum(row["true"] for row in rows)) == (2, 1)
    assert [row["low"] <= score < row["high"] for row in rows if row["true"]] == [True]
    said = command(sample, "history", "--calibration").out
    assert "score    claims  true later" in said
    assert "       2     1   50%" in said


@pytest.mark.criterion("CG-14")
def test_a_plan_whose_boxes_are_ticked(sample: Sample) -> None:
    begin(sample, "exit_gate: {plan_file: PLAN.md}\n")
    for text, expected in (
        ("- [x] one\n* [X] two\n1. [x] three\n", True),
        ("- [x] one\n- [ ] two\n", False),
        ("nothing\n", None),
    ):
        sample.write({"PLAN.md": text})
        assert known(claim(sample, ""))["plan PLAN.md"] is expected


@pytest.mark.criterion("CG-14")
def test_done_signals_in_a_row(sample: Sample) -> None:
    begin(sample)
    counts = []
    for text in (EXIT, EXIT, "EXIT_STATUS: CONTINUE\n", EXIT):
        counts.append(claim(sample, text)["claims_done"])
        sample.pytest("--phase=green")
    assert counts == [1, 2, 0, 1]


# --- SE: smart exit detection


@pytest.mark.criterion("SE-01")
def test_the_five_fields_and_their_types(sample: Sample) -> None:
    found = claim(begin(sample), f"It works.\n\n{DOYAKEN}")
    assert list(found["blocks"][0]["fields"].values()) == ["true", "3", "pass", "high", "none"]
    for key, value in (("true", "yes"), ("3", "three"), ("pass", "green"), ("high", "9"), ("none", "<what>")):
        assert claim(sample, DOYAKEN.replace(f": {key}", f": {value}"))["explicit"] is None


@pytest.mark.criterion("SE-02", "SE-03")
def test_the_sum_of_six_parts(sample: Sample) -> None:
    in_git(sample)
    begin(sample, "confidence: {task_file: todo/work.md, done_folder: done}\nexit_gate: {indicator_threshold: 1}\n")
    sample.write({"done/work.md": "x"})
    found = claim(sample, f"It is done.\n\n{DOYAKEN}")
    assert [(part["name"], part["points"]) for part in found["confidence_parts"]] == [
        ("status block", 30),
        ("says complete", 20),
        ("files changed", 15),
        ("task file moved", 20),
        ("keywords", 10),
        ("tests pass", 5),
    ]
    assert (found["confidence"], found["decision"]) == (100, "complete")


@pytest.mark.sampled(2)
@pytest.mark.criterion("SE-03")
@pytest.mark.parametrize(("threshold", "decision"), [(80, "complete"), (81, "continue")])
def test_from_the_threshold_on(sample: Sample, threshold: int, decision: str) -> None:
    in_git(sample)
    begin(sample, f"confidence: {{threshold: {threshold}, task_file: todo.md}}\n").write({"todo.md": "x"})
    found = claim(sample, GOOD)
    assert (found["confidence"], found["decision"]) == (80, decision)


@pytest.mark.criterion("SE-04")
def test_one_condition_alone_warns(sample: Sample) -> None:
    begin(sample)
    found = claim(sample, EXIT)
    assert (found["decision"], found["warnings"]) == (
        "continue",
        ["it says done, with 1 indicator (2 needed)"],
    )
    found = claim(sample, "All tasks are completed. Ready for review.")
    assert found["decision"] == "continue"
    assert found["warnings"] == ["3 indicators (2 needed), and no block says done: only words do"]


@pytest.mark.criterion("SE-05")
def test_the_chain_in_its_order(sample: Sample) -> None:
    begin(sample, "confidence: {repeated: 2}\n")
    words = "All tasks are completed."
    assert claim(sample, "I go on.")["decision"] == "continue"

    def decide(text: str) -> str:
        decision: str = claim(sample, text)["decision"]
        sample.pytest("--phase=green")
        return decision

    assert [decide(words) for _ in range(2)] == ["continue", "ask a person"]
    assert decide(GOOD) == "complete", "before many low ones"
    decisions = [decide(words) for _ in range(6)]
    assert decisions == ["continue", *["ask a person"] * 3, "halted", "halted"], "the circuit before a person"
    assert claim(sample, GOOD)["decision"] == "halted", "the circuit before completion"
    sample.write(test_stop="def test_stop():\n    raise KeyboardInterrupt\n")
    sample.pytest_process("--phase=green")
    assert claim(sample, GOOD)["decision"] == "interrupted", "an interrupt before the circuit"


@pytest.mark.criterion("SE-06")
def test_three_low_ones_ask_for_a_person(sample: Sample) -> None:
    begin(sample)
    answers = []
    for _ in range(3):
        answers.append(call(sample, "All tasks are completed."))
        sample.pytest("--phase=green")
    assert [each.code for each in answers] == [10, 10, 13]
    assert "3 iterations with a claim under 50 points: a person has to look" in answers[2].document["reason"]
    found = claim(sample, GOOD)
    assert (found["decision"], found["claims_low"]) == ("complete", 0)


@pytest.mark.criterion("SE-07")
def test_without_a_block(sample: Sample) -> None:
    begin(sample).write({"said.txt": "All tasks are completed."})
    ran = command(sample, "claim", "said.txt")
    assert ran.code == 10
    assert ran.has("nothing that counts (no status block)", "no block that is filled in: the words alone are weak")


@pytest.mark.criterion("SE-08")
def test_score_and_reasons_are_logged(sample: Sample) -> None:
    claim(begin(sample), GOOD)
    (row,) = claims(sample)
    assert (row["confidence"], len(row["confidence_parts"])) == (65, 6)
    assert all(part["reason"] for part in row["confidence_parts"])


@pytest.mark.criterion("SE-10")
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT")
def test_sigint_ends_the_run_at_once(sample: Sample) -> None:
    sample.write(test_slow="import time\n\n\ndef test_slow():\n    open('began', 'w').close()\n    time.sleep(60)\n")
    # As at a terminal: whoever runs this suite in the background has it ignored, and children inherit that.
    heard = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"
    runner = f"{heard}; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    with subprocess.Popen(
        [sys.executable, "-c", runner, *OURS, "--phase=green"],
        cwd=sample.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            while not (sample.root / "began").exists():
                assert process.poll() is None
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 2
        finally:
            process.kill()
    (run,) = command(sample, "history", "--json").document["runs"]
    assert (run["kind"], run["iteration"]) == ("incomplete", None)


@pytest.mark.criterion("SE-10")
@pytest.mark.parametrize("how", ["in-the-run", "by-the-command"])
def test_sigint_while_a_signal_is_proven(sample: Sample, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """The run is incomplete and not lost; the command says one line."""
    sample.write({"test_work.py": TEST, "work.py": WRONG})
    sample.pytest("--phase=red", "--exit-signal=done")
    sample.write(work=WORK)
    sample.pytest("--phase=green")
    if how == "by-the-command":
        sample.pytest("--phase=green")

    def interrupt(*given: object, **more: object) -> None:
        raise KeyboardInterrupt

    prover = ModuleType("interrupted_prover")
    prover.__dict__["prove"] = interrupt
    monkeypatch.setitem(sys.modules, prover.__name__, prover)
    monkeypatch.setattr("phase_gate.evidence.gathering.PROVER", prover.__name__)
    monkeypatch.setattr("phase_gate.decisions.signalling.prove_before_exit", interrupt)
    if how == "by-the-command":
        ran = command(sample, "signal", "--reason", "it answers")
        assert (ran.code, ran.err.splitlines()) == (
            130,
            ["phase-gate: interrupted; phase-gate status shows what is recorded"],
        )
        assert status(sample)["status"] == "waiting"
    else:
        ran = sample.pytest("--phase=green", "--exit-signal=done")
        assert (ran.code, "does not count (incomplete): interrupted" in ran.out) == (2, True)
        last = command(sample, "history", "--json").document["runs"][-1]
        assert (last["kind"], last["iteration"]) == ("incomplete", None)


@pytest.mark.sampled(4)
@pytest.mark.criterion("SE-11")
@pytest.mark.parametrize("how", ["committed", "staged", "unstaged", "untracked"])
def test_changed_files_come_from_git(sample: Sample, how: str) -> None:
    sample.write(
        {".gitignore": "said.txt\n__pycache__/\n", "kept.py": "A = 1\n", "test_work.py": TEST, "work.py": WORK}
    )
    sample.write({"phase-gate.yaml": "exit_gate: {indicator_threshold: 1}\n"}).commit_all()
    sample.pytest("--phase=green")

    def part() -> Any:
        return next(row for row in claim(sample, "")["confidence_parts"] if row["name"] == "files changed")

    assert (part()["met"], part()["reason"]) == (False, "0 files changed since the commit that the cycle began on")
    sample.write({"kept.py" if how == "unstaged" else "new.py": "A = 2\n"})
    if how == "committed":
        sample.commit_all()
    elif how == "staged":
        sample.git("add", "new.py")
    assert (part()["met"], part()["reason"]) == (True, "1 file changed since the commit that the cycle began on")


@pytest.mark.criterion("SE-12")
@pytest.mark.parametrize(
    ("word", "points"), [("complete", 10), ("done", 10), ("finished", 10), ("all pass", 10), ("so", 0)]
)
def test_the_documents_keywords(sample: Sample, word: str, points: int) -> None:
    found = claim(begin(sample), f"It is {word}.")
    assert next(row["points"] for row in found["confidence_parts"] if row["name"] == "keywords") == points


@pytest.mark.criterion("SE-12")
def test_the_task_file_is_configured_and_unknown_is_not_zero(sample: Sample) -> None:
    begin(sample, "confidence: {task_file: 'doing/{task}.md', done_folder: finished}\n")

    def part() -> tuple[bool | None, str]:
        row = next(row for row in claim(sample, GOOD)["confidence_parts"] if row["name"] == "task file moved")
        return row["met"], row["reason"]

    assert part() == (None, "neither doing/default.md nor finished/default.md is there")
    sample.write({"doing/default.md": "x"})
    assert part() == (False, "doing/default.md is where it was")
    sample.remove("doing/default.md")
    sample.write({"finished/default.md": "x"})
    assert part() == (True, "default.md is in finished/")
