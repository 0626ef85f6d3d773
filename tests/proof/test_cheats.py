"""Rows 41 to 52 with proofs and without: which are refused by recognition, and which only by experiment."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.conftest import ROOT
from tests.proof.cheats import CHEATS, ESSENTIAL, Cheat, table
from tests.support import Ran, Sample
from tests.sweeps import IS_WHOLE, every

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("with_proof")]


def lay(sample: Sample, files: Mapping[str, str | None], *, outside: bool = False) -> None:
    beside = sample.root.parent / f"{sample.root.name}-outside"
    for name, text in files.items():
        path = (beside if outside else sample.root) / name
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{outside}", str(beside)), encoding="utf-8")


def variables(sample: Sample, given: Mapping[str, str]) -> dict[str, str]:
    beside = sample.root.parent / f"{sample.root.name}-outside"
    return {name: text.replace("{outside}", str(beside)) for name, text in given.items()}


def tell(sample: Sample, cheat: Cheat) -> tuple[Ran, dict[str, str]]:
    """Have RED exit, do what came then, and return the last of two runs of GREEN with the environment it had."""
    lay(sample, cheat.red)
    lay(sample, cheat.outside_red, outside=True)
    if cheat.is_in_git:
        sample.commit_all()
    then = variables(sample, cheat.red_environment)
    red = sample.pytest_process("--phase=red", "--exit-signal=red", *cheat.red_words, plugins=(), **then)
    assert red.code == 0, red.out
    lay(sample, cheat.green)
    lay(sample, cheat.outside_green, outside=True)
    now = variables(sample, cheat.green_environment)
    sample.pytest_process("--phase=green", *cheat.green_words, plugins=(), **now)
    return sample.pytest_process("--phase=green", *cheat.green_words, plugins=(), **now), now


@pytest.mark.parametrize("cheat", CHEATS if IS_WHOLE else ESSENTIAL, ids=lambda cheat: f"{cheat.row}: {cheat.name}")
def test_refuses(sample: Sample, cheat: Cheat) -> None:
    ran, now = tell(sample, cheat)
    if cheat.by == "recognition":
        assert ran.code != 0, ran.out
        ran.has(cheat.told_by)
        return
    assert ran.code == 0, f"a guard knows it by now:\n{ran.out}"
    signal = sample.gate("signal", "--reason", "done", "--json", **now)
    verdict = signal.document
    assert (signal.code, verdict["can_exit"]) == (10, False), signal.out
    assert cheat.told_by in signal.out
    assert "targets-proven" in verdict["reason"]


BY_EXPERIMENT = [cheat for cheat in CHEATS if cheat.by == "experiment"]


@pytest.mark.parametrize("cheat", every(len(BY_EXPERIMENT), BY_EXPERIMENT), ids=lambda cheat: cheat.name)
def test_without_a_proof_it_opens(sample: Sample, cheat: Cheat) -> None:
    sample.write({"phase-gate.yaml": "proof: off\n"})
    ran, now = tell(sample, cheat)
    assert ran.code == 0, ran.out
    assert sample.gate("signal", "--reason", "done", **now).code == 0


def test_the_table_in_the_documentation_is_this_one() -> None:
    text = (ROOT / "docs" / "explanation" / "proof.md").read_text(encoding="utf-8")
    rows = "\n".join(table())
    assert rows in text, f"put this table there:\n{rows}"
