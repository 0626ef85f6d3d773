"""`phase-gate init`, `agent prompt`, `agent uninstall`: the settings they write, and the rules that they print."""

from __future__ import annotations

import errno
import os
import sys
from typing import get_args

import jsonschema
import pytest
import yaml

from phase_gate.agents.agent_table import AGENT_NAMES, load_agent
from phase_gate.claims.agent_output import read_claim_text, sentences
from phase_gate.claims.blocks import read_blocks
from phase_gate.claims.confidence import DEFAULT_PATTERNS, find_patterns
from phase_gate.config.workflow_files import load_shipped_workflow, shipped_workflow_names
from phase_gate.report.prompt import Style
from tests.cli.conftest import Begin, CommandProject
from tests.storage.test_files import FailsAt

# --- init


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


def test_a_project_that_may_not_be_written(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    # Another state folder would not help.
    gated = begin("")
    monkeypatch.setattr("phase_gate.agents.install.REAL", FailsAt("open", errno.EACCES))
    error = gated.gate("init", "--json").document["error"]
    assert error["problem"] == "phase-gate.yaml can't be written: Permission denied"
    assert error["remedy"] == f"make {gated.root} writable"


def test_what_is_there_is_never_written_over(begin: Begin) -> None:
    gated = begin("")
    gated.gate("init")
    assert gated.error("init") == (13, "not-allowed", "phase-gate.yaml is there already")


# --- init --agent, agent uninstall


SETTINGS = '{\n  "env": {\n    "A": "b"\n  },\n  "hooks": {\n    "SessionStart": []\n  }\n}\n'


def test_all_agents_in_and_out_again(begin: Begin) -> None:
    gated = begin("")
    gated.project.write({".claude/settings.json": SETTINGS, "CLAUDE.md": "# Mine\n", ".cursor/rules/a.md": "x\n"})
    before, folders = gated.files(), folders_of(gated)
    ran = gated.gate("init", "--agent", *AGENT_NAMES)
    assert ran.code == 0
    for agent in map(load_agent, AGENT_NAMES):
        assert ran.has(f"wrote {agent.settings}\n", f"wrote {agent.instructions}\n")
        assert (gated.root / agent.settings).is_file()
    assert ran.has("--- .claude/settings.json\n", '+    "Stop": [\n')
    installed = gated.files()
    again = gated.gate("init", "--agent", *AGENT_NAMES)
    assert again.has("is as it should be: AGENTS.md")
    assert gated.files() == installed, "twice is once"
    assert gated.gate("agent", "uninstall").code == 0
    assert gated.files() == before
    assert folders_of(gated) == folders


def folders_of(gated: CommandProject) -> set[str]:
    return {str(path.relative_to(gated.root)) for path in gated.root.rglob("*") if path.is_dir()}


def test_a_dry_run_shows_a_diff_and_writes_nothing(begin: Begin) -> None:
    gated = begin("")
    gated.project.write({".claude/settings.json": SETTINGS})
    before = gated.files()
    ran = gated.gate("init", "--agent", "claude", "--dry-run")
    assert ran.has(
        "--- .claude/settings.json\n+++ .claude/settings.json\n",
        '+            "command": "phase-gate hook stop --agent claude",\n',
        f"--- {os.devnull}\n+++ CLAUDE.md\n",
    )
    assert gated.files() == before
    gated.gate("init", "--agent", "claude")
    installed = gated.files()
    assert gated.gate("init", "--agent", "claude", "--dry-run").out == "nothing would change\n"
    assert gated.gate("agent", "uninstall", "--dry-run").has("-<!-- phase-gate: begin -->", f"+++ {os.devnull}\n")
    assert gated.files() == installed


def test_one_agent_leaves_and_the_others_stay(begin: Begin) -> None:
    gated = begin("")
    gated.gate("init", "--agent", "codex", "cursor", "claude")
    ran = gated.gate("agent", "uninstall", "--agent", "codex", "claude")
    assert ran.has("removed .codex/hooks.json", "removed CLAUDE.md")
    assert (gated.root / "AGENTS.md").exists(), "Cursor reads it, too"
    assert gated.gate("agent", "uninstall").has("removed .cursor/hooks.json", "removed AGENTS.md")
    assert gated.files() == {}
    assert gated.gate("agent", "uninstall").out == "nothing to remove from the settings of agents\n"


def test_a_second_call_with_another_program(begin: Begin) -> None:
    gated = begin("")
    gated.project.write({".claude/settings.json": SETTINGS})
    before = gated.files()
    gated.gate("init", "--agent", "claude")
    gated.gate("init", "--agent", "claude", "--program", "uv run phase-gate")
    text = (gated.root / ".claude/settings.json").read_text()
    assert text.count("uv run phase-gate hook") == 2
    assert text.count("phase-gate hook") == 2
    gated.gate("agent", "uninstall")
    assert gated.files() == before


@pytest.mark.usefixtures("unasked")
def test_settings_with_comments_are_left_alone(begin: Begin) -> None:
    gated = begin("")
    gated.project.write({".claude/settings.json": "// mine\n{}\n"})
    before = gated.files()
    ran = gated.gate("init", "--agent", "claude", "codex")
    assert ran.code == 13
    assert ran.has(".claude/settings.json is left alone", "  try: paste this into it", '{"hooks": {"Stop": [')
    assert gated.files() == before
    pasted = ran.err[ran.err.index("{") :]
    gated.project.write({".claude/settings.json": f"// mine\n{pasted}"})
    assert gated.gate("init", "--agent", "claude", "codex").has("is as it should be: .claude/settings.json")
    says = "its hooks were not run: .claude/settings.json is no plain JSON; try them by hand"
    assert gated.gate("doctor").has(f"? claude        {says}")
    assert gated.error("agent", "uninstall", "--agent", "claude")[:2] == (13, "not-allowed")


@pytest.mark.skipif(sys.platform == "win32", reason="there, links are for administrators")
def test_links(begin: Begin, tmp_path_factory: pytest.TempPathFactory) -> None:
    gated = begin("")
    gated.project.write({"AGENTS.md": "# Mine\n"})
    (gated.root / "CLAUDE.md").symlink_to("AGENTS.md")
    gated.gate("init", "--agent", "claude", "codex")
    assert (gated.root / "CLAUDE.md").is_symlink()
    assert (gated.root / "AGENTS.md").read_text().count("phase-gate: begin") == 1
    gated.gate("agent", "uninstall")
    assert (gated.root / "AGENTS.md").read_text() == "# Mine\n"
    outside = tmp_path_factory.mktemp("outside") / "settings.json"
    outside.write_text("{}")
    (gated.root / ".claude").mkdir()
    (gated.root / ".claude" / "settings.json").symlink_to(outside)
    assert gated.error("init", "--agent", "claude")[2] == ".claude/settings.json leads out of the project"


# --- agent prompt


PHASES = [(name, phase.name) for name in shipped_workflow_names() for phase in load_shipped_workflow(name).phases]


@pytest.mark.parametrize("style", get_args(Style))
@pytest.mark.parametrize(("workflow", "phase"), PHASES)
def test_nothing_in_it_is_a_claim(begin: Begin, workflow: str, phase: str, style: str) -> None:
    gated = begin("")
    gated.project.write({"phase-gate.yaml": f"workflow: {workflow}\n"})
    text = gated.gate("agent", "prompt", "--phase", phase, "--style", style).out
    assert phase in text
    # As it is; then as an agent repeats it without its fence, with another indentation, and bare.
    block = text.partition("```\n")[2].partition("```")[0]
    assert block.count("\n") >= 3
    for echoed in (text, text.replace("```", ""), block, f"I shall print:\n\n{block}\nI have not begun."):
        read = read_claim_text([echoed])
        said = read_blocks(read)
        assert (said.explicit, said.claims_done) == (None, False)
        assert [each.name for each in find_patterns(DEFAULT_PATTERNS, sentences(read)) if each.met] == []


FILLED = {
    "exit": (("{COMPLETE|CONTINUE}", "COMPLETE"), ("{one sentence}", "it works"), ("{none|what is left}", "none")),
    "prp": (
        ("<number>", "2"),
        ("true | false", "true"),
        ("{none|what is left}", "none"),
        ("<its numbers>", '"tests_passing: 2/2"'),
    ),
    "doyaken": (
        ("true/false", "true"),
        ("<count>", "1"),
        ("pass/fail/skip/unknown", "pass"),
        ("high/medium/low", "high"),
        ('<brief description or "none">', "none"),
    ),
    "ralph": (
        ("IN_PROGRESS | COMPLETE | BLOCKED", "COMPLETE"),
        ("<number>", "1"),
        ("PASSING | FAILING | NOT_RUN", "PASSING"),
        ("IMPLEMENTATION | TESTING | DOCUMENTATION | REFACTORING", "TESTING"),
        ("true | false", "true"),
        ("<one line>", "none"),
    ),
}


@pytest.mark.parametrize("style", get_args(Style))
def test_a_claim_as_it_is_asked_for_passes(begin: Begin, style: str) -> None:
    gated = begin("green")
    prompt = gated.gate("agent", "prompt", "--style", style).out
    block = prompt.partition("```\n")[2].partition("```")[0]
    for template, value in FILLED[style]:
        assert template in block
        block = block.replace(template, value)
    said = read_blocks(read_claim_text([block]))
    assert (said.explicit, said.problems) == (True, ())
    # Without the sentence, an indicator is missing; with the one that the prompt shows, it passes.
    gated.project.write({"said.txt": block})
    found = gated.json("claim", "said.txt")
    assert (found["decision"], found["reason"]) == ("continue", "it reports done, with 1 indicator (2 needed)")
    sentence = prompt.partition("such as `")[2].partition("`")[0]
    gated.project.write({"said.txt": f"{sentence}\n\n{block}"})
    assert gated.json("claim", "said.txt")["decision"] == "complete"


def test_it_speaks_of_the_present_phase(begin: Begin) -> None:
    ran = begin("green").gate("agent", "prompt")
    assert ran.code == 0
    assert ran.has(
        "# GREEN: All tests passing (stable)",
        "`pytest --phase=green`",
        "- `tests_failing == 0` (tests_failing: tests in scope that failed",
        "`tests-unchanged`; where it is broken: undo the change",
        "required_green_runs is 2",
        'phase-gate signal --reason "..."',
        "REFACTOR follows",
    )


def test_a_phase_that_is_not_there(begin: Begin) -> None:
    code, slug, problem = begin("").error("agent", "prompt", "--phase", "blue")
    assert (code, slug, problem) == (2, "bad-usage", "workflow tdd has no phase 'blue'")
