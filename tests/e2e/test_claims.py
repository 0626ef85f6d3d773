"""Claims on a real task: the exit gate and smart exit detection (CG, SE), and blocks of a dual gate (DG-21, DG-22)."""

from __future__ import annotations

import signal
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from tests.claims.test_blocks import DOYAKEN, EXIT, PRP
from tests.e2e.sessions import ledger
from tests.evidence.processes import wait_for
from tests.support import OURS, Project, Result

#: The source document's block, as it stands there.
DOCUMENT = """\
{
  "exit_gate": {
    "enabled": true,
    "indicator_threshold": 2,
    "require_explicit_signal": true,
    "evidence_checks": {
      "tests": true,
      "build": false,
      "acceptance_criteria": true,
      "clean_git": false
    },
    "patterns": [
      "<promise>COMPLETE</promise>",
      "all tasks completed",
      "ready for review"
    ]
  }
}
"""

TEST = "from work import answer\n\n\ndef test_answer():\n    assert answer() == 42\n"
WORK = "def answer():\n    return 42\n"
WRONG = WORK.replace("42", "41")
GOOD = f"All tasks are completed.\n\n{EXIT}"


def begin(project: Project, configuration: str = "", *, work: str = WORK) -> Project:
    """A task in GREEN whose code was written in it; twice green if it is right."""

    def play() -> None:
        assert project.run("--phase=green").code == 1
        project.write(work=work)
        for _ in range(2):
            project.run("--phase=green")

    project.write({"test_work.py": TEST, "work.py": WRONG})
    if configuration:
        project.write({"phase-gate.yaml": configuration})
    return project.begin_by(play, work)


def in_git(project: Project) -> None:
    project.write({".gitignore": "said.txt\n__pycache__/\n"}).commit_all()


def call(project: Project, text: str, *arguments: str) -> Result:
    project.write({"said.txt": text})
    return project.call("claim", "said.txt", *arguments, "--json")


def claim(project: Project, text: str, *arguments: str) -> Any:
    return call(project, text, *arguments).document


def present(document: Any, kind: str) -> list[str]:
    return [row["name"] for row in document["indicator_rows"] if row["kind"] == kind and row["met"]]


def known(document: Any) -> dict[str, bool | None]:
    return {row["name"]: row["met"] for row in document["indicator_rows"] if row["kind"] == "evidence"}


def claims(project: Project) -> list[Any]:
    return [line["data"]["claim"] for line in ledger(project) if line["kind"] == "claimed"]


# --- CG: the exit gate


@pytest.mark.criterion("CG-01")
def test_six_patterns_each_once_in_any_case(project: Project) -> None:
    text = (
        "<promise>complete</promise>\nALL TASKS are completed. All tasks are completed.\n"
        "The implementation is finished. Ready for Review. No remaining work. All acceptance criteria are met.\n"
    )
    found = claim(begin(project), text)
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
def test_measurements_are_indicators_that_can_be_switched(project: Project) -> None:
    checks = "evidence_checks: {tests: true, acceptance_criteria: true, clean_git: true, build: true}"
    build = "evidence: {commands: {build: {run: test -e built, shell: true}}}\n"
    shown = 'import pytest\n\n\n@pytest.mark.criterion("AC-1")\ndef test_one():\n    pass\n'
    project.write({".gitignore": "said.txt\nbuilt\n__pycache__/\n", "criteria.yaml": "AC-1: It answers\n"})
    configuration = f"run: {{criteria: criteria.yaml}}\n{build}exit_gate: {{{checks}}}\n"
    project.write({"test_one.py": shown, "test_work.py": TEST, "work.py": WRONG, "phase-gate.yaml": configuration})
    project.commit_all()
    begin(project, configuration)
    yes = {"tests pass": True, "acceptance criteria": True, "clean git": False, "build": False}
    assert known(claim(project, "")) == yes
    project.commit_all()
    assert known(claim(project, "")) == {**yes, "clean git": True}
    project.write({"built": ""})
    assert known(claim(project, "")) == dict.fromkeys(yes, True)
    project.write({"phase-gate.yaml": f"exit_gate: {{{checks.replace('true', 'false')}}}\n"})
    assert known(claim(project, "")) == {}


@pytest.mark.criterion("CG-04")
def test_status_reason_and_remaining_work_are_read(project: Project) -> None:
    fields = {"EXIT_STATUS": "CONTINUE", "EXIT_REASON": "the parser is slow", "REMAINING_WORK": "make it fast"}
    found = claim(begin(project), "".join(f"{name}: {value}\n" for name, value in fields.items()))
    assert found["blocks"][0]["fields"] == fields
    assert found["reason"] == "the claim itself reports not done: make it fast"


@pytest.mark.criterion("CG-06")
def test_the_threshold_by_file_environment_call_and_kind(project: Project) -> None:
    begin(project, "exit_gate: {indicator_threshold: 4, thresholds: {docs: 3}}\n")

    def found(*arguments: str) -> tuple[int, str]:
        document = claim(project, "", *arguments)
        return document["threshold"], document["threshold_from"]

    assert found() == (4, "phase-gate.yaml")
    assert found("--kind", "docs") == (3, "kind docs")
    project.environment.setenv("PHASE_GATE_EXIT_THRESHOLD", "5")
    assert found("--kind", "docs") == (5, "PHASE_GATE_EXIT_THRESHOLD")
    assert found("--threshold", "6") == (6, "--threshold")
    assert claim(project, GOOD)["gate"] == "blocked"
    assert claim(project, GOOD, "--threshold", "2")["gate"] == "passed"


@pytest.mark.criterion("CG-07")
def test_a_person_may_force_completion(project: Project) -> None:
    begin(project, "overrides: {allow_non_interactive: true}\n", work=WRONG)
    reason = ("--reason", "the vendor confirmed the number by phone")
    assert claim(project, GOOD)["gate"] == "blocked"
    assert project.call("force", *reason).code != 0, "nobody answers for it"
    assert project.call("force", *reason, "--by", "ann", "--word=OVERRIDE").code == 0
    (record,) = [line["data"] for line in ledger(project) if line["kind"] == "overridden"]
    assert (record["kind"], record["by"]) == ("force", "ann")
    assert project.status()["evaluation"]["forced_exit"] is True


@pytest.mark.criterion("CG-08")
@pytest.mark.parametrize(
    ("configuration", "work", "code"),
    [
        pytest.param("", WORK, 10, id="a-request"),
        pytest.param("exit_gate: {honour_override: true}\n", WORK, 0, id="honoured-by-configuration"),
        pytest.param("exit_gate: {honour_override: true}\n", WRONG, 10, id="never-against-a-failure"),
    ],
)
def test_an_override_is_a_request(project: Project, configuration: str, work: str, code: int) -> None:
    asked = "EXIT_STATUS: COMPLETE\nEXIT_CONFIDENCE: HIGH\nEXIT_OVERRIDE: true\n"
    begin(project, configuration, work=work)
    assert call(project, asked.replace("HIGH", "LOW")).code == 10, "only a sure one"
    ran = call(project, asked)
    assert (ran.code, ran.document["override"]) == (code, {"requested": True, "honoured": code == 0})
    assert claims(project)[-1]["override"]["requested"] is True
    assert project.call("check").code == 10, "Gate 2 never opens by it"


@pytest.mark.criterion("CG-09", "SE-08")
def test_each_decision_is_logged_with_its_score_and_reasons(project: Project) -> None:
    begin(project)
    claim(project, GOOD)
    claim(project, EXIT)
    rows = [(row["gate"], row["indicators"], row["explicit"], row["threshold"]) for row in claims(project)]
    assert rows == [("passed", 2, True, 2), ("blocked", 1, True, 2)]
    first = claims(project)[0]
    assert (first["confidence"], len(first["confidence_parts"])) == (65, 6)
    assert all(part["reason"] for part in first["confidence_parts"])


@pytest.mark.criterion("CG-10")
def test_a_gate_that_never_passes_opens_the_circuit(project: Project) -> None:
    begin(project, "exit_gate: {indicator_threshold: 9}\n")
    codes = []
    for _ in range(5):
        codes.append(call(project, GOOD).code)
        project.run("--phase=green")
    assert codes == [10, 10, 10, 10, 12]
    breaker = project.call("status", "--json").document["breaker"]
    assert breaker["reason"] == "5 claims in a row that the exit gate blocked"
    assert project.call("check").code == 12


@pytest.mark.criterion("CG-11")
def test_the_documents_configuration_is_accepted(project: Project) -> None:
    found = claim(begin(project, DOCUMENT), f"All tasks completed.\n\n{EXIT}")
    assert found["gate"] == "passed"
    assert [row["name"] for row in found["indicator_rows"]] == [
        "<promise>COMPLETE</promise>",
        "all tasks completed",
        "ready for review",
        "tests pass",
        "acceptance criteria",
    ]


@pytest.mark.criterion("CG-12", "SE-09")
@pytest.mark.parametrize("style", ["exit", "prp", "doyaken", "ralph"])
def test_an_echoed_prompt_is_no_claim(project: Project, style: str) -> None:
    prompt = begin(project).call("agent", "prompt", "--style", style)
    assert prompt.has("GREEN", "Gate 1", "Gate 2", "at the left margin")
    for echoed in (prompt.out, prompt.out.replace("```", "")):
        found = claim(project, echoed)
        assert (found["is_claim"], found["explicit"], present(found, "pattern")) == (False, None, [])


@pytest.mark.criterion("CG-13")
def test_thresholds_can_be_calibrated_from_what_became_of_claims(project: Project) -> None:
    claim(begin(project), GOOD)
    project.write(work=WRONG)
    project.run("--phase=green")
    project.write(work=WORK)
    for _ in range(2):
        project.run("--phase=green")
    score = claim(project, GOOD)["confidence"]
    assert project.call("signal", "--reason", "done now").code == 0
    found = project.call("history", "--calibration", "--json").document
    rows = [row for row in found["rows"] if row["claims"]]
    assert (sum(row["claims"] for row in rows), sum(row["true"] for row in rows)) == (2, 1)
    assert [row["low"] <= score < row["high"] for row in rows if row["true"]] == [True]
    message = project.call("history", "--calibration").out
    assert [row.split()[1:] for row in message.splitlines() if row.endswith("%")] == [["2", "1", "50%"]]


@pytest.mark.criterion("CG-14")
def test_a_plan_whose_boxes_are_ticked(project: Project) -> None:
    begin(project, "exit_gate: {plan_file: PLAN.md}\n")
    for text, expected in (
        ("- [x] one\n* [X] two\n1. [x] three\n", True),
        ("- [x] one\n- [ ] two\n", False),
        ("nothing\n", None),
    ):
        project.write({"PLAN.md": text})
        assert known(claim(project, ""))["plan PLAN.md"] is expected


# --- SE: smart exit detection


@pytest.mark.criterion("SE-01")
def test_the_five_fields_and_their_types(project: Project) -> None:
    found = claim(begin(project), f"It works.\n\n{DOYAKEN}")
    assert list(found["blocks"][0]["fields"].values()) == ["true", "3", "pass", "high", "none"]
    for key, value in (("true", "yes"), ("3", "three"), ("pass", "green"), ("high", "9"), ("none", "<what>")):
        assert claim(project, DOYAKEN.replace(f": {key}", f": {value}"))["explicit"] is None


@pytest.mark.criterion("SE-02", "SE-03", "SE-12", "SE-13")
def test_the_sum_of_six_parts(project: Project) -> None:
    in_git(project)
    begin(project, "confidence: {task_file: todo/work.md, done_folder: done}\nexit_gate: {indicator_threshold: 1}\n")
    project.write({"done/work.md": "x"})
    found = claim(project, f"It is done.\n\n{DOYAKEN}")
    assert [(part["name"], part["worth"] if part["met"] else 0) for part in found["confidence_parts"]] == [
        ("status block", 30),
        ("reports complete", 20),
        ("files changed", 15),
        ("task file moved", 20),
        ("keywords", 10),
        ("tests pass", 5),
    ]
    assert (found["confidence"], found["decision"]) == (100, "complete")
    assert present(found, "evidence") == ["tests pass", "task file moved"]
    words = ("complete", "done", "finished", "all pass", "so")
    assert [points(claim(project, f"It is {word}."))["keywords"] for word in words] == [10, 10, 10, 10, 0]


@pytest.mark.criterion("SE-04")
def test_one_condition_alone_warns(project: Project) -> None:
    begin(project)
    found = claim(project, EXIT)
    assert (found["decision"], found["warnings"]) == (
        "continue",
        ["it reports done, with 1 indicator (2 needed)"],
    )
    found = claim(project, "All tasks are completed. Ready for review.")
    assert found["decision"] == "continue"
    (warning,) = found["warnings"]
    assert warning.startswith("3 indicators (2 needed), but no block reports done: there is no whole status block")


@pytest.mark.criterion("SE-05")
def test_the_chain_in_its_order(project: Project) -> None:
    begin(project, "confidence: {repeated: 2}\n")
    words = "All tasks are completed."
    assert claim(project, "I go on.")["decision"] == "continue"

    def decide(text: str) -> str:
        decision: str = claim(project, text)["decision"]
        project.run("--phase=green")
        return decision

    assert [decide(words) for _ in range(2)] == ["continue", "ask a person"]
    assert decide(GOOD) == "complete", "before many low ones"
    decisions = [decide(words) for _ in range(6)]
    assert decisions == ["continue", *["ask a person"] * 3, "halted", "halted"], "the circuit before a person"
    assert claim(project, GOOD)["decision"] == "halted", "the circuit before completion"
    project.write(test_stop="def test_stop():\n    raise KeyboardInterrupt\n")
    project.run_process("--phase=green")
    assert claim(project, GOOD)["decision"] == "interrupted", "an interrupt before the circuit"


@pytest.mark.criterion("SE-10")
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT")
def test_sigint_ends_the_run_at_once(project: Project) -> None:
    project.write(
        test_slow="import time\n\n\ndef test_slow():\n    open('began', 'w').write('x')\n    time.sleep(600)\n"
    )
    # As at a terminal: whoever runs this suite in the background has it ignored, and children inherit that.
    heard = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"
    runner = f"{heard}; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    with subprocess.Popen(
        [sys.executable, "-c", runner, *OURS, "--phase=green"],
        cwd=project.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_for(project.root / "began")
            process.send_signal(signal.SIGINT)
            assert process.wait() == 2
        finally:
            process.kill()
    (run,) = project.call("history", "--json").document["runs"]
    assert (run["kind"], run["iteration"]) == ("incomplete", None)


@pytest.mark.criterion("SE-10")
@pytest.mark.parametrize("how", ["in-the-run", "by-the-command"])
def test_sigint_while_a_signal_is_proven(project: Project, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """The run is incomplete and not lost; the command says one line."""
    project.write({"test_work.py": TEST, "work.py": WRONG})
    project.run("--phase=red", "--exit-signal=done")
    project.write(work=WORK)
    project.run("--phase=green")
    if how == "by-the-command":
        project.run("--phase=green")

    def interrupt(*given: object, **more: object) -> None:
        raise KeyboardInterrupt

    prover = ModuleType("interrupted_prover")
    prover.__dict__["prove"] = interrupt
    monkeypatch.setitem(sys.modules, prover.__name__, prover)
    monkeypatch.setattr("phase_gate.evidence.gathering.PROVER", prover.__name__)
    monkeypatch.setattr("phase_gate.decisions.signalling.prove_before_exit", interrupt)
    if how == "by-the-command":
        ran = project.call("signal", "--reason", "it answers")
        assert (ran.code, ran.err.splitlines()) == (
            130,
            ["phase-gate: interrupted; phase-gate status shows what is recorded"],
        )
        assert project.status()["status"] == "waiting"
    else:
        ran = project.run("--phase=green", "--exit-signal=done")
        assert (ran.code, "does not count (incomplete): interrupted" in ran.out) == (2, True)
        last = project.call("history", "--json").document["runs"][-1]
        assert (last["kind"], last["iteration"]) == ("incomplete", None)


@pytest.mark.criterion("SE-11")
def test_changed_files_come_from_git(project: Project) -> None:
    project.write({".gitignore": "said.txt\n__pycache__/\n", "kept.py": "A = 1\n"})
    project.write({"phase-gate.yaml": "exit_gate: {indicator_threshold: 1}\n"})
    project.write({"test_work.py": TEST, "work.py": WORK}).commit_all()
    project.run("--phase=green")

    def part() -> tuple[bool, str]:
        row = next(row for row in claim(project, "")["confidence_parts"] if row["name"] == "files changed")
        return row["met"], row["reason"]

    assert part() == (False, "0 files changed since the commit that the cycle began on")
    project.write(kept="A = 2\n")
    assert part() == (True, "1 file changed since the commit that the cycle began on"), "unstaged"
    project.write(new="A = 2\n")
    two = (True, "2 files changed since the commit that the cycle began on")
    assert part() == two, "untracked"
    project.git("add", "new.py")
    assert part() == two, "staged"
    project.commit_all()
    assert part() == two, "committed"


@pytest.mark.criterion("SE-12")
def test_the_task_file_is_configured_and_unknown_is_not_zero(project: Project) -> None:
    begin(project, "confidence: {task_file: 'doing/{task}.md', done_folder: finished}\n")

    def part() -> tuple[bool | None, str]:
        row = next(row for row in claim(project, GOOD)["confidence_parts"] if row["name"] == "task file moved")
        return row["met"], row["reason"]

    assert part() == (None, "neither doing/default.md nor finished/default.md is there")
    project.write({"doing/default.md": "x"})
    assert part() == (False, "doing/default.md is where it was")
    project.remove("doing/default.md")
    project.write({"finished/default.md": "x"})
    assert part() == (True, "default.md is in finished/")


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


def give_signal(project: Project) -> Result:
    return project.call("signal", "--reason", "the claim is true", "--json")


def points(document: Any) -> dict[str, int]:
    return {part["name"]: part["worth"] if part["met"] else 0 for part in document["confidence_parts"]}


# --- CG-15: words inside of the block, and one threshold


@pytest.mark.criterion("CG-15")
def test_the_documents_own_example_comes_out_as_it_says(project: Project) -> None:
    ran = call(begin(project), OWN_EXAMPLE)
    found = ran.document
    assert present(found, "pattern") == ["ready for review", "tests passing"]
    assert (ran.code, found["decision"], found["indicators"]) == (0, "complete", 3)
    assert found["reason"] == "it reports done, 3 indicators (2 needed), confidence 65"


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
    end = give_signal(project)
    assert (end.code, end.document["can_exit"]) == (0, True)
    shown = "claim: Ada asks for 1 indicator, where Gate 1 of WORK needs 2: the second sign is a plan"
    assert any(note.startswith(shown) for note in end.document["notes"])


@pytest.mark.criterion("CG-06", "CG-15")
def test_a_lower_threshold_is_not_for_a_script(project: Project) -> None:
    ran = call(
        work(project, "exit-gate"), BARE, "--threshold", "1", "--by", "Ada", "--reason", "she ticked it on paper"
    )
    assert (ran.code, ran.document["error"]["slug"]) == (13, "not-allowed")


# --- CG-16: counters go by iteration


@pytest.mark.criterion("CG-16", "SE-06")
def test_low_claims_are_counted_by_iteration(project: Project) -> None:
    begin(project)
    low = "All tasks are completed."
    assert [call(project, low).code for _ in range(6)] == [10] * 6
    assert claim(project, low)["claims_low"] == 1
    project.run("--phase=auto")
    assert (claim(project, low)["claims_low"], claim(project, low)["claims_low"]) == (2, 2)
    project.run("--phase=auto")
    third = call(project, low)
    assert (third.code, third.document["claims_low"]) == (13, 3)
    assert third.document["reason"].startswith("3 iterations with a claim under 50 points: a person has to look")
    found = claim(project, GOOD)
    assert (found["decision"], found["claims_low"]) == ("complete", 0)


@pytest.mark.criterion("CG-14", "CG-16")
def test_done_in_two_iterations_is_an_indicator(project: Project) -> None:
    begin(project)
    assert [(row["decision"], row["claims_done"]) for row in (claim(project, BARE), claim(project, BARE))] == [
        ("continue", 1),
        ("continue", 1),
    ]
    project.run("--phase=auto")
    found = claim(project, BARE)
    assert (found["decision"], found["claims_done"]) == ("complete", 2)
    assert present(found, "signal") == ["done in a row"]
    project.run("--phase=auto")
    assert claim(project, "EXIT_STATUS: CONTINUE\n")["claims_done"] == 0
    project.run("--phase=auto")
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
    assert ran.document["reason"] == "files have changed since the last run (work.py)"
    assert ran.document["next_command"] == "pytest --phase=auto"
    project.write(work=WORK)
    if workflow != "tdd":
        assert give_signal(project).code == 10, "the refused claim counts no more when the change is taken back"
    assert call(project, text).code == 0, "the same words about what was tested"


# --- SE-13: what can't be measured


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
    assert (ran.document["confidence_needed"], ran.code, give_signal(project).code) == (56, code, code)
    if code:
        assert ran.document["reason"] == "confidence 55 of the 80 points that can be measured, below the 56 needed"


# --- DG-21, DG-22: the block of a dual gate


@pytest.mark.criterion("DG-21")
def test_the_prompt_asks_for_the_dual_gate_part(project: Project) -> None:
    begin(project)
    for phase in ("red", "green", "refactor", "document"):
        prompt = project.call("agent", "prompt", "--phase", phase, "--style", "prp")
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
    assert "GATE_2 is missing" in claim(project, one)["blocks"][0]["problems"][0]
    assert call(project, f"All tasks are completed.\n\n{PRP}").code == 0


@pytest.mark.criterion("DG-22")
@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        pytest.param("tests_passing: 10/10, consecutive_runs: 2", [10, 10], id="passing-and-total"),
        pytest.param("tests_passing: 1/1, consecutive_runs: 7", [7], id="runs"),
        pytest.param("tests_passing: 1/1, consecutive_runs: 2", [], id="true"),
    ],
)
def test_numbers_in_the_detail_are_compared(project: Project, detail: str, expected: list[int]) -> None:
    begin(project)
    rows = [row for row in PRP.splitlines() if not row.startswith("TESTS_") and "GATE_1_DETAIL" not in row]
    rows.insert(rows.index("  GATE_1: true") + 1, f'  GATE_1_DETAIL: "{detail}"')
    found = claim(project, "\n".join((*rows, "")))
    assert found["blocks"][0]["problems"] == []
    assert len(found["contradictions"]) == len(expected)
    for row, number in zip(found["contradictions"], expected, strict=True):
        assert row.startswith("GATE_1_DETAIL: ")
        assert f" {number} was claimed, " in row
        assert row.endswith(" was measured")
