"""`phase-gate explain`: the last verdict, or one name of ours."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

import phase_gate
from phase_gate.cli.explain import WORDS
from phase_gate.config.workflow_files import load_shipped_guards
from phase_gate.errors import MESSAGES
from phase_gate.gate import breaker, criteria, outcomes, verdict
from phase_gate.proof import verdicts
from phase_gate.tasks import work
from tests.cli.conftest import Begin

SOURCE = Path(phase_gate.__file__).parent
ROOT = Path(__file__).parents[2]


def test_the_last_verdict_in_full(begin: Begin) -> None:
    gated = begin("green-once")
    assert gated.gate("explain").has(
        "phase gate: GREEN · iteration 1",
        "  + tests_failing == 0",
        "  - consecutive_green_runs >= required_green_runs      1 >= 2",
        "  + guards  complete-run",
        "Gate 2  Explicit exit signal",
        "next    pytest --phase=green",
    )
    document = gated.json("explain")
    assert (document["open"], document["evaluation"]["iteration"]) == (False, 1)


def test_what_came_after_the_verdict_is_said(begin: Begin) -> None:
    gated = begin("green-exited")
    assert "\nnow " not in gated.gate("explain").out
    gated.project.write({"calc.py": "MORE = 1\n"})
    ran = gated.gate("explain")
    assert ran.has("\nnow     files have changed since", "\nnext    pytest --phase=auto\n")
    assert ran.out.count("\nnext ") == 1


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        pytest.param("tests_failing", "metric", ("tests_failing (int): ", "last verdict: 0"), id="a-metric"),
        pytest.param("has_adr", "metric", ("has_adr (bool): ", "not measured in the last verdict"), id="not-measured"),
        pytest.param(
            "complete-run",
            "guard",
            (
                "complete-run: Every known test ran",
                "requires: run_complete == true",
                "if it is unmet: ",
                "last verdict: met",
            ),
            id="a-guard",
        ),
        pytest.param("green", "phase", ("GREEN: ", "Gate 1: tests_total > 0", "next:   REFACTOR"), id="a-phase"),
        pytest.param("refactoring_complete", "fact", ("a fact; REFACTOR asks for it", "not known"), id="a-fact"),
        pytest.param("state-tampered", "message", ("state-tampered: The ledger's chain is broken",), id="a-message"),
        pytest.param("flaky", "finding", ("flaky: The test passed only after a rerun.",), id="a-finding"),
    ],
)
def test_one_name_of_ours(begin: Begin, name: str, kind: str, said: tuple[str, ...]) -> None:
    gated = begin("green")
    assert gated.json("explain", name)["kind"] == kind
    ran = gated.gate("explain", name)
    assert (ran.code, ran.has(*said)) == (0, True), "a word that was found is no closed gate"


def test_a_guard_names_what_it_found(begin: Begin) -> None:
    gated = begin("green")
    gated.project.write(test_calc="def test_add():\n    from calc import add\n\n    assert add(1, 2) == 3\n")
    gated.project.run("--phase=green")
    ran = gated.gate("explain", "tests-kept")
    assert ran.has("last verdict: tests missing from the sources: 1", "test_calc.py::test_sub: ")
    assert [finding["id"] for finding in gated.json("explain", "tests-kept")["findings"]] == ["test_calc.py::test_sub"]


def slugs_in_code() -> set[object]:
    """Return every word that a finding or an opinion is made with, as the code spells it."""
    found: set[object] = set()
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "slug" and isinstance(node.value, ast.Constant):
                found.add(node.value.value)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "name_tests":
                found |= {each.value for each in node.args[:1] if isinstance(each, ast.Constant)}
    flags = (SOURCE / "tasks" / "task_files.py").read_text(encoding="utf-8")
    return found | set(re.findall(r"\(([a-z]+-[a-z-]+)\)", flags))


def slugs_on_the_page() -> set[str]:
    page = (ROOT / "docs" / "reference" / "messages.md").read_text(encoding="utf-8")
    return set(re.findall(r"(?m)^\| `([a-z-]+)` \|", page))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("--merge result.json", "--merge goes with --gate-result"),
        ("--gate-result --merge result.json", "result.json can't be read: No such file or directory"),
    ],
)
def test_a_gate_result_that_can_not_be_merged_is_named(begin: Begin, line: str, problem: str) -> None:
    assert begin("green").error("explain", *line.split()) == (2, "bad-usage", problem)


def test_every_word_in_brackets_is_known(begin: Begin) -> None:
    gated = begin("")
    named = slugs_in_code()
    assert {"flaky", "tests-kept", "could-improve", "vague-done"} <= named
    known = {*MESSAGES, *load_shipped_guards(), *(word for words in WORDS.values() for word in words)}
    assert (named | slugs_on_the_page()) - known == set()
    for slug in sorted({*MESSAGES, *WORDS["finding"]}):
        assert gated.json("explain", slug)["text"].startswith(f"{slug}: "), slug


#: Every word that is shown as a status.
STATUSES: tuple[str, ...] = (
    *(*get_args(verdict.Status), *get_args(verdict.Answer), *get_args(breaker.Status)),
    *(*get_args(outcomes.Kind), *get_args(outcomes.Green)[1:], *get_args(outcomes.Bucket)),
    *(*get_args(outcomes.Reason), *get_args(criteria.CriterionStatus), *get_args(verdicts.Verdict)),
    *(*map(str, work.Status), *map(str, work.FailureType), "waived", "forced", "unverified"),
)


def test_every_guard_and_every_status_has_a_sentence_of_its_own(begin: Begin) -> None:
    gated = begin("")
    assert WORDS["guard"].keys() == load_shipped_guards().keys()
    for name, meaning in WORDS["guard"].items():
        assert gated.json("explain", name)["text"].startswith(f"{name}: {meaning}")
    assert [word for word in STATUSES if not gated.gate("explain", word).has(f"{word}: ")] == []


def test_a_word_with_several_meanings_has_them_all(begin: Begin) -> None:
    ran = begin("").gate("explain", "open")
    assert [row.partition(":")[0] for row in ran.out.splitlines()] == ["open", "  of a circuit", "  of a criterion"]


@pytest.mark.parametrize("name", ["nonsense", "", "../x", "ü" * 300], ids=["unknown", "empty", "a-path", "long"])
def test_what_nothing_is_called(begin: Begin, name: str) -> None:
    code, slug, problem = begin("green").error("explain", name)
    assert (code, slug) == (2, "bad-usage")
    assert problem.startswith("nothing is called '")
    assert len(problem) < 90
    assert begin("green").gate("explain", name).has("use a phase (RED, GREEN, REFACTOR, DOCUMENT)")
