"""Which program is the agent: a client by its name, or any command line; who works in which phase, and who reviews."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from phase_gate.agents.agent import AGENT_NAMES, load_agent
from phase_gate.agents.endings import ANY_PROGRAM, Sign, describe_event
from phase_gate.claims.text import read_transcript
from phase_gate.errors import UsageError
from phase_gate.evidence.process.tree import MARK
from phase_gate.project import STORE_VARIABLE, Project
from phase_gate.stores.address import StoreAddress
from phase_gate.stores.choosing import WITHHELD as WITHHELD_STORE
from phase_gate.stores.choosing import find_address
from phase_gate.values import Value, field, replace
from phase_gate.workflow.model import AUDIT, Phase, Workflow, requires_of
from phase_gate.workflow.settings import WITHHELD, DriveSettings

#: What stands in a command line for the file with the prompt, and for the prompt itself.
FILE, TEXT = "{prompt}", "{text}"

#: With what libpq gets into a database, beside the address itself.
_OF_DATABASE = ("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSSLKEY", "PGSSLPASSWORD", "PGOAUTH*")


def read_said(output: str) -> tuple[str, ...]:
    """Return what an agent says itself: its messages where it prints events, else all that it prints."""
    if describe_event(output.lstrip().partition("\n")[0]) is None:
        return (output,)
    return read_transcript(output).texts


class Client(Value):
    """An agent's command line, and how its troubles are read."""

    words: tuple[str, ...]
    #: How its own errors look.
    signs: tuple[Sign, ...] = ANY_PROGRAM

    @property
    def name(self) -> str:
        return Path(self.words[0]).name

    @property
    def shown(self) -> str:
        """As it is typed."""
        return shlex.join(self.words)

    @property
    def reads_stdin(self) -> bool:
        return not any(FILE in word or TEXT in word for word in self.words)

    def fill(self, prompt: Path) -> list[str]:
        """Return the words with the prompt in its place."""
        text = prompt.read_text(encoding="utf-8") if any(TEXT in word for word in self.words) else ""
        return [word.replace(FILE, str(prompt)).replace(TEXT, text) for word in self.words]


def find_client(words: Sequence[str], environment: Mapping[str, str]) -> Client:
    """Return the client. Raises UsageError where none is named, or its program is not there.

    :param words: the name of a client we know, a command line in one text, or its words.
    """
    if not words:
        raise UsageError(
            "no agent is named",
            remedy="phase-gate drive -- claude -p, or write drive: {agent: claude} in phase-gate.yaml",
        )
    client = _find_known(words[0]) if len(words) == 1 else _take_words(words)
    program = client.words[0]
    if "/" not in program and shutil.which(program, path=environment.get("PATH")) is None:
        raise UsageError(f"there is no program {program!r} on the path", remedy="install it, or name another agent")
    return client


def _find_known(text: str) -> Client:
    if text in AGENT_NAMES:
        agent = load_agent(text)
        if not agent.headless:
            known = ", ".join(name for name in AGENT_NAMES if load_agent(name).headless)
            raise UsageError(f"{agent.title} can't be started without a person", remedy=f"use one of: {known}")
        return Client(words=agent.headless, signs=agent.signs)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"the agent's command can't be split into words: {error}", remedy="close the quote") from None
    if not words:
        raise UsageError("the agent's command is empty", remedy="name a program")
    return _take_words(words)


def _take_words(words: Sequence[str]) -> Client:
    """Return a command line of the user's; a client that we know by its name is read as it speaks."""
    name = Path(words[0]).name
    signs = load_agent(name).signs if name in AGENT_NAMES else ()
    return Client(words=tuple(words), signs=signs or ANY_PROGRAM)


def choose_environment(project: Project, names: Sequence[str] | None = None) -> dict[str, str]:
    """Return what an agent gets of the user's environment.

    :param names: what was chosen, as names or globs; None: all but what no agent is given.
    """
    environment, hidden = project.environment, _withheld(project)
    wanted = [name for name in environment if names is None or _is_in(name, names)]
    chosen = {name: environment[name] for name in wanted if not _is_in(name, hidden)}
    if STORE_VARIABLE in environment:
        # Without a word of it, a run of the agent's would change the folder's copy behind the store's back.
        chosen[STORE_VARIABLE] = "folder" if _find_store(project) is None else WITHHELD_STORE
    return chosen


def _is_in(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, each) for each in patterns)


def _find_store(project: Project) -> StoreAddress | None:
    return find_address(project.configuration.store, project.environment)[0]


def _withheld(project: Project) -> tuple[str, ...]:
    """Return the names, as globs, of what gives access to the gate's record."""
    address = _find_store(project)
    # Elsewhere they are what the user's own tests may need.
    return WITHHELD if address is None or address.kind != "postgresql" else (*WITHHELD, *_OF_DATABASE)


def mark_of(project: Project) -> str:
    """Return what every process of a list is known by: a later drive finds by it what a killed one left."""
    return hashlib.sha256(os.fsencode(os.path.realpath(project.state_folder))).hexdigest()[:32]


def with_mark(project: Project) -> Project:
    """Return the project with an environment that marks everything that is started in it."""
    marks = ":".join(filter(None, (project.environment.get(MARK), mark_of(project))))
    return replace(project, environment={**project.environment, MARK: marks})


# --- who executes and who reviews


class Team(Value):
    """Executor and reviewer: two commands, never one."""

    executor: Client
    reviewer: Client

    def names(self) -> tuple[str, str]:
        """Return by which names they report and review."""
        return f"{self.executor.name} (executor)", f"{self.reviewer.name} (reviewer)"


def make_team(executor: Client, reviewer: Client) -> Team:
    """Return the two. Raises UsageError where they are one and the same command."""
    if executor.words == reviewer.words:
        raise UsageError(
            f"executor and reviewer are the same command: {executor.shown}",
            remedy='let another one review: phase-gate drive --reviewer "...", or drive.reviewer in phase-gate.yaml',
        )
    return Team(executor=executor, reviewer=reviewer)


# --- who works in which phase of a pipeline, and who votes


Role = Literal["planner", "implementer", "auditor", "debugger"]


class Roles(Value):
    """The commands of a drive: one for all, or one for each role."""

    #: By role or phase; what is missing is done by `usual`.
    clients: Mapping[str, Client] = field(default_factory=dict)
    usual: Client
    voters: tuple[tuple[str, Client], ...] = ()

    def choose(self, workflow: Workflow, phase: Phase) -> Client:
        """Return who works in a phase."""
        if workflow.pipeline is None:
            return self.usual
        return self.clients.get(phase.name) or self.clients.get(role_of(workflow, phase)) or self.usual


def role_of(workflow: Workflow, phase: Phase) -> Role:
    """Return whose phase it is: the debugger's in a recovery, the auditor's where something is decided about the work,
    the implementer's where it is built or tested, else the planner's.
    """
    if phase.recovers:
        return "debugger"
    requires = requires_of(phase)
    described = {} if workflow.pipeline is None else workflow.pipeline.artifacts
    if any(described[name].line or described[name].schema == AUDIT for name in requires.artifacts):
        return "auditor"
    return "implementer" if phase.tests != "none" or requires.checks else "planner"


def find_roles(settings: DriveSettings, workflow: Workflow, environment: Mapping[str, str]) -> Roles:
    """Return the commands. Raises UsageError where one is missing, not there, or would vote on its own work."""
    if workflow.pipeline is None or not (settings.roles or settings.voters):
        return Roles(usual=find_client(settings.agent, environment))
    clients = {name: find_client(words, environment) for name, words in settings.roles.items()}
    usual = find_client(settings.agent, environment) if settings.agent else None
    missing = [
        phase.name
        for phase in workflow.phases
        if usual is None and phase.name not in clients and role_of(workflow, phase) not in clients
    ]
    for name in clients:
        if name.isupper() and workflow.phase(name) is None:
            known = ", ".join(each.name for each in workflow.phases)
            raise UsageError(f"drive.roles names {name}, which is no phase", remedy=f"use a role, or one of: {known}")
    if missing:
        phase = workflow.phase(missing[0])
        assert phase is not None, "it was looked at"
        raise UsageError(
            f"no one works in {missing[0]}: drive.roles names no {role_of(workflow, phase)}",
            remedy="write it, or agent: for all that is left, below drive: in phase-gate.yaml",
        )
    voters = _name_voters([find_client((text,), environment) for text in settings.voters])
    roles = Roles(clients=clients, usual=usual or next(iter(clients.values())), voters=voters)
    _refuse_own_votes(roles, workflow)
    return roles


def _name_voters(clients: list[Client]) -> tuple[tuple[str, Client], ...]:
    """Return the voters, each with a name of its own."""
    if len({client.words for client in clients}) < len(clients):
        raise UsageError("drive.roles.voters has the same command twice", remedy="let different ones vote")
    return tuple((f"{client.name} (voter {number})", client) for number, client in enumerate(clients, start=1))


def _refuse_own_votes(roles: Roles, workflow: Workflow) -> None:
    for phase in workflow.phases:
        author = roles.choose(workflow, phase)
        if requires_of(phase).consensus is not None and any(each.words == author.words for _, each in roles.voters):
            raise UsageError(
                f"{author.shown} works in {phase.name}, and would vote on its own work",
                remedy="let another command vote: drive.roles.voters in phase-gate.yaml",
            )
