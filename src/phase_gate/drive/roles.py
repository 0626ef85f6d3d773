"""Who works in which phase of a pipeline: a command for each role, or for a phase by its name; and who votes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from phase_gate.drive.clients import Client, find_client
from phase_gate.errors import UsageError
from phase_gate.values import Value, field
from phase_gate.workflow.model import AUDIT, Phase, Workflow, requires_of
from phase_gate.workflow.settings import DriveSettings

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
