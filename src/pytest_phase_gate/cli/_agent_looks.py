"""What `phase-gate doctor` finds out about coding agents: it runs their hooks as they would.

A hook that does not start is worse than none: most agents go on then, and say nothing.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pytest_phase_gate.agents.agent import Agent
from pytest_phase_gate.agents.installing import find_commands
from pytest_phase_gate.agents.table import AGENT_NAMES, load_agent
from pytest_phase_gate.cli._looks import Look
from pytest_phase_gate.project import Project

#: Seconds, as in the settings that we write.
_TIMEOUT = 30


def look_at_agents(project: Project) -> Iterator[Look]:
    """Yield one look for each agent that is told to ask us."""
    for agent in map(load_agent, AGENT_NAMES):
        try:
            text = (project.root / agent.settings).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        commands = find_commands(text, agent)
        if commands:
            yield _look(agent, commands, project.root)


def _look(agent: Agent, commands: dict[str, str], root: Path) -> Look:
    for event, command in commands.items():
        problem = _try(agent, event, command, root)
        if problem:
            return Look(what=agent.name, mark="bad", says=f"{event}: {problem}")
    missing = {agent.stop_event, agent.tool_event} - commands.keys()
    if missing:
        says = f"{missing.pop()} is not asked about: phase-gate init --agent {agent.name}"
        return Look(what=agent.name, mark="note", says=says)
    return Look(what=agent.name, mark="good", says=f"its hooks in {agent.settings} answer")


def _try(agent: Agent, event: str, command: str, root: Path) -> str:
    """Return what is wrong with a hook; empty if it answers as it should."""
    example = agent.example_stop if event == agent.stop_event else agent.example_tool
    try:
        done = subprocess.run(
            command,
            shell=True,
            cwd=root,
            input=json.dumps({**example, "cwd": str(root)}),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{command!r} did not answer within {_TIMEOUT} s"
    if done.returncode == 2 and done.stderr.startswith("phase-gate: ") and agent.name == "vscode":
        return ""
    if done.returncode != 0:
        said = (done.stderr.strip() or "it says nothing").splitlines()[-1]
        return (
            f"{command!r} ends with {done.returncode} ({said}), so the agent goes on unasked; "
            f"name the program by its path: phase-gate init --agent {agent.name} --program PATH"
        )
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return f"{command!r} does not answer in JSON"
    if event == agent.tool_event and "deny" not in json.dumps(answer):
        return f"{command!r} does not protect the state folder"
    return ""
