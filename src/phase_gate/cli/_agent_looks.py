"""What `phase-gate doctor` finds out about coding agents: it runs their hooks as they would.

A hook that does not start is worse than none: most agents go on then, and say nothing. Settings come with a clone, so
only what `init` writes is run, to the letter; any other line is shown.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from phase_gate.agents.agent import Agent
from phase_gate.agents.installing import PROGRAM, find_commands
from phase_gate.agents.table import AGENT_NAMES, load_agent
from phase_gate.cli._looks import Look
from phase_gate.project import Project

#: Seconds, as in the settings that we write.
_TIMEOUT = 30
#: Programs that may stand in a hint: words and paths, and nothing that a shell would act on.
_PLAIN = re.compile(r"[\w./@:+=-]+( [\w./@:+=-]+)*", re.ASCII)


def look_at_agents(project: Project, program: str = PROGRAM) -> Iterator[Look]:
    """Yield one look for each agent that is told to ask us.

    :param program: how agents call us, as the user says who looks.
    """
    for agent in map(load_agent, AGENT_NAMES):
        try:
            text = (project.root / agent.settings).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        commands = find_commands(text, agent)
        if commands:
            yield _look(agent, commands, project.root, program)


def _look(agent: Agent, commands: dict[str, str], root: Path, program: str) -> Look:
    for event, command in commands.items():
        if command != agent.command(program, event):
            says = f"{event}: {command!r} was not run: it is not what init writes; {_way(agent, event, command)}"
            return Look(what=agent.name, mark="note", says=says)
        problem = _try(agent, event, command, root)
        if problem:
            return Look(what=agent.name, mark="bad", says=f"{event}: {problem}")
    missing = {agent.stop_event, agent.tool_event} - commands.keys()
    if missing:
        says = f"{missing.pop()} is not asked about: phase-gate init --agent {agent.name}"
        return Look(what=agent.name, mark="note", says=says)
    return Look(what=agent.name, mark="good", says=f"its hooks in {agent.settings} answer")


def _way(agent: Agent, event: str, command: str) -> str:
    """Return how to have a line run that is yours, if it has the form of one."""
    program = command.removesuffix(agent.command("", event))
    if program == command or _PLAIN.fullmatch(program) is None:
        return f"look at it in {agent.settings}"
    return f"if it is yours: phase-gate doctor --program {shlex.quote(program)}"


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
