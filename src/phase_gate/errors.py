"""All errors that are raised on purpose, each with a problem, a slug and a remedy."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from phase_gate import exit_codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class PhaseGateError(Exception):
    """Base of all errors that are raised on purpose. They are shown without a traceback."""

    slug: ClassVar[str] = "phase-gate-error"
    #: The explanation of the slug; empty for a base class.
    meaning: ClassVar[str] = ""
    #: The exit code of the command. The plugin turns usage and configuration errors into pytest's 4.
    exit_code: ClassVar[int] = exit_codes.COMMAND_USAGE

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.problem, self.remedy = problem, remedy

    def __str__(self) -> str:
        from phase_gate.visible import show_line  # here, not above: most starts raise nothing

        return f"{show_line(self.problem)} [{self.slug}]\n  try: {show_line(self.remedy)}"


class UsageError(PhaseGateError):
    slug = "bad-usage"
    meaning = "The command line is invalid."


class InterpreterError(PhaseGateError):
    slug = "other-interpreter"
    meaning = "Recording depends on CPython. PyPy is not supported."


class ForeignRootError(PhaseGateError):
    slug = "foreign-root"
    meaning = "Another user owns the root, and its settings could run commands as you. Trust it, or copy it."


class TaskNameError(PhaseGateError):
    slug = "bad-task-name"
    meaning = "There is no such task, or its name has characters other than letters, digits, '.', '_' and '-'."


class ConfigurationError(PhaseGateError):
    slug = "bad-configuration"
    meaning = "The settings have an unknown key or value. The message names the line."


class WorkflowError(PhaseGateError):
    slug = "bad-workflow"
    meaning = "A workflow file has an unknown key, name or value. The message names the line."


class ConditionError(PhaseGateError):
    slug = "bad-condition"
    meaning = "A condition can't be parsed, or compares different types. The message names the column."


class DocumentError(PhaseGateError):
    slug = "bad-yaml"
    meaning = "A file is not strict YAML: no tags, anchors, duplicate keys or tabs."


class CriteriaError(PhaseGateError):
    slug = "bad-criteria"
    meaning = "The acceptance criteria can't be read."


class TaskFileError(PhaseGateError):
    slug = "bad-task-file"
    meaning = "A verify task's file has an unknown element, key or value."


class MalformedResultError(PhaseGateError):
    slug = "malformed-result"
    meaning = "An executor's report or a reviewer's verdict is malformed. The message names the line."
    exit_code = exit_codes.NOT_ALLOWED


class SignalError(PhaseGateError):
    slug = "bad-signal"
    meaning = "exit-signal.yaml is malformed. Gate 2 stays closed until you fix or remove it."
    exit_code = exit_codes.NOT_ALLOWED


class ContradictionError(SignalError):
    slug = "contradictory-signal"
    meaning = "The signal is done, but names remaining work."


class VoteError(PhaseGateError):
    slug = "bad-vote"
    meaning = "A vote needs vote, confidence from 0 to 1, by, and a reason if it is not approve."
    exit_code = exit_codes.NOT_ALLOWED


class NotAllowedError(PhaseGateError):
    slug = "not-allowed"
    meaning = "Not allowed now. The message names what is missing."
    exit_code = exit_codes.NOT_ALLOWED


class PhaseOrderError(NotAllowedError):
    slug = "phase-order"
    meaning = "The workflow does not allow this phase now. The message names what is missing."


class StaleSignalError(NotAllowedError):
    slug = "stale-signal"
    meaning = "A signal is for one run on unchanged files. Something ran or changed since: signal again."


class StateError(PhaseGateError):
    """State or evidence can't be trusted or stored."""

    slug = "state-unusable"
    exit_code = exit_codes.NOT_TRUSTED


class TamperedError(StateError):
    slug = "state-tampered"
    meaning = "The ledger's chain is broken, or state.json does not match it. Nothing is overwritten."


class RollbackError(StateError):
    slug = "state-rolled-back"
    meaning = "The state folder is older than the last one you used: an old copy is back."


class ForeignStateError(StateError):
    slug = "state-foreign"
    meaning = "The ledger belongs to another task, or replaces one whose cycle is open."


class OtherSchemaError(StateError):
    slug = "state-schema"
    meaning = "Another version wrote the state. It was left unchanged."


class KeyMismatchError(StateError):
    slug = "state-key"
    meaning = "The ledger was created with PHASE_GATE_KEY, but the key is missing or different."


class KeylessError(StateError):
    slug = "state-keyless"
    meaning = "PHASE_GATE_KEY is set, but the ledger was created without a key. Start a new state folder."


class LockTimeoutError(StateError):
    slug = "lock-timeout"
    meaning = "Another run or command held the lock for too long. The message names it."


class StorageError(StateError):
    slug = "state-storage"
    meaning = "A state file can't be read or written. Your tests ran, but nothing was recorded."


class StoreUnreachableError(StorageError):
    slug = "store-unreachable"
    meaning = "The shared store does not answer. Your tests ran, but nothing was recorded."


class MovedError(StorageError):
    slug = "store-moved"
    meaning = "Another machine wrote to the task first. This change was not recorded."


class StoreBusyError(StorageError):
    slug = "store-busy"
    meaning = "Other machines kept writing to the same task. This change was not recorded."


class TooManyFilesError(StateError):
    slug = "too-many-files"
    meaning = "Without git, every file below the root is read, and there are too many."


class OutputError(StateError):
    slug = "output-lost"
    meaning = "The output could not be written. The command itself has finished."


class ShardError(StateError):
    slug = "shards-refused"
    meaning = "The shards are not one whole run: one is missing, repeated, unfinished or foreign."


class InternalFaultError(StateError):
    slug = "internal-fault"
    meaning = "A bug in this plugin. Your test results are complete, but the run could not be evaluated."


def require_cpython() -> None:
    """Raise InterpreterError for another interpreter, because recording depends on CPython."""
    if (name := sys.implementation.name) != "cpython":
        raise InterpreterError(
            f"pytest-phase-gate supports CPython only, and this is {name}",
            remedy="run it with CPython 3.11 or newer; without --phase, pytest works as usual",
        )


def as_fault(error: Exception, *, remedy: str) -> InternalFaultError:
    """Return an unexpected exception as an InternalFaultError with its file and line."""
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    place = "" if frames is None else f" ({os.path.basename(frames.tb_frame.f_code.co_filename)}:{frames.tb_lineno})"
    return InternalFaultError(f"{type(error).__name__}: {error}{place}", remedy=remedy)


def _explained(base: type[PhaseGateError]) -> Iterator[tuple[str, str]]:
    for error in base.__subclasses__():
        if error.meaning:
            yield error.slug, error.meaning
        yield from _explained(error)


#: The explanation of each slug, for `explain` and the reference.
MESSAGES: Mapping[str, str] = dict(sorted(_explained(PhaseGateError)))
