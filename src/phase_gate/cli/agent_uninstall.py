"""`phase-gate agent uninstall`: take our hooks and our block out of the files of agents, and leave the rest."""

from __future__ import annotations

import argparse

from phase_gate.agents.agent import AGENT_NAMES, load_agent
from phase_gate.agents.install import Edit, has_hooks, read_file, remove_block, remove_hooks, show_diff, write_edit
from phase_gate.cli._answer import Answer, Call
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agent", nargs="+", choices=AGENT_NAMES, metavar="NAME", help="of these agents only; of all by default"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would change, and write nothing")


def run(call: Call) -> Answer:
    project = call.project()
    wanted = call.arguments.agent or AGENT_NAMES
    leaving = [load_agent(name) for name in AGENT_NAMES if name in wanted]
    staying = [load_agent(name) for name in AGENT_NAMES if name not in wanted]
    # Several agents read AGENTS.md: it stays for those that stay.
    kept = {agent.instructions for agent in staying if has_hooks(read_file(project, agent.settings) or "", agent)}
    edits: dict[str, Edit] = {}
    for agent in leaving:
        if (text := read_file(project, agent.settings)) is not None:
            edits[agent.settings] = remove_hooks(agent, text)
        path = agent.instructions
        if path not in kept and (text := read_file(project, path)) is not None:
            edits[path] = remove_block(path, text)
    changed = [edit for edit in edits.values() if edit.changes]
    document = {"files": {edit.path: edit.after for edit in changed}, "written": not call.arguments.dry_run}
    if not changed:
        return Answer(
            text="there is nothing of ours in the settings of agents", document={**document, "written": False}
        )
    if call.arguments.dry_run:
        return Answer(text="\n".join(show_diff(edit) for edit in changed), document=document)
    for edit in changed:
        write_edit(project, edit)
    rows = [f"{'removed' if edit.after is None else 'took our part out of'} {edit.path}" for edit in changed]
    return Answer(text=show_rows(rows), document=document)
