"""`phase-gate hook`: a coding agent asks whether it may stop, or use a tool.

Records nothing, because agents may ask twice. It only counts how often it blocks a stop, to end a loop.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from phase_gate.agents import hook_answers
from phase_gate.agents.agent_table import AGENT_NAMES, load_agent, read_stop, read_tool, recognise
from phase_gate.agents.hook_answers import ALLOW, NO_PROGRESS, Blocks, HookAnswer, Progress, Stop, WriteContext
from phase_gate.cli._call import Call, Done
from phase_gate.cli._streams import read_given, render_json, say
from phase_gate.codec import parse_foreign
from phase_gate.errors import PhaseGateError, UsageError, as_fault
from phase_gate.project import STATE_FOLDER, Project
from phase_gate.storage.files import REAL, make_folder
from phase_gate.storage.opening import user_state_folder
from phase_gate.storage.root import Climb, find_root, refuse_links, relative_id
from phase_gate.values import as_dict
from phase_gate.workflow.names import ANSWER_VARIABLE, is_answer_name
from phase_gate.workflow.sections import AgentSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.agents.agent_table import Agent, Document, ToolCall
    from phase_gate.task import Task

#: Where agents put the folder they were started in. Their current folder may be any.
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR")
#: The remedy for a fault of our own.
_REPORT = "phase-gate doctor, and report it"


def run(call: Call) -> Done:
    event = _read_event(call)
    agent = load_agent(call.arguments.agent or recognise(event or {}))
    if call.arguments.event == "stop":
        # Only the state counts: an event that can't be read is treated as an agent that stops.
        answer = _answer_stop(call, agent, event or {})
    else:
        answer = _answer_tool(call, agent, event)
    output = agent.answer(answer)
    document = {"agent": agent.name, **as_dict(answer), "output": output.document, "exit_code": output.exit_code}
    if call.arguments.json:
        return Done(text="", document=document, code=output.exit_code)
    if output.document is None:
        return Done(text=output.error, document=document, code=output.exit_code, is_error=True)
    if output.error:
        say(output.error, aside=True)
    return Done(text=render_json(output.document), document=document, code=output.exit_code)


def _read_event(call: Call) -> dict[str, Any] | None:
    """Return the event on standard input; None if it is not an event."""
    if call.interactive or sys.stdin is None:
        return {}  # a user tries the command by hand
    try:
        found = parse_foreign(read_given(call.start, "-") or "{}")
    except (UsageError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _find_project(call: Call, event: Document) -> Project:
    """Return the agent's project: among the folders that the event names, the first with a task."""
    found: Project | None = None
    for start in _starts(call, event):
        project = Project.find(start, environment=call.environment, task=call.arguments.task, folder=call.arguments.dir)
        if os.path.lexists(project.folder):
            return project
        found = found or project
    assert found is not None, "the current folder is one"
    return found


def _starts(call: Call, event: Document) -> Iterator[Path]:
    yield from (Path(call.environment[name]) for name in _PROJECT_VARIABLES if call.environment.get(name))
    yield call.start
    roots = event.get("workspace_roots")
    for place in (*(roots if isinstance(roots, list) else ()), event.get("cwd")):
        if isinstance(place, str) and os.path.isdir(place):
            yield Path(place)


# --- about to stop


def _answer_stop(call: Call, agent: Agent, event: Document) -> HookAnswer:
    stop = read_stop(event)
    project: Project | None = None
    progress = NO_PROGRESS
    try:
        project = _find_project(call, event)
        task = call.task(project)
        if task.answer_file is not None:
            return ALLOW  # the drive that started the agent judges, and restarts it if something is missing
        answer = _judge_stop(task, stop)
        if answer.verdict == "block":
            progress = hook_answers.progress_of(task.state, task.tree.digest)
    except Exception as error:  # an internal error would let the agent stop, with a traceback that is not read
        fault = as_fault(error, remedy=_REPORT)
        answer = hook_answers.decide_stop_in_doubt(fault.problem, fault.remedy, stop)
    if answer.verdict != "block" or call.interactive:
        return answer  # only agents can loop: do not count a person who tries the command
    most = (AgentSettings() if project is None else AgentSettings.of(project.configuration)).stop_blocks
    return hook_answers.limit_blocks(answer, _count_block(call, event, project, agent, stop, progress), most=most)


def _count_block(
    call: Call, event: Document, project: Project | None, agent: Agent, stop: Stop, progress: Progress
) -> Blocks | None:
    """Return how often the agent's stop was blocked; None if unknown. Two hooks of one stop are counted separately."""
    try:
        if project is not None:
            refuse_links(project.own_folders)
            folder, name = project.state_folder, project.task
        else:  # which folder is the project's can't be known: the user's own is good enough for a count
            own = user_state_folder(call.environment)
            if own is None:
                return None
            make_folder(REAL, own)
            folder, name = own, str(next(_starts(call, event)))
        return hook_answers.count_block(
            hook_answers.block_file(folder, agent=agent.name, session=stop.session, task=name), progress
        )
    except (PhaseGateError, OSError):
        return None


def _judge_stop(task: Task, stop: Stop) -> HookAnswer:
    state = task.state
    if state.phase is None or state.is_done:
        return ALLOW  # no task, so no rules apply
    standing = task.current_status()
    # The rules are needed, and read, only then.
    phase = task.rules.phase(state.phase) if standing.is_open else None
    may_end = phase is not None and phase.may_end_cycle
    until = AgentSettings.of(task.project.configuration).until
    return hook_answers.decide_stop(state, standing, stop, until=until, may_end_cycle=may_end)


# --- about to use a tool


def _answer_tool(call: Call, agent: Agent, event: Document | None) -> HookAnswer:
    if event is None:
        reason = "the event on standard input can't be read, so it is unknown what would be written"
        return HookAnswer(verdict="deny", reason=reason, next_command="phase-gate doctor")
    tool = read_tool(event)
    try:
        return _judge_tool(call, event, tool)
    except Exception as error:
        fault = as_fault(error, remedy=_REPORT)
        return HookAnswer(verdict="deny", reason=f"the gate is closed: {fault.problem}", next_hint=fault.remedy)


def _judge_tool(call: Call, event: Document, tool: ToolCall) -> HookAnswer:
    from phase_gate.agents.tools import find_file_writes

    try:
        project = _find_project(call, event)
        writes = find_file_writes(tool, root=project.root, start=call.start)
        return hook_answers.decide_writes(writes, _scene(call, project)) if writes else ALLOW
    except PhaseGateError as error:
        root = find_root(Climb.begin(next(_starts(call, event)), call.environment))
        writes = find_file_writes(tool, root=root, start=call.start)
        context = WriteContext(state_folder=STATE_FOLDER)
        return hook_answers.decide_writes_in_doubt(writes, context, error.problem, error.remedy)


def _scene(call: Call, project: Project) -> WriteContext:
    from phase_gate.workflow.settings import FILE_NAME

    state_folder = relative_id(project.state_folder, project.root)
    task = call.task(project)
    state = task.state
    answer_file = _own_answer(call, project)
    if state.phase is None or state.is_done:
        return WriteContext(state_folder=state_folder, answer_file=answer_file)
    workflow = task.rules
    named = project.configuration.workflow
    own = (os.path.normpath(named).replace(os.sep, "/"),) if named.endswith((".yaml", ".yml")) else ()
    phase = workflow.phase(state.phase)
    assert phase is not None, "a task that is not done is in a phase of its rules"
    is_red = phase.tests == "failing" and not state.exited
    # If the cycle may end here, the tests of the next cycle may be written.
    is_frozen = not is_red and not (state.exited and phase.may_end_cycle)
    return WriteContext(
        state_folder=state_folder,
        answer_file=answer_file,
        phase=phase.name,
        task=state.task,
        first=workflow.first.name,
        frozen=task.store.objects.load_frozen(state.freeze.current) if is_frozen else None,
        rules=(FILE_NAME, *own),
        hook_files=tuple(load_agent(name).settings for name in AGENT_NAMES),
    )


def _own_answer(call: Call, project: Project) -> str:
    """Return the path from the root of the answer file that a drive gave this agent; empty if none."""
    path = Path(call.environment.get(ANSWER_VARIABLE, ""))
    in_drive = "drive" in (path.parent.name, path.parent.parent.name)
    if not in_drive or not is_answer_name(path.name):
        return ""
    return relative_id(path, project.root)
