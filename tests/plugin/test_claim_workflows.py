"""The workflows `exit-gate` and `confidence`: a claim is what their Gate 1 waits for."""

from __future__ import annotations

import pytest

from tests.conformance.stories import command
from tests.support import Ran, Sample

TEST = "from work import answer\n\n\ndef test_answer():\n    assert answer() == 42\n"
WORK = "def answer():\n    return 42\n"
CLAIM = "All tasks are completed.\n\nEXIT_STATUS: COMPLETE\nREMAINING_WORK: none\n"


def begin(sample: Sample, workflow: str) -> Sample:
    sample.write({"phase-gate.yaml": f"workflow: {workflow}\n", "test_work.py": TEST, "work.py": WORK[:-3] + "1\n"})
    assert sample.pytest("--phase=work").code == 1
    sample.write(work=WORK)
    assert sample.pytest("--phase=work").code == 10
    return sample


def claim(sample: Sample, text: str = CLAIM) -> Ran:
    sample.write({"said.txt": text})
    return command(sample, "claim", "said.txt", "--json")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("workflow", ["exit-gate", "confidence"])
def test_a_claim_and_a_signal_end_the_phase(sample: Sample, workflow: str) -> None:
    begin(sample, workflow)
    assert command(sample, "signal", "--reason", "done").has("not measured: cl", "phase-gate claim FILE")
    assert claim(sample).document["decision"] == "complete"
    ran = command(sample, "signal", "--reason", "done", "--json")
    assert (ran.code, ran.document["reason"]) == (0, "both gates are open: WORK has exited, the cycle is done")
    metrics = ran.document["metrics"]
    assert (metrics["indicators"], metrics["confidence"], metrics["claimed_done"]) == (2, 80, True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("workflow", ["exit-gate", "confidence"])
def test_a_claim_speaks_of_one_iteration(sample: Sample, workflow: str) -> None:
    begin(sample, workflow)
    assert claim(sample).code == 0
    sample.pytest("--phase=work", "-v")
    assert command(sample, "signal", "--reason", "done", "-v").has("signal came too early: not measured: cl")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("workflow", "text", "reason"),
    [
        ("exit-gate", "EXIT_STATUS: COMPLETE\n", "1 indicator in the last claim, 2 needed"),
        ("exit-gate", "All tasks are completed. Ready for review.", "the last claim does not say done"),
        ("exit-gate", "All tasks are completed.\n\nEXIT_STATUS: CONTINUE\n", "the last claim does not say done"),
        ("confidence", "It is done. All tasks are completed.", "the last claim does not say done"),
        ("confidence", "EXIT_STATUS: COMPLETE\n", "1 indicator in the last claim, 2 needed"),
    ],
)
def test_a_claim_that_is_not_enough(sample: Sample, workflow: str, text: str, reason: str) -> None:
    begin(sample, workflow)
    assert claim(sample, text).code == 10
    ran = command(sample, "signal", "--reason", "done", "--json")
    assert ran.code == 10
    assert reason in ran.document["reason"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("workflow", ["exit-gate", "confidence"])
def test_failing_tests_are_not_talked_away(sample: Sample, workflow: str) -> None:
    begin(sample, workflow).write(work=WORK.replace("42", "41"))
    sample.pytest("--phase=work")
    assert claim(sample).document["reason"] == "1 test failed in the last complete run (iteration 3)"
    assert command(sample, "signal", "--reason", "done").code == 10
