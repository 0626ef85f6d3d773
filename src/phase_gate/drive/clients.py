"""The agent's program: a client by name, or any command line; its messages; its environment; the agents' roles."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from phase_gate.agents.agent_table import AGENT_NAMES, load_agent
from phase_gate.agents.endings import describe_event
from phase_gate.claims.agent_output import read_transcript
from phase_gate.errors import UsageError
from phase_gate.project import STORE_VARIABLE, Project
from phase_gate.stores.choosing import WITHHELD as WITHHELD_STORE
from phase_gate.stores.choosing import find_address
from phase_gate.values import Value, field
from phase_gate.workflow.model import AUDIT, Phase, Workflow, requires_of
from phase_gate.workflow.settings import WITHHELD, DriveSettings

#: Placeholders in a command line for the prompt's file and for the prompt's text.
FILE, TEXT = "{prompt}", "{text}"

#: Variables with which libpq opens a database, in addition to the address.
_OF_DATABASE = ("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSSLKEY", "PGSSLPASSWORD", "PGOAUTH*")


class Client(Value):
    """An agent's command line."""

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return Path(self.words[0]).name

    @property
    def is_known(self) -> bool:
        """Whether we know this client by name, and so the format of its error reports."""
        return self.name in AGENT_NAMES

    @property
    def reads_stdin(self) -> bool:
        return not any(FILE in word or TEXT in word for word in self.words)

    def fill(self, prompt: Path) -> list[str]:
        """Return the command line with its placeholders filled in."""
        text = prompt.read_text(encoding="utf-8") if any(TEXT in word for word in self.words) else ""
        return [word.replace(FILE, str(prompt)).replace(TEXT, text) for word in self.words]


def find_client(words: Sequence[str], environment: Mapping[str, str], role: str = "agent") -> Client:
    """Return the client. Raises UsageError if none is named, or its program is not installed.

    :param words: the name of a known client, a command line in one string, or its words.
    """
    if not words:
        remedy = f"write drive: {{{role}: claude}} in the settings"
        if role == "agent":
            tasks = "to drive a list of tasks, first: phase-gate verify start --task-file FILE"
            remedy = f"phase-gate drive -- claude -p, or {remedy}; {tasks}"
        raise UsageError(f"no {role} is named", remedy=remedy)
    if len(words) == 1 and words[0] in AGENT_NAMES:
        words = load_agent(words[0]).headless
        if not words:
            known = ", ".join(name for name in AGENT_NAMES if load_agent(name).headless)
            raise UsageError(f"the {role} can't be started without a person", remedy=f"use one of: {known}")
    elif len(words) == 1:
        words = _split(words[0])
    program = words[0]
    if "/" not in program and shutil.which(program, path=environment.get("PATH")) is None:
        raise UsageError(f"there is no program {program!r} on the path", remedy="install it, or name another agent")
    return Client(words=tuple(words))


def _split(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"the agent's command can't be split into words: {error}", remedy="close the quote") from None
    if not words:
        raise UsageError("the agent's command is empty", remedy="name a program")
    return words


def parse_output(output: str) -> tuple[str, ...]:
    """Return an agent's own messages if it prints events, else its whole output."""
    if describe_event(output.lstrip().partition("\n")[0]) is None:
        return (output,)
    return read_transcript(output)


# --- the agent's environment


def choose_environment(project: Project, names: Sequence[str] | None = None) -> dict[str, str]:
    """Return the agent's environment: the user's, without anything that gives access to the gate's record.

    :param names: selected variables, as names or globs; None: all that agents may have.
    """
    environment = project.environment
    address = find_address(environment)
    # Without a database, the user's own tests may need these variables.
    hidden = WITHHELD if address is None or address.kind != "postgresql" else (*WITHHELD, *_OF_DATABASE)
    wanted = [name for name in environment if names is None or _is_in(name, names)]
    chosen = {name: environment[name] for name in wanted if not _is_in(name, hidden)}
    if STORE_VARIABLE in environment:
        # Without this variable, a test run by the agent would change the folder's copy and bypass the store.
        chosen[STORE_VARIABLE] = "folder" if address is None else WITHHELD_STORE
    return chosen


def _is_in(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, each) for each in patterns)


# --- the roles in a cycle, a pipeline, or a list of verify tasks


class Roles(Value):
    """The commands of a drive: one for all roles, or one per role."""

    #: By role or phase. `usual` does the rest.
    clients: Mapping[str, Client] = field(default_factory=dict)
    usual: Client
    voters: tuple[tuple[str, Client], ...] = ()

    def choose(self, workflow: Workflow, phase: Phase) -> Client:
        """Return the client that works in a phase."""
        if workflow.pipeline is None:
            return self.usual
        return self.clients.get(phase.name) or self.clients.get(role_of(workflow, phase)) or self.usual


def find_team(settings: DriveSettings, environment: Mapping[str, str]) -> Roles:
    """Return executor and reviewer. Raises UsageError if both are the same command."""
    executor = find_client(settings.executor, environment, "executor")
    reviewer = find_client(settings.reviewer, environment, "reviewer")
    if executor.words == reviewer.words:
        raise UsageError(
            f"executor and reviewer are the same command: {shlex.join(executor.words)}",
            remedy="let another one review: drive.reviewer in the settings",
        )
    return Roles(usual=executor, clients={"executor": executor, "reviewer": reviewer})


def role_of(workflow: Workflow, phase: Phase) -> str:
    """Return the role that works in a phase.

    The debugger in a recovery, the auditor in a phase that decides about the work, the implementer in a phase that
    builds or tests it, else the planner.
    """
    if phase.recovers:
        return "debugger"
    requires = requires_of(phase)
    described = {} if workflow.pipeline is None else workflow.pipeline.artifacts
    if any(described[name].line or described[name].schema == AUDIT for name in requires.artifacts):
        return "auditor"
    return "implementer" if phase.tests != "none" or requires.checks else "planner"


def find_roles(settings: DriveSettings, workflow: Workflow, environment: Mapping[str, str]) -> Roles:
    """Return the commands. Raises UsageError if one is missing, not installed, or would vote on its own work."""
    if workflow.pipeline is None or not settings.roles:
        return Roles(usual=find_client(settings.agent, environment))
    commands = {**settings.roles}
    voting = commands.pop("voters", ())
    clients = {name: find_client(words, environment) for name, words in commands.items()}
    for name in clients:
        if name.isupper() and workflow.phase(name) is None:
            known = ", ".join(each.name for each in workflow.phases)
            raise UsageError(f"drive.roles names {name}, which is no phase", remedy=f"use a role, or one of: {known}")
    for phase in () if settings.agent else workflow.phases:
        if clients.keys().isdisjoint({phase.name, role_of(workflow, phase)}):
            raise UsageError(
                f"no one works in {phase.name}: drive.roles names no {role_of(workflow, phase)}",
                remedy="write it, or agent: for all that is left, below drive: in the settings",
            )
    usual = find_client(settings.agent, environment) if settings.agent else next(iter(clients.values()))
    voters = [find_client((text,), environment) for text in voting]
    named = tuple((f"{client.name} (voter {number})", client) for number, client in enumerate(voters, start=1))
    roles = Roles(clients=clients, usual=usual, voters=named)
    _refuse_voters(roles, workflow)
    return roles


def _refuse_voters(roles: Roles, workflow: Workflow) -> None:
    voters = [client.words for _, client in roles.voters]
    if len(set(voters)) < len(voters):
        raise UsageError("drive.roles.voters has the same command twice", remedy="let different ones vote")
    for phase in workflow.phases:
        author = roles.choose(workflow, phase).words
        if requires_of(phase).consensus is not None and author in voters:
            raise UsageError(
                f"{shlex.join(author)} works in {phase.name}, and would vote on its own work",
                remedy="let another command vote: drive.roles.voters in the settings",
            )
