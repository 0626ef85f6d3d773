"""`phase-gate report`, and `--phase-report=FILE.html`: the whole story, from real runs."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.conftest import Begin


def test_a_page(begin: Begin) -> None:
    desk = begin("refactor")
    before = desk.files()
    ran = desk.gate("report", "-o", "out/report.html")
    assert ran.code == 0
    assert ran.out == "out/report.html: 4 runs, 23 events\n"
    text = (desk.root / "out" / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "REFACTOR is in progress" in text
    assert "both pass, twice" in text
    assert "test_add" in text
    # It only looks: but for the file, and the cache of the tree, nothing is written.
    changed = {name for name, data in desk.files().items() if before.get(name) != data}
    assert {name for name in changed if "cache" not in name} == {"out/report.html"}


def test_markdown_to_the_terminal_and_to_a_file(begin: Begin) -> None:
    desk = begin("green")
    printed = desk.gate("report")
    assert printed.code == 0
    assert printed.out.startswith("## Phase gate: GREEN waits for the signal\n")
    assert desk.gate("report", "--output", "report.md").code == 0
    assert (desk.root / "report.md").read_text(encoding="utf-8") == printed.out


def test_another_suffix_is_refused(begin: Begin) -> None:
    desk = begin("green")
    code, slug, problem = desk.error("report", "-o", "report.pdf")
    assert (code, slug) == (2, "bad-usage")
    assert problem == "--output=report.pdf: the suffix selects the format, and .pdf is unknown"


def test_a_place_that_can_not_be_written(begin: Begin) -> None:
    desk = begin("green")
    (desk.root / "taken").write_text("", encoding="utf-8")
    code, slug, _ = desk.error("report", "-o", "taken/report.html")
    assert (code, slug) == (11, "state-storage")


def test_a_record_that_can_not_be_trusted_is_told_as_far_as_it_goes(begin: Begin) -> None:
    desk = begin("green")
    path = desk.folder / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[12] = lines[12].replace(b'"at":"2', b'"at":"3')
    path.write_bytes(b"".join(lines))
    ran = desk.gate("report", "-o", "report.html")
    assert ran.code == 11
    assert ran.has("not trusted: ledger.jsonl:13: its hash is wrong", "audit --repair")
    text = (desk.root / "report.html").read_text(encoding="utf-8")
    assert "This record can&#39;t be trusted" in text
    assert "12 events are good" in text


def test_a_lost_object_is_damage(begin: Begin) -> None:
    desk = begin("green")
    for path in (desk.folder / "objects").glob("*.z"):
        path.unlink()
    ran = desk.gate("report")
    assert ran.code == 11
    assert ran.has("is gone", "can't be trusted")


def test_a_run_writes_the_page(begin: Begin) -> None:
    desk = begin("green-once")
    ran = desk.project.run("--phase=green", "--phase-report=now.html", "--phase-report=now.json")
    assert ran.code == 0
    text = (desk.root / "now.html").read_text(encoding="utf-8")
    assert "GREEN waits for the signal" in text
    assert json.loads((desk.root / "now.json").read_text(encoding="utf-8"))["iteration"] == 2
    # The page of that very moment: with this run, and nobody else in the way.
    assert "a run is in progress" not in text


def test_a_page_needs_its_extra(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = begin("green-once")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, slug, problem = desk.error("report", "-o", "report.html")
    assert (code, slug) == (2, "bad-usage")
    assert problem == "--output=report.html: an HTML report needs Jinja2, which is not installed"
    assert desk.gate("report", "-o", "report.md").code == 0
    (desk.root / "conftest.py").write_text("import sys\nsys.modules['jinja2'] = None\n", encoding="utf-8")
    ran = desk.project.run("--phase=green", "--phase-report=now.html")
    assert ran.code == 4
    assert ran.has("pip install 'pytest-phase-gate[report]'")
    assert "passed" not in ran.out
