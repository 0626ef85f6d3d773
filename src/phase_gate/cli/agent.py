"""`phase-gate init`, `agent prompt`, `agent uninstall`: the project's settings, and instructions for agents."""

from __future__ import annotations

import os
import shlex

from phase_gate.agents import install
from phase_gate.agents.agent_table import AGENT_NAMES, load_agent
from phase_gate.cli._call import Call, Done
from phase_gate.config.configuration import read_own_table
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.report.prompt import render_prompt
from phase_gate.visible import show_rows
from phase_gate.workflow.settings import PYPROJECT

TEMPLATE = """\
# Rules of pytest-phase-gate for this project. Everything here is optional; the values shown are the defaults.

workflow: tdd                    # a shipped workflow, or the path of your own file

# run:                           # defaults of the options
#   exit: gate1                  # tests | gate1 | dual: what pytest's exit status means
#   confirm: false               # true: run again by itself while green and the streak is short
#   criteria: 1                  # acceptance criteria: a number, or a file that lists them, like docs/criteria.md

# parameters:
#   required_green_runs: 2
#   max_refactor_iterations: 5

# evidence:
#   quality:                     # of code, in REFACTOR: pip install 'pytest-phase-gate[quality]'
#     exclude: ["generated/**"]

# agents:                        # how the hooks of coding agents answer: phase-gate init --agent NAME
#   until: cycle                 # cycle | phase: how far an agent has to come before it may stop
#   stop_blocks: 3               # how often in a row it is held up while nothing is run and no file changes

# drive:                         # phase-gate drive: let an agent work until it is done
#   agent: claude                # or codex, gemini, copilot, or a command line
#   budget: {iterations: 30, time: 4h}
#   signal: ask                  # ask | agent: who gives the signal of Gate 2

# phases:
#   GREEN:
#     condition: tests_skipped == 0     # holds in addition to the workflow's own condition
"""


def init(call: Call) -> Done:
    if call.arguments.agent:
        return _install(call)
    project = call.project()
    path = project.root / "phase-gate.yaml"
    if read_own_table(project.root) is not None:
        raise NotAllowedError(
            f"the settings are in [tool.phase-gate] of {PYPROJECT}", remedy="edit them there; nothing was changed"
        )
    document = {"path": str(path), "content": TEMPLATE}
    if call.arguments.dry_run:
        return Done(text=TEMPLATE.rstrip(), document={**document, "written": False})
    if os.path.lexists(path):
        raise NotAllowedError(f"{path.name} is there already", remedy="edit it; nothing was changed")
    install.write_edit(project, install.Edit(path=path.name, before=None, after=TEMPLATE))
    return Done(text=f"wrote {path}", document={**document, "written": True}, next_command="pytest --phase=red")


def _install(call: Call) -> Done:
    project, program = call.project(), call.arguments.program
    agents = [load_agent(name) for name in dict.fromkeys(call.arguments.agent)]
    settings = {
        agent.settings: install.install_hooks(agent, install.read_file(project, agent.settings), program=program)
        for agent in agents
    }
    instructions = {
        agent.instructions: install.install_block(agent.instructions, install.read_file(project, agent.instructions))
        for agent in agents
    }
    edits = {**settings, **instructions}
    changed = [edit for edit in edits.values() if edit.changes]
    document = {"files": {path: edit.after for path, edit in edits.items()}, "changed": [edit.path for edit in changed]}
    if call.arguments.dry_run:
        shown = [install.show_diff(edit) for edit in changed] or ["nothing would change"]
        return Done(text="\n".join(shown), document={**document, "written": False})
    for edit in changed:
        install.write_edit(project, edit)
    rows = [f"{'wrote' if edit.changes else 'is as it should be:'} {path}" for path, edit in edits.items()]
    # The whole file is rewritten, so show its owner the other changes in format.
    rewritten = [install.show_diff(edit) for edit in settings.values() if edit.changes and edit.before is not None]
    doctor = "phase-gate doctor" if program is None else f"phase-gate doctor --program {shlex.quote(program)}"
    return Done(
        text="\n".join([*rows, *rewritten, f"  next: {doctor}  # runs the hooks as the agent would"]),
        document={**document, "written": bool(changed)},
    )


# --- the rules of a phase in plain language, for an agent's instructions


def prompt(call: Call) -> Done:
    task = call.task()
    project, workflow = task.project, task.rules
    wanted = call.arguments.phase
    phase = workflow.phase(wanted or task.state.phase or "") or (None if wanted else workflow.first)
    if phase is None:
        names = ", ".join(each.name for each in workflow.phases)
        raise UsageError(f"workflow {workflow.name} has no phase {wanted!r}", remedy=f"use one of: {names}")
    text = render_prompt(workflow, phase, call.arguments.style, task=project.task)
    return Done(
        text=text,
        document={"task": project.task, "phase": phase.name, "style": call.arguments.style, "prompt": text},
    )


# --- remove our hooks and our block from agents' files, and keep the rest


def uninstall(call: Call) -> Done:
    project = call.project()
    wanted = call.arguments.agent or AGENT_NAMES
    leaving = [load_agent(name) for name in AGENT_NAMES if name in wanted]
    staying = [load_agent(name) for name in AGENT_NAMES if name not in wanted]
    # Several agents read AGENTS.md: keep the block for the remaining ones.
    kept = {
        agent.instructions
        for agent in staying
        if install.has_hooks(install.read_file(project, agent.settings) or "", agent)
    }
    edits: dict[str, install.Edit] = {}
    for agent in leaving:
        if (text := install.read_file(project, agent.settings)) is not None:
            edits[agent.settings] = install.remove_hooks(agent, text)
        path = agent.instructions
        if path not in kept and (text := install.read_file(project, path)) is not None:
            edits[path] = install.remove_block(path, text)
    changed = [edit for edit in edits.values() if edit.changes]
    document = {"files": {edit.path: edit.after for edit in changed}, "written": not call.arguments.dry_run}
    if not changed:
        return Done(text="nothing to remove from the settings of agents", document={**document, "written": False})
    if call.arguments.dry_run:
        return Done(text="\n".join(install.show_diff(edit) for edit in changed), document=document)
    for edit in changed:
        install.write_edit(project, edit)
    rows = [f"{'removed' if edit.after is None else 'took our part out of'} {edit.path}" for edit in changed]
    return Done(text=show_rows(rows), document=document)
