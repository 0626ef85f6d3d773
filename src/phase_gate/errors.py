"""Every error that we raise on purpose: a problem, a slug, a remedy."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from phase_gate import exit_codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class PhaseGateError(Exception):
    """Base of every error we raise on purpose; shown without a traceback."""

    slug: ClassVar[str] = "phase-gate-error"
    #: What the command ends with. The plugin turns usage and configuration errors into pytest's 4.
    exit_code: ClassVar[int] = exit_codes.COMMAND_USAGE

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.problem, self.remedy = problem, remedy

    def __str__(self) -> str:
        from phase_gate.visible import show_line  # here, not above: most starts raise nothing

        return f"{show_line(self.problem)} [{self.slug}]\n  try: {show_line(self.remedy)}"


class UsageError(PhaseGateError):
    """The command line is invalid."""

    slug = "bad-usage"


class InterpreterError(PhaseGateError):
    """The interpreter is not CPython."""

    slug = "other-interpreter"


class ForeignRootError(PhaseGateError):
    """The project's root belongs to another user."""

    slug = "foreign-root"


class TaskNameError(PhaseGateError):
    """A task's name can't be a folder's name."""

    slug = "bad-task-name"


class ConfigurationError(PhaseGateError):
    """`phase-gate.yaml` can't be used."""

    slug = "bad-configuration"


class WorkflowError(PhaseGateError):
    """A workflow or guard file can't be used."""

    slug = "bad-workflow"


class ConditionError(PhaseGateError):
    """A condition can't be parsed, or compares what can't be compared."""

    slug = "bad-condition"


class DocumentError(PhaseGateError):
    """A YAML file is not in the form that we read."""

    slug = "bad-yaml"


class CriteriaError(PhaseGateError):
    """Acceptance criteria can't be read."""

    slug = "bad-criteria"


class TaskFileError(PhaseGateError):
    """A verify task can't be read."""

    slug = "bad-task-file"


class MalformedResultError(PhaseGateError):
    """An executor's report or a reviewer's verdict is not in its form."""

    slug = "malformed-result"
    exit_code = exit_codes.NOT_ALLOWED


class SignalError(PhaseGateError):
    """An exit signal is malformed."""

    slug = "bad-signal"
    exit_code = exit_codes.NOT_ALLOWED


class VoteError(PhaseGateError):
    """A reviewer's vote is malformed."""

    slug = "bad-vote"
    exit_code = exit_codes.NOT_ALLOWED


class NotAllowedError(PhaseGateError):
    """Allowed at another time, but not now."""

    slug = "not-allowed"
    exit_code = exit_codes.NOT_ALLOWED


class PhaseOrderError(NotAllowedError):
    """The workflow does not allow this phase now."""

    slug = "phase-order"


class StaleSignalError(NotAllowedError):
    """The signal speaks of a run or a tree that is not there any more."""

    slug = "stale-signal"


class StateError(PhaseGateError):
    """State or evidence can't be trusted or stored."""

    slug = "state-unusable"
    exit_code = exit_codes.NOT_TRUSTED


class TamperedError(StateError):
    """The ledger's chain is broken, or the state is not what the ledger gives."""

    slug = "state-tampered"


class RollbackError(StateError):
    """The state folder is older than what this user has already seen of it."""

    slug = "state-rolled-back"


class ForeignStateError(StateError):
    """The ledger is another task's, or not the one whose open cycle this user has seen here."""

    slug = "state-foreign"


class OtherSchemaError(StateError):
    """The state was written by another version, whose schema this one does not read."""

    slug = "state-schema"


class KeyMismatchError(StateError):
    """The ledger is keyed, and the key is missing or another one."""

    slug = "state-key"


class KeylessError(StateError):
    """A key is set, and the ledger was made without one: nothing vouches for it."""

    slug = "state-keyless"


class LockTimeoutError(StateError):
    """Another process held the lock for too long."""

    slug = "lock-timeout"


class StorageError(StateError):
    """The state folder can't be read or written."""

    slug = "state-storage"


class StoreUnreachableError(StorageError):
    """The shared store can't be asked."""

    slug = "store-unreachable"


class StoreUntrustedError(StateError):
    """The project's file names a store that this user has not agreed to."""

    slug = "store-untrusted"


class MovedError(StorageError):
    """Another machine has added to the task's ledger since it was read."""

    slug = "store-moved"


class StoreBusyError(StorageError):
    """Other machines were always first."""

    slug = "store-busy"


class TooManyFilesError(StateError):
    """A folder without git has more files than a run may look at."""

    slug = "too-many-files"


class OutputError(StateError):
    """What a command answered could not be written."""

    slug = "output-lost"


class ShardError(StateError):
    """The records of shards are not one whole run."""

    slug = "shards-refused"


class InternalFaultError(StateError):
    """A fault of ours: the run could not be judged."""

    slug = "internal-fault"


def require_cpython() -> None:
    """Raise InterpreterError for another interpreter: what we look at there is not what we know."""
    if (name := sys.implementation.name) != "cpython":
        raise InterpreterError(
            f"phase gate judges runs of CPython only, and this is {name}",
            remedy="run it with CPython 3.11 or newer; without --phase, pytest runs as ever",
        )


def as_fault(error: Exception, *, remedy: str) -> InternalFaultError:
    """Return what we did not foresee as an error of ours, with the place where it came up."""
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    place = "" if frames is None else f" ({os.path.basename(frames.tb_frame.f_code.co_filename)}:{frames.tb_lineno})"
    return InternalFaultError(f"{type(error).__name__}: {error}{place}", remedy=remedy)


# --- what each message's slug means, in a sentence or two: shown by `explain`, listed in the reference


MESSAGES: Mapping[str, str] = {
    "bad-condition": "A condition can't be parsed, or compares what can't be compared. The column says where.",
    "bad-configuration": "The project's settings have a key or a value that we do not know. The line says where.",
    "bad-criteria": "The acceptance criteria can't be read.",
    "bad-signal": "exit-signal.yaml is not plainly an answer. Gate 2 stays closed until its author mends it.",
    "bad-task-file": "A verify task's file has an element, a key or a value that we do not know.",
    "bad-task-name": "There is no such task, or it can't be: its name is a folder's: letters, digits and . _ - only.",
    "bad-usage": "The command line is invalid.",
    "bad-vote": "A vote's file is not plainly an answer: vote, confidence from 0 to 1, by, and a reason to object.",
    "bad-workflow": "A workflow file has a key, a name or a value that we do not know. The line says where.",
    "bad-yaml": "A file is not in the strict form of YAML that we read: no tags, anchors, duplicate keys or tabs.",
    "contradictory-signal": "The signal says done and names remaining work. One of the two is wrong.",
    "foreign-root": "The root belongs to another user, whose rules could run commands as you. Trust it, or copy it.",
    "internal-fault": "A fault of ours. Your test results are complete; the run could not be judged.",
    "lock-timeout": "Another run or command held the state's lock for too long. The message names it.",
    "malformed-result": "An executor's report or a reviewer's verdict is not in its form. The line says where.",
    "not-allowed": "Allowed at another time, but not now. The message says what is missing.",
    "other-interpreter": "How a test is recorded, and kept from tampering, rests on CPython. PyPy is not supported.",
    "output-lost": "The answer could not be written where it was sent. What the command did is done all the same.",
    "phase-order": "The workflow does not allow this phase now. The message says what is missing.",
    "shards-refused": "The records of shards are not one whole run: one is missing, repeated, unfinished or foreign.",
    "stale-signal": "A signal speaks of one run on one tree. Something ran or changed since: give it anew.",
    "state-foreign": "The ledger is another task's, or was put in the place of one whose cycle is still open.",
    "state-key": "The ledger was made with PHASE_GATE_KEY, and the key is not there, or is another one.",
    "state-keyless": "PHASE_GATE_KEY is set, and the ledger was made without a key. Begin anew with the key.",
    "state-rolled-back": "The state folder is older than what this user has already seen of it: an old copy is back.",
    "state-schema": "The state was written by another version, newer or older. Nothing was changed.",
    "state-storage": "A state file can't be read or written. Your tests ran; nothing was recorded.",
    "state-tampered": "The ledger's chain is broken, or state.json is not what it gives. Nothing is overwritten.",
    "store-busy": "Other machines wrote to the same task again and again. Nothing of this change was recorded.",
    "store-moved": "Another machine has added to the task since it was read. Nothing of this change was recorded.",
    "store-untrusted": "phase-gate.yaml names a shared store. You decide whether your results go there.",
    "store-unreachable": "The shared store can't be asked. Your tests ran, and nothing was recorded.",
    "too-many-files": "Without git every file below the root is looked at, and there are too many of them.",
}
