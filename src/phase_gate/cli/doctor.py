"""`phase-gate doctor`: check the installation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import phase_gate
from phase_gate._version import __version__
from phase_gate.agents.agent_table import AGENT_NAMES, Agent, load_agent
from phase_gate.agents.install import PROGRAM, find_commands, has_hooks
from phase_gate.cli._call import INSTALL, Call, Done
from phase_gate.codec import parse_foreign
from phase_gate.errors import PhaseGateError
from phase_gate.project import Project
from phase_gate.values import Value, as_dict
from phase_gate.visible import count, show_rows
from phase_gate.workflow.names import PASSES_ALREADY

_SIGNS: dict[Mark, str] = {"good": "+", "note": "?", "bad": "-"}


def doctor(call: Call) -> Done:
    found = list(_check_all(call))
    rows = [f"{_SIGNS[each.mark]} {each.what:14}{each.says}" for each in found]
    document: dict[str, object] = {"looks": [as_dict(each) for each in found]}
    is_well = all(each.mark != "bad" for each in found)
    return Done(text=show_rows(rows), document=document, code=0 if is_well else 1)


def _check_all(call: Call) -> Iterator[Diagnosis]:
    yield Diagnosis("package", "good", f"pytest-phase-gate {__version__} in {os.path.dirname(phase_gate.__file__)}")
    yield check_plugin(call.start)
    project: Project | None = None
    what = "configuration"
    try:
        project = call.project()
        yield Diagnosis("root", "good", str(project.root))
        what = "store"
        store = call.store(project)
        if store.shared is not None:
            tasks = count(len(store.shared.list_tasks()), "task")
            yield Diagnosis(what, "good", f"{store.shared.shown} answers, and has {tasks}")
        what = "ledger"
        opened = store.read()
        store.check_objects(opened.state)
        yield Diagnosis(what, "good", f"{count(opened.serial, 'event')}, intact")
    except PhaseGateError as error:  # what comes after it needs it
        yield Diagnosis(what, "bad", f"{error.problem}; try: {error.remedy}")
    if project is not None:
        yield from check_agents(project, call.arguments.program)


# --- the checks of `phase-gate doctor`, one function each, all read-only


Mark = Literal["good", "note", "bad"]


class Diagnosis(Value, kw_only=False):
    """The result of one check."""

    what: str
    mark: Mark
    says: str


def check_plugin(start: Path) -> Diagnosis:
    """Start a real pytest, for the plugin may be disabled: it lists the marks of the loaded plugins."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--markers"],
        cwd=start,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        message = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()[-1]
        return Diagnosis("plugin", "bad", f"pytest does not start here: {message}")
    if f"@pytest.mark.{PASSES_ALREADY}" not in done.stdout:
        says = f"not loaded: {INSTALL}, or look for -p no:phase_gate and PYTEST_DISABLE_PLUGIN_AUTOLOAD"
        return Diagnosis("plugin", "bad", says)
    return Diagnosis("plugin", "good", "loaded by pytest")


# --- the checks of coding agents: run their hooks as they would


#: Seconds, as in the settings we write.
_TIMEOUT = 30


def check_agents(project: Project, program: str = PROGRAM) -> Iterator[Diagnosis]:
    """Yield one check for each agent with our hooks.

    :param program: how agents call us, as given by the user.
    """
    for agent in map(load_agent, AGENT_NAMES):
        try:
            text = (project.root / agent.settings).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        commands = find_commands(text, agent)
        if commands:
            yield _check(agent, commands, project, program)
        elif has_hooks(text, agent):
            says = f"its hooks were not run: {agent.settings} is no plain JSON; try them by hand"
            yield Diagnosis(agent.name, "note", says)


def _check(agent: Agent, commands: dict[str, str], project: Project, program: str) -> Diagnosis:
    for event, command in commands.items():
        if command != agent.command(program, event):
            says = f"{event}: {command!r} was not run: init does not write it; if it is yours, name it with --program"
            return Diagnosis(agent.name, "note", says)
        problem = _try(agent, event, command, project.root)
        if problem:
            return Diagnosis(agent.name, "bad", f"{event}: {problem}")
    missing = {agent.stop_event, agent.tool_event} - commands.keys()
    if missing:
        says = f"{missing.pop()} is not asked about: phase-gate init --agent {agent.name}"
        return Diagnosis(agent.name, "note", says)
    answer = f"its hooks in {agent.settings} answer"
    if not agent.trust_step:
        return Diagnosis(agent.name, "good", answer)
    # Most clients silently skip a hook that they do not trust, and we can't detect that.
    return Diagnosis(agent.name, "note", f"{answer}; to have them run, {agent.trust_step}")


def _try(agent: Agent, event: str, command: str, root: Path) -> str:
    """Return the problem with a hook; empty if it answers correctly."""
    example = agent.example(event)
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
        message = (done.stderr.strip() or "it printed nothing").splitlines()[-1]
        return (
            f"{command!r} ends with {done.returncode} ({message}), so {agent.when_hook_fails}; "
            f"name the program by its path: phase-gate init --agent {agent.name} --program PATH"
        )
    try:
        answer = parse_foreign(done.stdout)
    except ValueError:
        return f"{command!r} does not answer in JSON"
    if event == agent.tool_event and "deny" not in json.dumps(answer):
        return f"{command!r} does not protect the state folder"
    return ""
