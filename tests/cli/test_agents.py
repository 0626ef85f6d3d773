"""`phase-gate init --agent` and `uninstall`: what they write, and that nothing of it stays behind; and its `doctor`."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from phase_gate.agents.agent_table import AGENT_NAMES, load_agent
from tests.cli.conftest import Begin, CommandProject

SETTINGS = '{\n  "env": {\n    "A": "b"\n  },\n  "hooks": {\n    "SessionStart": []\n  }\n}\n'
pytestmark = pytest.mark.usefixtures("unasked")

PROGRAM = f"{shlex.quote(sys.executable)} -m phase_gate.cli"


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


def test_what_others_have_added_since_stays(begin: Begin) -> None:
    gated = begin("")
    gated.project.write({".claude/settings.json": SETTINGS})
    gated.gate("init", "--agent", "claude")
    settings, memo = gated.root / ".claude/settings.json", gated.root / "CLAUDE.md"
    settings.write_text(settings.read_text().replace('"A": "b"', '"A": "c"'))
    memo.write_text(memo.read_text() + "\nMore of mine.\n")
    gated.gate("agent", "uninstall")
    text = settings.read_text()
    assert '"A": "c"' in text
    assert "phase-gate" not in text
    assert memo.read_text() == "\nMore of mine.\n"


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
    assert look(gated, "claude", "phase-gate") == ("note", says)
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


# --- doctor


def look(gated: CommandProject, agent: str, program: str = PROGRAM) -> tuple[str, str] | None:
    """Return what doctor says of an agent."""
    looks = {row["what"]: (row["mark"], row["says"]) for row in gated.json("doctor", "--program", program)["looks"]}
    return looks.get(agent)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("agent", AGENT_NAMES)
def test_the_doctor_runs_the_hooks(begin: Begin, agent: str) -> None:
    gated = begin("green-once")
    assert look(gated, agent) is None, "nobody told it to ask"
    gated.gate("init", "--agent", agent, "--program", PROGRAM)
    before = gated.files()
    mark, says = look(gated, agent) or ("", "")
    client = load_agent(agent)
    assert mark == ("note" if client.trust_step else "good"), "that they answer is not all that it takes"
    assert says.startswith(f"its hooks in {client.settings} answer")
    assert says.endswith(f"; to have them run, {client.trust_step}" if client.trust_step else "answer")
    assert gated.files() == before


def silent(folder: Path, answer: str) -> str:
    script = folder / "odd.py"
    script.write_text(f"import sys\nsys.stdin.read()\nprint({answer!r})\n")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"


def test_the_doctor_says_what_is_wrong(begin: Begin, tmp_path_factory: pytest.TempPathFactory) -> None:
    gated = begin("")
    folder = tmp_path_factory.mktemp("programs")

    def say(program: str) -> tuple[str, str]:
        gated.gate("init", "--agent", "claude", "--program", program)
        return look(gated, "claude", program) or ("", "")

    mark, says = say("no-such-program")
    assert mark == "bad"
    assert ", so the agent continues unasked; " in says
    assert says.startswith("Stop: 'no-such-program hook stop --agent claude' ends with ")
    assert says.endswith("phase-gate init --agent claude --program PATH")
    assert say(silent(folder, "hello"))[1].endswith("does not answer in JSON")
    assert say(silent(folder, "{}"))[1].endswith("does not protect the state folder")
