"""`phase-gate init`: a commented phase-gate.yaml, never over one that is there."""

from __future__ import annotations

import jsonschema
import pytest
import yaml

from tests.cli.conftest import Begin


def test_it_writes_a_file_that_changes_nothing(begin: Begin) -> None:
    gated = begin("")
    ran = gated.gate("init")
    path = gated.root / "phase-gate.yaml"
    assert (ran.code, ran.out) == (0, f"wrote {path}\n  next: pytest --phase=red\n")
    before = gated.json("explain", "green")
    path.unlink()
    assert gated.json("explain", "green") == before


def test_what_it_shows_in_comments_can_be_switched_on(begin: Begin) -> None:
    gated = begin("")
    content = gated.json("init", "--dry-run")["content"]
    rows = [row.removeprefix("# ") if row.startswith(("# ", "#   ")) else row for row in content.splitlines()[1:]]
    gated.project.write({"phase-gate.yaml": "\n".join(rows) + "\n"})
    document = yaml.safe_load((gated.root / "phase-gate.yaml").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(gated.json("workflow", "schema", "configuration")).validate(document)
    assert gated.gate("status").code == 0
    assert "tests_skipped == 0" in gated.json("explain", "green")["text"]


def test_a_dry_run_writes_nothing(begin: Begin) -> None:
    gated = begin("")
    ran = gated.gate("init", "--dry-run")
    assert ran.code == 0
    assert ran.out.startswith("# Rules of pytest-phase-gate")
    document = gated.json("init", "--dry-run")
    assert (document["path"], document["written"]) == (str(gated.root / "phase-gate.yaml"), False)
    assert gated.files() == {}


def test_settings_in_pyproject_get_no_second_file(begin: Begin) -> None:
    gated = begin("")
    (gated.root / "pyproject.toml").write_text("[tool.phase-gate]\nlock_timeout = 3\n", encoding="utf-8")
    assert gated.error("init") == (13, "not-allowed", "the settings are in [tool.phase-gate] of pyproject.toml")
    assert not (gated.root / "phase-gate.yaml").exists()


@pytest.mark.parametrize("content", ["workflow: tdd\n", ""], ids=["a-file", "an-empty-file"])
def test_what_is_there_is_never_written_over(begin: Begin, content: str) -> None:
    gated = begin("")
    gated.gate("init")
    (gated.root / "phase-gate.yaml").write_text(content or "# mine\nlock_timeout: 3\n", encoding="utf-8")
    assert gated.error("init") == (13, "not-allowed", "phase-gate.yaml is there already")
