"""`phase-gate agent uninstall`: take back what `init --agent` wrote, to the byte where it was not changed since."""

from __future__ import annotations

import argparse

from phase_gate.agents.agent import AGENT_NAMES, Agent, load_agent
from phase_gate.agents.files import AgentFiles, show_diff
from phase_gate.agents.installing import Edit, find_commands, remove_block, remove_hooks, take_back
from phase_gate.cli._answer import Answer, Call
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agent", nargs="+", choices=AGENT_NAMES, metavar="NAME", help="of these agents only; of all by default"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would change, and write nothing")


def run(call: Call) -> Answer:
    files = AgentFiles(call.project())
    wanted = call.arguments.agent or AGENT_NAMES
    leaving = [load_agent(name) for name in AGENT_NAMES if name in wanted]
    staying = [
        agent for agent in map(load_agent, AGENT_NAMES) if agent.name not in wanted and _is_installed(files, agent)
    ]
    kept = {agent.instructions for agent in staying}
    edits: dict[str, Edit] = {}
    for agent in leaving:
        if (text := files.read(agent.settings)) is not None:
            undone = take_back(agent.settings, text, files.recorded.get(agent.settings))
            edits[agent.settings] = undone or remove_hooks(agent, text)
        path = agent.instructions
        if path not in kept and path not in edits and (text := files.read(path)) is not None:
            edits[path] = take_back(path, text, files.recorded.get(path)) or remove_block(path, text)
    changed = [edit for edit in edits.values() if edit.changes]
    document = {"files": {edit.path: edit.after for edit in changed}, "written": not call.arguments.dry_run}
    if not changed:
        return Answer(
            text="there is nothing of ours in the settings of agents", document={**document, "written": False}
        )
    if call.arguments.dry_run:
        return Answer(text="\n".join(show_diff(edit) for edit in changed), document=document)
    for edit in changed:
        files.write(edit)
    files.save()
    rows = [f"{'removed' if edit.after is None else 'took our part out of'} {edit.path}" for edit in changed]
    return Answer(text=show_rows(rows), document=document)


def _is_installed(files: AgentFiles, agent: Agent) -> bool:
    text = files.read(agent.settings)
    return text is not None and bool(find_commands(text, agent))
