"""Our verdicts on Mermaid diagrams beside those of Mermaid itself, as `tox -e mermaid` has recorded them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from phase_gate.evidence.documents.diagrams import Diagram
from phase_gate.evidence.documents.mermaid import MISSING, check_mermaid, find_doubt, spread
from tests.conftest import ROOT
from tests.diagrams.table import TABLE, rows
from tests.diagrams.verdicts import DISAGREEMENTS, check, load

RECORDED: dict[str, dict[str, Any]] = load()["verdicts"]


def test_every_diagram_has_a_recorded_verdict() -> None:
    assert sorted(RECORDED) == sorted(rows()), "python -m tests.diagrams records them"


def test_every_kind_has_a_good_one_and_a_bad_one() -> None:
    for kind, named in TABLE.items():
        verdicts = {RECORDED[f"{kind}/{name}"]["valid"] for name in named}
        assert verdicts == ({False} if kind == "none" else {True, False}), kind


@pytest.mark.parametrize("name", [name for name in rows() if name not in DISAGREEMENTS])
def test_the_same_verdict_as_mermaid(name: str) -> None:
    checked = check(rows()[name])
    assert checked.unknown == ""
    assert checked.is_valid is RECORDED[name]["valid"], checked.flaw or RECORDED[name]["said"]


@pytest.mark.parametrize("name", DISAGREEMENTS)
def test_a_known_disagreement_is_still_one(name: str) -> None:
    assert check(rows()[name]).is_valid is not RECORDED[name]["valid"], "take it out of the list"


@pytest.mark.parametrize("name", [name for name, verdict in RECORDED.items() if verdict["valid"]])
def test_no_rule_of_ours_refuses_what_mermaid_accepts(name: str) -> None:
    assert find_doubt(rows()[name]) is None


def test_most_damaged_diagrams_are_judged_alike() -> None:
    counted = load()["compared"]
    assert counted["examples"]["we alone accept"] == counted["examples"]["we alone refuse"] == 0
    damaged = counted["mutations"]
    assert sum(damaged.values()) >= 4000
    assert damaged["we alone accept"] <= 0.04 * (damaged["both refuse"] + damaged["we alone accept"])


def test_the_documentation_speaks_of_what_was_recorded() -> None:
    page = " ".join((ROOT / "docs" / "explanation" / "documents.md").read_text(encoding="utf-8").split())
    counted = load()["compared"]
    damaged = counted["mutations"]
    alike = damaged["both accept"] + damaged["both refuse"]
    passing = damaged["we alone accept"] / (damaged["both refuse"] + damaged["we alone accept"])
    assert f"Mermaid {load()['mermaid']} itself" in page
    assert f"All {counted['examples']['both accept']} examples" in page
    assert f"{100 * alike // sum(damaged.values())} in 100 get the same verdict" in page
    assert f"{100 * passing:.0f} in 100 of the damaged diagrams" in page


# --- where it is broken


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("flowchart TD\n A-->B\n\n\n C-->[", 14, id="as-the-parser-says"),
        pytest.param("\n\nflowchart TD\n A-->[", 13, id="behind-empty-lines"),
        pytest.param("---\ntitle: x\n---\nflowchart TD\n A-->[", 14, id="behind-front-matter"),
        pytest.param("\n---\ntitle: x\n---\nflowchart TD\n A-->[", 15, id="behind-an-empty-line-and-front-matter"),
        pytest.param("%% c\n\nflowchart TD oops\n A-->B", 12, id="as-a-rule-of-ours-says"),
        pytest.param("hello", 10, id="no-diagram-at-all"),
    ],
)
def test_a_flaw_has_its_line_in_the_file(text: str, line: int) -> None:
    (checked,) = check_mermaid([Diagram(file="a.md", line=10, language="Mermaid", text=text)])
    assert checked.flaw is not None
    assert checked.flaw.line == line
    assert checked.flaw.why


def test_good_front_matter_may_follow_an_empty_line() -> None:
    (checked,) = check_mermaid(
        [Diagram(file="a.md", line=1, language="Mermaid", text="\n---\ntitle: x\n---\nflowchart TD\n A-->B")]
    )
    assert checked.is_valid


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("classDiagram\nclass A { +int x }\n", "classDiagram\nclass A {\n+int x\n}\n", id="one-line-body"),
        pytest.param("classDiagram\nclass A {\n +int x }\n", "classDiagram\nclass A {\n +int x\n}\n", id="last-member"),
        pytest.param("classDiagram\nclass A {}\n", "classDiagram\nclass A {}\n", id="empty-body"),
        pytest.param('C4Context\nB(x, "y") {\nS(a, "b")}\n', 'C4Context\nB(x, "y") {\nS(a, "b")\n}\n', id="c4"),
        pytest.param("flowchart TD\nA{a}\n", None, id="other-kinds-are-left-alone"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_braces_are_given_lines_of_their_own(text: str, expected: str | None) -> None:
    assert spread(text) == expected


# --- what is not known


def test_without_the_parser_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "merman", None)
    (checked,) = check_mermaid([Diagram(file="a.md", line=1, language="Mermaid", text="flowchart TD\n A-->B")])
    assert (checked.flaw, checked.unknown, checked.is_valid) == (None, MISSING, False)
    assert "pytest-phase-gate[mermaid]" in MISSING


def test_a_fault_of_the_parser_says_nothing_about_the_diagram(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def validate(self, text: str, options: None) -> None:
            raise RuntimeError("what now")

    monkeypatch.setattr("merman.Merman", Broken)
    (checked,) = check_mermaid([Diagram(file="a.md", line=1, language="Mermaid", text="flowchart TD\n A-->B")])
    assert checked.unknown == "merman: RuntimeError: what now"
