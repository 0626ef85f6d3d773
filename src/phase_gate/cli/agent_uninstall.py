"""`phase-gate agent uninstall`: take our hooks and our block out of the files of agents, and leave the rest."""

from __future__ import annotations

from phase_gate.agents.agent import AGENT_NAMES, load_agent
from phase_gate.agents.install import Edit, has_hooks, read_file, remove_block, remove_hooks, show_diff, write_edit
from phase_gate.cli._answer import Call, Done
from phase_gate.visible import show_rows


def run(call: Call) -> Done:
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
        return Done(text="there is nothing of ours in the settings of agents", document={**document, "written": False})
    if call.arguments.dry_run:
        return Done(text="\n".join(show_diff(edit) for edit in changed), document=document)
    for edit in changed:
        write_edit(project, edit)
    rows = [f"{'removed' if edit.after is None else 'took our part out of'} {edit.path}" for edit in changed]
    return Done(text=show_rows(rows), document=document)
