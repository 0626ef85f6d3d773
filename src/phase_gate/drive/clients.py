"""The agent's program: a client by name, or any command line; its environment; who works in which phase."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from phase_gate.agents.agent_table import AGENT_NAMES, load_agent
from phase_gate.errors import UsageError
from phase_gate.project import STORE_VARIABLE, Project
from phase_gate.stores.choosing import WITHHELD, find_address
from phase_gate.values import Value, field, replace
from phase_gate.workflow.model import Workflow, requires_of
from phase_gate.workflow.sections import DriveSettings

#: Placeholders in a command line for the prompt's file and for the prompt's text.
FILE, TEXT = "{prompt}", "{text}"

#: Variables that agents never get.
_WITHHELD = ("PHASE_GATE_KEY", "PHASE_GATE_STORE*")
#: Variables with which libpq opens a database, in addition to the address.
_OF_DATABASE = ("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSSLKEY", "PGSSLPASSWORD", "PGOAUTH*")


class Client(Value):
    """An agent's command line."""

    words: tuple[str, ...]
    #: Its name as a reviewer.
    title: str = ""

    @property
    def name(self) -> str:
        return self.title or Path(self.words[0]).name

    @property
    def is_known(self) -> bool:
        """Whether we know this client by name, and so the format of its error reports."""
        return Path(self.words[0]).name in AGENT_NAMES

    @property
    def reads_stdin(self) -> bool:
        return not any(FILE in word or TEXT in word for word in self.words)

    def fill(self, prompt: Path) -> list[str]:
        """Return the command line with its placeholders filled in."""
        text = prompt.read_text(encoding="utf-8") if any(TEXT in word for word in self.words) else ""
        return [word.replace(FILE, str(prompt)).replace(TEXT, text) for word in self.words]


def find_client(words: Sequence[str], environment: Mapping[str, str]) -> Client:
    """Return the client. Raises UsageError if none is named, or its program is not installed.

    :param words: the name of a known client, a command line in one string, or its words.
    """
    if not words:
        tasks = "to drive a list of tasks, first: phase-gate verify start --task-file FILE"
        remedy = f"phase-gate drive -- claude -p, or write drive: {{agent: claude}} in the settings; {tasks}"
        raise UsageError("no agent is named", remedy=remedy)
    if len(words) == 1 and words[0] in AGENT_NAMES:
        name, words = words[0], load_agent(words[0]).headless
        if not words:
            known = ", ".join(each for each in AGENT_NAMES if load_agent(each).headless)
            raise UsageError(f"{name} can't be started without a person", remedy=f"use one of: {known}")
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


# --- the agent's environment


def choose_environment(project: Project) -> dict[str, str]:
    """Return the agent's environment: the user's, without anything that gives access to the gate's record."""
    environment = project.environment
    address = find_address(environment)
    # Without a database, the user's own tests may need these variables.
    hidden = _WITHHELD if address is None or address.kind != "postgresql" else (*_WITHHELD, *_OF_DATABASE)
    chosen = {name: value for name, value in environment.items() if not any(fnmatchcase(name, each) for each in hidden)}
    if STORE_VARIABLE in environment:
        # Without this variable, a test run by the agent would change the folder's copy and bypass the store.
        chosen[STORE_VARIABLE] = "folder" if address is None else WITHHELD
    return chosen


# --- the commands of a cycle, a pipeline, or a list of verify tasks


class Roles(Value):
    #: By phase. `usual` does the rest.
    clients: Mapping[str, Client] = field(default_factory=dict)
    usual: Client
    reviewers: tuple[Client, ...] = ()

    def choose(self, phase: str) -> Client:
        """Return the client that works in a phase."""
        return self.clients.get(phase, self.usual)


def find_roles(settings: DriveSettings, workflow: Workflow | None, environment: Mapping[str, str]) -> Roles:
    """Return the commands. Raises UsageError if one is missing, not installed, or would review its own work.

    :param workflow: of a cycle or a pipeline; None for a list of verify tasks.
    """
    phases = () if workflow is None else workflow.phases
    names = [phase.name for phase in phases]
    for name in settings.phases if names else ():
        if name not in names:
            raise UsageError(f"drive.phases has {name}, which is no phase", remedy=f"use one of: {', '.join(names)}")
    reviewers = [find_client((text,), environment) for text in settings.reviewers]
    roles = Roles(
        clients={name: find_client(words, environment) for name, words in settings.phases.items()},
        usual=find_client(settings.agent, environment),
        reviewers=tuple(
            replace(client, title=f"{client.name} (reviewer {number})")
            for number, client in enumerate(reviewers, start=1)
        ),
    )
    commands = [client.words for client in reviewers]
    if len(set(commands)) < len(commands):
        raise UsageError("drive.reviewers has the same command twice", remedy="let different ones review")
    if workflow is None and not commands:
        raise UsageError("no reviewer is named", remedy="write drive: {reviewers: codex} in the settings")
    reviewed = [phase.name for phase in phases if requires_of(phase).consensus is not None] if phases else ["the list"]
    for name in reviewed:
        author = roles.choose(name).words
        if author in commands:
            raise UsageError(
                f"{shlex.join(author)} works in {name}, and would review its own work",
                remedy="let another command review: drive.reviewers in the settings",
            )
    return roles
