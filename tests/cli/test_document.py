"""The phase DOCUMENT, from what is missing to DONE: by the command, by pytest, and by both in turn."""

from __future__ import annotations

import sys

import pytest

from tests.cli.conftest import Begin
from tests.scenarios import load_projects

GOOD: dict[str, str] = load_projects()["documents"]["good"]
USAGE, CONTEXT, DECISION = GOOD.values()
WAITS = "Gate 1 is open; Gate 2 waits for the exit signal"


def test_it_says_what_is_missing_one_by_one(begin: Begin) -> None:
    gated = begin("document")
    first = gated.gate("advance", "-v")
    assert first.code == 10
    assert first.has("0 of 3 documents written or changed in this cycle", "then run: phase-gate advance")
    gated.project.write(
        {"docs/usage.md": USAGE, "docs/more.md": f"{USAGE}\nMore.\n", "docs/todo.md": "# To do\n\nTBD\n"}
    )
    assert gated.gate("advance", "-v").has(
        "2 of 3 documents written or changed in this cycle; not", "counted: docs/todo.md"
    )
    gated.project.write({"docs/todo.md": f"{USAGE}\nAll is done.\n"})
    assert gated.json("advance")["reason"] == "there is no diagram in the documents"
    gated.project.write({"docs/architecture.md": CONTEXT.replace("Person(", "Human(")})
    broken = gated.gate("advance", "-v")
    assert broken.has("0 of 1 diagrams can be read: docs/architecture.md:7", "macro: Human [diagram-broken]")
    gated.project.write({"docs/architecture.md": CONTEXT.replace("C4Context", "flowchart TD\n A-->B\n```\n\n```text")})
    no_record = "there is no architecture decision record, like docs/adr/0001-title.md"
    assert gated.json("advance")["reason"] == f"{no_record}"
    gated.project.write({"docs/adr/0001-cents.md": DECISION.replace("Accepted", "TBD")})
    assert gated.json("advance")["reason"] == f"{no_record}; incomplete: docs/adr/0001-cents.md"
    gated.project.write({"docs/adr/0001-cents.md": DECISION})
    assert gated.json("advance")["reason"] == "there is no C4 diagram, like one that begins with C4Context"
    gated.project.write({"docs/architecture.md": CONTEXT})
    held = gated.gate("advance", "-v")
    assert (held.code, held.has(WAITS, "note    documents that count: docs/adr/0001-cents.md,")) == (10, True)
    done = gated.gate("signal", "--reason", "written and read", "-v")
    assert done.code == 0
    assert done.has("both gates are open: DOCUMENT has exited, the cycle is done")
    assert gated.json("status")["phase"] == "DONE"


def test_after_a_run_a_signal_looks_at_the_documents_again(begin: Begin) -> None:
    gated = begin("document")
    gated.project.write(GOOD)
    assert gated.project.run("--phase=document", "-v").code == 0
    gated.project.remove("docs/usage.md")
    early = gated.gate("signal", "--reason", "it was there a minute ago", "-v")
    assert early.code == 10
    assert early.has("2 of 3 documents")
    gated.project.write({"docs/usage.md": USAGE})
    done = gated.gate("signal", "--reason", "and now it is again", "-v")
    assert (done.code, done.out.count("documents that count")) == (0, 1)


def test_a_run_that_was_closed_does_not_keep_a_signal_from_what_was_written_since(begin: Begin) -> None:
    gated = begin("document")
    gated.project.write({**GOOD, "docs/architecture.md": CONTEXT.replace("Person(", "Human(")})
    assert gated.project.run("--phase=document", "-v").has("[diagram-broken]")
    gated.project.write(GOOD)
    done = gated.gate("signal", "--reason", "mended", "-v")
    assert done.code == 0
    assert "[diagram-broken]" not in done.out


def test_code_that_nobody_has_tested_keeps_it_closed(begin: Begin) -> None:
    gated = begin("document")
    gated.project.write(GOOD)
    gated.edit_source()
    ran = gated.gate("advance", "-v")
    assert (ran.code, ran.has("- guard   code-as-tested")) == (10, True)


def test_a_missing_extra_is_named_when_the_phase_begins(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    ran = begin("refactor-exited").gate("advance")
    assert ran.has("  next: run: pip install 'pytest-phase-gate[documents]', then do what Gate 1 asks for")


def test_what_can_not_be_measured_is_said_with_what_to_install(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = begin("document")
    gated.project.write(GOOD)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "markdown_it", None)
        ran = gated.gate("advance", "-v")
    assert ran.code == 10
    assert ran.has("? has_adr == true", "not measured", "pytest-phase-gate[documents]")
    assert ran.has("next    pip install 'pytest-phase-gate[documents]', then run: phase-gate advance")
    assert "declare has_adr" not in ran.out
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "merman", None)
        ran = gated.gate("advance", "-v")
    assert ran.code == 10
    assert ran.has("? diagrams_valid == diagrams_total", "pytest-phase-gate[mermaid]")
