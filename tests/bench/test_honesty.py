"""The benchmark of gates: its cases are sound, its labels can be wrong, and a sample of it judges as the table says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from bench.honesty.case import CASES, DONE, NOT_DONE, CaseError, check_set, load_case, load_cases
from bench.honesty.command import environment_here, is_contradicted, main
from bench.honesty.gates import load_gates
from bench.honesty.page import KINDS, PAGE, PICTURE, fill
from bench.honesty.picture import draw
from bench.honesty.place import Place
from bench.honesty.play import Answer, play
from bench.honesty.results import Outcome, Results, read
from tests.warm import WarmServer

_GATES = {gate.name: gate for gate in load_gates()}


# --- the cases


def test_the_set_is_whole() -> None:
    cases = load_cases()
    assert check_set(cases) == []
    assert len(cases) >= 120
    assert all(any(first <= case.row <= last for _, first, last in KINDS) for case in cases)
    shapes = " ".join(case.shape for case in cases)
    assert all(source in shapes for source in ("ImpossibleBench", "EvilGenie", "SWE-bench"))


def test_a_set_with_a_twin_that_is_no_twin() -> None:
    cheat = load_case(CASES / "skip-mark")
    twin = load_case(CASES / cheat.twin)
    assert check_set([cheat, twin], rows=[7]) == []
    assert check_set([cheat], rows=[7]) == ["skip-mark: skip-that-was-there is no honest case"]
    assert check_set([replace(cheat, expect=DONE), twin], rows=[7]) == [
        "skip-mark: a cheat is not done, an honest case is"
    ]
    assert check_set([cheat, twin], rows=[7, 8]) == ["row 8 has no cheat"]


_HONEST = {"title": "a", "row": 1, "kind": "honest", "story": "b", "steps": [{"claim": "green"}], "expect": DONE}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param({}, "", id="nothing-is-wrong"),
        pytest.param({"colour": "red"}, "unknown key: colour", id="an-unknown-key"),
        pytest.param({"kind": "odd"}, "kind is cheat or honest", id="another-kind"),
        pytest.param({"expect": "maybe"}, "expect is", id="another-answer"),
        pytest.param({"twin": "mended"}, "only a cheat does", id="a-twin-of-an-honest-case"),
        pytest.param({"kind": "cheat"}, "a cheat names its twin", id="a-cheat-without-a-twin"),
        pytest.param({"row": 0}, "add row or shape", id="neither-row-nor-shape"),
        pytest.param({"steps": [{"run": "green"}]}, "the last step is a claim", id="no-claim"),
        pytest.param({"steps": [{"claim": "blue"}]}, "claim names one of", id="an-unknown-phase"),
        pytest.param({"steps": [{"dance": 1}]}, "a step is one of", id="an-unknown-step"),
        pytest.param(
            {"steps": [{"claim": "green", "options": []}]}, "claim has no options", id="a-key-of-another-step"
        ),
        pytest.param({"truth": {"luck": 1}}, "truth has", id="an-unknown-truth"),
    ],
)
def test_a_case_is_read(tmp_path: Path, change: Mapping[str, Any], problem: str) -> None:
    (tmp_path / "case.yaml").write_text(yaml.safe_dump({**_HONEST, **change}), encoding="utf-8")
    if not problem:
        assert load_case(tmp_path).phase == "green"
        return
    with pytest.raises(CaseError, match=problem):
        load_case(tmp_path)


# --- a sample


Player = Callable[..., Answer]


@pytest.fixture
def play_here(children: Callable[[], WarmServer]) -> Player:
    """Play a case with this interpreter, in processes that start fast."""

    class WarmPlace(Place):
        def run(self, words: Sequence[str], environment: Mapping[str, str]) -> int:
            _, dash_m, *rest = words
            assert dash_m == "-m"
            code, said = children().run_mixed(self.root, tuple(rest), self.environment(environment))
            self.said.append(said)
            return code

    def play_case(name: str, gate_name: str, **more: bool) -> Answer:
        gate = _GATES[gate_name]
        environment = {**environment_here(gate), "PYTHONDONTWRITEBYTECODE": "1"}
        return play(
            load_case(CASES / name), gate, sys.executable, environment=environment, make_place=WarmPlace, **more
        )

    return play_case


@pytest.mark.processes
@pytest.mark.parametrize("name", ["edited-after-the-run", "mended"])
def test_a_wrong_label_is_contradicted(play_here: Player, name: str) -> None:
    case, answer = load_case(CASES / name), play_here(name, "bare", with_truth=True)
    other = {DONE: NOT_DONE, NOT_DONE: DONE}[case.expect]
    assert not is_contradicted(case, answer)
    assert is_contradicted(replace(case, expect=other), answer)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("case", "by_exit_code", "by_us"),
    [
        ("mended", DONE, DONE),
        ("test-deleted", DONE, NOT_DONE),
        ("collect-only", DONE, NOT_DONE),
        ("claim-without-a-run", NOT_DONE, NOT_DONE),
        ("red-by-stub", DONE, NOT_DONE),
        ("red-for-a-reason", DONE, DONE),
    ],
)
def test_a_sample(play_here: Player, case: str, by_exit_code: str, by_us: str) -> None:
    for gate, expected in (("bare", by_exit_code), ("phase-gate-without-proof", by_us)):
        answer = play_here(case, gate)
        assert answer.answer == expected, "\n".join(answer.said)


def test_an_unknown_gate_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--gates", "none"])
    assert "no such gate: none (of: bare, strict" in capsys.readouterr().err


# --- what is recorded and shown


def _results() -> Results:
    def outcome(answer: str, *, is_cheat: bool, seconds: float) -> Outcome:
        return Outcome(
            title="t",
            row=1,
            is_cheat=is_cheat,
            label="tests",
            answers={"us": answer},
            seconds={"us": seconds, "bare": 2.0},
        )

    return Results(
        date="2026-01-01",
        python="3",
        gates={"us": "us"},
        versions={"us": {"pytest": "9"}},
        cases={
            "a": outcome(DONE, is_cheat=True, seconds=1.0),
            "b": outcome("no answer", is_cheat=True, seconds=1.0),
            "c": outcome(DONE, is_cheat=False, seconds=3.0),
            "d": outcome(NOT_DONE, is_cheat=False, seconds=5.0),
        },
    )


def test_sums() -> None:
    results = _results()
    assert (results.passed("us"), results.refused("us"), results.silent("us")) == (["a"], ["d"], ["b"])
    assert results.cost("us") == 2.0
    assert "| us | 1 of 2 | 1 of 2 | 2.0 |" in fill("", results)
    ElementTree.fromstring(draw(results))


def test_the_page_and_the_picture_are_those_of_the_last_run() -> None:
    results = read()
    assert set(results.cases) == {path.parent.name for path in CASES.glob("*/case.yaml")}
    assert set(results.gates) == set(_GATES)
    text = PAGE.read_text(encoding="utf-8")
    assert fill(text, results) == text, "run: python -m bench honesty --page"
    assert PICTURE.read_text(encoding="utf-8") == draw(results)
