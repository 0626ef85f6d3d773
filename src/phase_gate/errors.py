"""Every error that we raise on purpose: a problem, a slug, a remedy."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from phase_gate import exit_codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class PhaseGateError(Exception):
    """Base of every error we raise on purpose; shown without a traceback."""

    slug: ClassVar[str] = "phase-gate-error"
    #: What happened, for a reader who looks the slug up; empty for what is only a base of others.
    meaning: ClassVar[str] = ""
    #: What the command ends with. The plugin turns usage and configuration errors into pytest's 4.
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
    meaning = "How a test is recorded, and kept from tampering, rests on CPython. PyPy is not supported."


class ForeignRootError(PhaseGateError):
    slug = "foreign-root"
    meaning = "The root belongs to another user, whose rules could run commands as you. Trust it, or copy it."


class TaskNameError(PhaseGateError):
    slug = "bad-task-name"
    meaning = "There is no such task, or it can't be: its name is a folder's: letters, digits and . _ - only."


class ConfigurationError(PhaseGateError):
    slug = "bad-configuration"
    meaning = "The project's settings have a key or a value that we do not know. The line says where."


class WorkflowError(PhaseGateError):
    slug = "bad-workflow"
    meaning = "A workflow file has a key, a name or a value that we do not know. The line says where."


class ConditionError(PhaseGateError):
    slug = "bad-condition"
    meaning = "A condition can't be parsed, or compares what can't be compared. The column says where."


class DocumentError(PhaseGateError):
    slug = "bad-yaml"
    meaning = "A file is not in the strict form of YAML that we read: no tags, anchors, duplicate keys or tabs."


class CriteriaError(PhaseGateError):
    slug = "bad-criteria"
    meaning = "The acceptance criteria can't be read."


class TaskFileError(PhaseGateError):
    slug = "bad-task-file"
    meaning = "A verify task's file has an element, a key or a value that we do not know."


class MalformedResultError(PhaseGateError):
    slug = "malformed-result"
    meaning = "An executor's report or a reviewer's verdict is not in its form. The line says where."
    exit_code = exit_codes.NOT_ALLOWED


class SignalError(PhaseGateError):
    slug = "bad-signal"
    meaning = "exit-signal.yaml is not plainly an answer. Gate 2 stays closed until its author mends it."
    exit_code = exit_codes.NOT_ALLOWED


class ContradictionError(SignalError):
    slug = "contradictory-signal"
    meaning = "The signal says done and names remaining work. One of the two is wrong."


class VoteError(PhaseGateError):
    slug = "bad-vote"
    meaning = "A vote's file is not plainly an answer: vote, confidence from 0 to 1, by, and a reason to object."
    exit_code = exit_codes.NOT_ALLOWED


class NotAllowedError(PhaseGateError):
    slug = "not-allowed"
    meaning = "Allowed at another time, but not now. The message says what is missing."
    exit_code = exit_codes.NOT_ALLOWED


class PhaseOrderError(NotAllowedError):
    slug = "phase-order"
    meaning = "The workflow does not allow this phase now. The message says what is missing."


class StaleSignalError(NotAllowedError):
    slug = "stale-signal"
    meaning = "A signal speaks of one run on one tree. Something ran or changed since: give it anew."


class StateError(PhaseGateError):
    """State or evidence can't be trusted or stored."""

    slug = "state-unusable"
    exit_code = exit_codes.NOT_TRUSTED


class TamperedError(StateError):
    slug = "state-tampered"
    meaning = "The ledger's chain is broken, or state.json is not what it gives. Nothing is overwritten."


class RollbackError(StateError):
    slug = "state-rolled-back"
    meaning = "The state folder is older than what this user has already seen of it: an old copy is back."


class ForeignStateError(StateError):
    slug = "state-foreign"
    meaning = "The ledger is another task's, or was put in the place of one whose cycle is still open."


class OtherSchemaError(StateError):
    slug = "state-schema"
    meaning = "The state was written by another version, newer or older. Nothing was changed."


class KeyMismatchError(StateError):
    slug = "state-key"
    meaning = "The ledger was made with PHASE_GATE_KEY, and the key is not there, or is another one."


class KeylessError(StateError):
    slug = "state-keyless"
    meaning = "PHASE_GATE_KEY is set, and the ledger was made without a key. Begin anew with the key."


class LockTimeoutError(StateError):
    slug = "lock-timeout"
    meaning = "Another run or command held the state's lock for too long. The message names it."


class StorageError(StateError):
    slug = "state-storage"
    meaning = "A state file can't be read or written. Your tests ran; nothing was recorded."


class StoreUnreachableError(StorageError):
    slug = "store-unreachable"
    meaning = "The shared store can't be asked. Your tests ran, and nothing was recorded."


class StoreUntrustedError(StateError):
    slug = "store-untrusted"
    meaning = "The project's settings name a shared store. You decide whether your results go there."


class MovedError(StorageError):
    slug = "store-moved"
    meaning = "Another machine has added to the task since it was read. Nothing of this change was recorded."


class StoreBusyError(StorageError):
    slug = "store-busy"
    meaning = "Other machines wrote to the same task again and again. Nothing of this change was recorded."


class TooManyFilesError(StateError):
    slug = "too-many-files"
    meaning = "Without git every file below the root is looked at, and there are too many of them."


class OutputError(StateError):
    slug = "output-lost"
    meaning = "The answer could not be written where it was sent. What the command did is done all the same."


class ShardError(StateError):
    slug = "shards-refused"
    meaning = "The records of shards are not one whole run: one is missing, repeated, unfinished or foreign."


class InternalFaultError(StateError):
    slug = "internal-fault"
    meaning = "A fault of ours. Your test results are complete; the run could not be judged."


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


def _explained(base: type[PhaseGateError]) -> Iterator[tuple[str, str]]:
    for error in base.__subclasses__():
        if error.meaning:
            yield error.slug, error.meaning
        yield from _explained(error)


#: What each message's slug means, in a sentence or two: shown by `explain`, listed in the reference.
MESSAGES: Mapping[str, str] = dict(sorted(_explained(PhaseGateError)))
