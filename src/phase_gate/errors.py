"""The errors that are raised on purpose, each with a problem, a slug and a remedy.

A kind of error has a class of its own if it is caught, or raised in many places. The others are named by their slug.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from phase_gate.exit_codes import COMMAND_USAGE, NOT_ALLOWED, NOT_TRUSTED

#: The slugs by the exit code of the command, with their explanations. The plugin turns COMMAND_USAGE into pytest's 4.
_MEANINGS: Mapping[int, Mapping[str, str]] = {
    COMMAND_USAGE: {
        "bad-usage": "The command line is invalid.",
        "other-interpreter": "Recording depends on CPython. PyPy is not supported.",
        "foreign-root": "Another user owns the root, and its settings could run commands as you. Trust it, or copy it.",
        "bad-task-name": "No task has this name, or it has characters other than letters, digits, '.', '_' and '-'.",
        "bad-configuration": "The settings have an unknown key or value. The message names the line.",
        "bad-workflow": "A workflow file has an unknown key, name or value. The message names the line.",
        "bad-condition": "A condition can't be parsed, or compares different types. The message names the column.",
        "bad-yaml": "A file is not strict YAML: no tags, anchors, duplicate keys or tabs.",
        "bad-criteria": "The acceptance criteria can't be read.",
        "bad-task-file": "A verify task's file has an unknown element, key or value.",
    },
    NOT_ALLOWED: {
        "malformed-result": "An executor's report or a reviewer's verdict is malformed. The message names the line.",
        "bad-signal": "exit-signal.yaml is malformed. Gate 2 stays closed until you fix or remove it.",
        "contradictory-signal": "The signal is done, but names remaining work.",
        "bad-vote": "A vote needs vote, confidence from 0 to 1, by, and a reason if it is not approve.",
        "not-allowed": "Not allowed now. The message names what is missing.",
        "phase-order": "The workflow does not allow this phase now. The message names what is missing.",
        "stale-signal": "A signal is for one run on unchanged files. Something ran or changed since: signal again.",
    },
    NOT_TRUSTED: {
        "state-tampered": "The ledger's chain is broken, or state.json does not match it. Nothing is overwritten.",
        "state-rolled-back": "The state folder is older than the last one you used: an old copy is back.",
        "state-foreign": "The ledger belongs to another task, or replaces one whose cycle is open.",
        "state-schema": "Another version wrote the state. It was left unchanged.",
        "state-key": "The ledger was created with another PHASE_GATE_KEY, or without one. The message shows which.",
        "lock-timeout": "Another run or command held the lock for too long. The message names it.",
        "state-storage": "A state file can't be read or written. Your tests ran, but nothing was recorded.",
        "store-unreachable": "The shared store does not answer. Your tests ran, but nothing was recorded.",
        "store-moved": "Another machine wrote to the task first. This change was not recorded.",
        "store-busy": "Other machines kept writing to the same task. This change was not recorded.",
        "too-many-files": "Without git, every file below the root is read, and there are too many.",
        "output-lost": "The output could not be written. The command itself has finished.",
        "shards-refused": "The shards are not one whole run: one is missing, repeated, unfinished or foreign.",
        "internal-fault": "A bug in this plugin. Your test results are complete, but the run could not be evaluated.",
    },
}
#: The explanation of each slug, for `explain` and the reference.
MESSAGES: Mapping[str, str] = {slug: text for rows in _MEANINGS.values() for slug, text in rows.items()}


class PhaseGateError(Exception):
    """Base of all errors that are raised on purpose. They are shown without a traceback.

    :param slug: if it is not that of the class.
    """

    slug = ""

    def __init__(self, problem: str, remedy: str, *, slug: str = "") -> None:
        super().__init__(problem, remedy)
        self.problem, self.remedy, self.slug = problem, remedy, slug or self.slug

    @property
    def exit_code(self) -> int:
        return next(code for code, rows in _MEANINGS.items() if self.slug in rows)

    def __str__(self) -> str:
        from phase_gate.visible import show_line  # here, not above: most starts raise nothing

        return f"{show_line(self.problem)} [{self.slug}]\n  try: {show_line(self.remedy)}"


class UsageError(PhaseGateError):
    slug = "bad-usage"


class TaskNameError(PhaseGateError):
    slug = "bad-task-name"


class ConfigurationError(PhaseGateError):
    slug = "bad-configuration"


class WorkflowError(PhaseGateError):
    slug = "bad-workflow"


class ConditionError(PhaseGateError):
    slug = "bad-condition"


class DocumentError(PhaseGateError):
    slug = "bad-yaml"


class NotAllowedError(PhaseGateError):
    slug = "not-allowed"


class PhaseOrderError(NotAllowedError):
    slug = "phase-order"


class StaleSignalError(NotAllowedError):
    slug = "stale-signal"


class StateError(PhaseGateError):
    """State or evidence can't be trusted or stored."""


class TamperedError(StateError):
    slug = "state-tampered"


class RollbackError(StateError):
    slug = "state-rolled-back"


class ForeignStateError(StateError):
    slug = "state-foreign"


class StorageError(StateError):
    slug = "state-storage"


class StoreUnreachableError(StorageError):
    slug = "store-unreachable"


class MovedError(StorageError):
    slug = "store-moved"


def require_cpython() -> None:
    """Raise an error for another interpreter, because recording depends on CPython."""
    if (name := sys.implementation.name) != "cpython":
        raise PhaseGateError(
            f"pytest-phase-gate supports CPython only, and this is {name}",
            remedy="run it with CPython 3.11 or newer; without --phase, pytest works as usual",
            slug="other-interpreter",
        )


def as_fault(error: Exception, *, remedy: str) -> PhaseGateError:
    """Return an unexpected exception as one of our errors, with its file and line; PhaseGateError unchanged."""
    if isinstance(error, PhaseGateError):
        return error
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    place = "" if frames is None else f" ({os.path.basename(frames.tb_frame.f_code.co_filename)}:{frames.tb_lineno})"
    return StateError(f"{type(error).__name__}: {error}{place}", remedy=remedy, slug="internal-fault")
