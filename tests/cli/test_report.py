"""`phase-gate report`, and `--phase-report=FILE.html`: the whole story, from real runs."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.conftest import Begin


def test_a_page(begin: Begin) -> None:
    gated = begin("refactor")
    before = gated.files()
    ran = gated.gate("report", "-o", "out/report.html")
    assert ran.code == 0
    assert ran.out == "out/report.html: 4 runs, 23 events\n"
    text = (gated.root / "out" / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "REFACTOR is in progress" in text
    assert "both pass, twice" in text
    assert "test_add" in text.replace("<wbr/>", "")
    # It only looks: but for the file, and the cache of the tree, nothing is written.
    changed = {name for name, data in gated.files().items() if before.get(name) != data}
    assert {name for name in changed if "cache" not in name} == {"out/report.html"}


def test_markdown_to_the_terminal_and_to_a_file(begin: Begin) -> None:
    gated = begin("green")
    printed = gated.gate("report")
    assert printed.code == 0
    assert printed.out.startswith("## Phase gate: GREEN waits for the signal\n")
    assert gated.gate("report", "--output", "report.md").code == 0
    assert (gated.root / "report.md").read_text(encoding="utf-8") == printed.out


def test_another_suffix_is_refused(begin: Begin) -> None:
    gated = begin("green")
    code, slug, problem = gated.error("report", "-o", "report.pdf")
    assert (code, slug) == (2, "bad-usage")
    assert problem == "--output=report.pdf: the suffix selects the format, and .pdf is unknown"


def test_a_place_that_can_not_be_written(begin: Begin) -> None:
    gated = begin("green")
    (gated.root / "taken").write_text("", encoding="utf-8")
    code, slug, _ = gated.error("report", "-o", "taken/report.html")
    assert (code, slug) == (11, "state-storage")


def test_a_record_that_can_not_be_trusted_is_told_as_far_as_it_goes(begin: Begin) -> None:
    gated = begin("green")
    path = gated.folder / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[12] = lines[12].replace(b'"at":"2', b'"at":"3')
    path.write_bytes(b"".join(lines))
    ran = gated.gate("report", "-o", "report.html")
    assert ran.code == 11
    assert ran.has("not trusted: ledger.jsonl:13: its hash is wrong", "audit --repair")
    text = (gated.root / "report.html").read_text(encoding="utf-8")
    assert "This record can&#39;t be trusted" in text
    assert "12 events are good" in text


def test_a_lost_object_is_damage(begin: Begin) -> None:
    gated = begin("green")
    for path in (gated.folder / "objects").glob("*.z"):
        path.unlink()
    ran = gated.gate("report")
    assert ran.code == 11
    assert ran.has("is gone", "can't be trusted")


def test_a_run_writes_the_page(begin: Begin) -> None:
    gated = begin("green-once")
    ran = gated.project.run("--phase=green", "--phase-report=now.html", "--phase-report=now.json")
    assert ran.code == 0
    text = (gated.root / "now.html").read_text(encoding="utf-8")
    assert "GREEN waits for the signal" in text
    assert json.loads((gated.root / "now.json").read_text(encoding="utf-8"))["iteration"] == 2
    # The page of that very moment: with this run, and nobody else in the way.
    assert "a run is in progress" not in text


def test_a_page_needs_its_extra(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = begin("green-once")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, slug, problem = gated.error("report", "-o", "report.html")
    assert (code, slug) == (2, "bad-usage")
    assert problem == "--output=report.html: an HTML report needs Jinja2, which is not installed"
    assert gated.gate("report", "-o", "report.md").code == 0
    (gated.root / "conftest.py").write_text("import sys\nsys.modules['jinja2'] = None\n", encoding="utf-8")
    ran = gated.project.run("--phase=green", "--phase-report=now.html")
    assert ran.code == 4
    assert ran.has("pip install 'pytest-phase-gate[report]'")
    assert "passed" not in ran.out
