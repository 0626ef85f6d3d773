"""The exit signal on disk: `exit-signal.yaml` in the task's folder.

Strict: exact values, known keys, a size limit. What is not plainly an answer is malformed, and that is said.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.errors import ContradictionError, PhaseGateError, SignalError
from phase_gate.gate.order import shorten
from phase_gate.gate.signals import Given, Signal
from phase_gate.hashing import sha256
from phase_gate.storage.files import REAL, read_bytes, refuse, remove_file, write_atomically
from phase_gate.values import Value

if TYPE_CHECKING:
    from phase_gate.config.fields import Fields

#: No honest answer is longer; a larger file is a mistake or an attack.
MAX_SIZE = 64 * 1024

_ANSWERS: dict[str, Given] = {
    "true": "done",
    "false": "not-done",
    "blocked": "blocked",
    "test-wrong": "test-wrong",
}
#: What `remaining_work` may say beside `exit_signal: true`.
_NOTHING_LEFT = ("none", "")


class SignalFile(Value):
    """What the file says: a signal, or the problem with it."""

    #: Tells this file from any other that was or will be here, one with the same words among them.
    identity: str
    signal: Signal | None = None
    problem: str = ""
    #: What to write instead.
    expected: str = ""
    #: True if it contradicts itself: it is taken away like a signal, where a malformed one waits for its author.
    contradicts: bool = False
    #: True if it could not even be read: nothing is known of it, and it is left alone.
    is_unreadable: bool = False

    @property
    def is_malformed(self) -> bool:
        return self.signal is None and not self.contradicts

    @property
    def explained(self) -> str:
        """The problem, and what is expected instead."""
        return "; ".join(filter(None, (self.problem, self.expected)))


def read_signal_file(path: Path, *, spent: str | None = None) -> SignalFile | None:
    """Return what stands there, None if nothing does. Never raises for what is in it.

    :param spent: the identity of the one that was read last. It may still lie there, if it could not be taken away or
        the process died first; it is not read again.
    """
    try:
        raw = read_bytes(path, limit=MAX_SIZE + 1)
    except PhaseGateError as error:
        return SignalFile(identity="", problem=error.problem, is_unreadable=True)
    if raw is None:
        return None
    try:
        changed = REAL.stat(path).st_mtime_ns
    except OSError as error:
        return SignalFile(identity="", problem=refuse(path, error).problem, is_unreadable=True)
    identity = f"{sha256(raw).hexdigest()}:{changed}"
    if identity == spent:
        return None
    try:
        signal = parse_signal(raw, name=path.name)
    except ContradictionError as error:
        return SignalFile(identity=identity, problem=error.problem, expected=error.remedy, contradicts=True)
    except PhaseGateError as error:
        return SignalFile(identity=identity, problem=error.problem, expected=error.remedy)
    return SignalFile(identity=identity, signal=signal)


def parse_signal(text: str | bytes, *, name: str = "exit-signal.yaml") -> Signal:
    """Return the signal in this text. Raises SignalError (or DocumentError) if it is none."""
    from phase_gate.config.fields import Fields
    from phase_gate.config.yaml import read_document

    return _read_signal(Fields(read_document(text, name=name, limit=MAX_SIZE), file=name, error=SignalError))


def _read_signal(fields: Fields) -> Signal:
    from phase_gate.config.yaml import YamlScalar

    node = fields.node_of("exit_signal")
    # Truthy is not true: `yes`, `True`, `1` and `"true"` are what people write who were not asked exactly.
    answer = _ANSWERS.get(node.text) if isinstance(node, YamlScalar) and node.is_plain else None
    if answer is None:
        said = repr(node.text[:40]) if isinstance(node, YamlScalar) else "nothing that is one value"
        raise SignalError(
            f"{fields.place('exit_signal')}: exit_signal is {said if node is not None else 'missing'}",
            remedy="write exit_signal: true, false, blocked or test-wrong, exactly",
        )
    phase = fields.text("phase", None)
    signal = Signal(
        answer=answer,
        phase=None if phase is None else phase.upper(),
        task=fields.text("task", None),
        iteration=fields.integer("iteration", None, minimum=1),
        reason=fields.text("reason", ""),
        by=fields.name("by", ""),
    )
    remaining = fields.text("remaining_work", "none")
    fields.finish()
    check_signal(signal, remaining_work=remaining, place=fields.file)
    return signal


def check_signal(signal: Signal, *, remaining_work: str = "none", place: str = "signal") -> None:
    """Refuse a signal that contradicts itself, or that asks for a person without saying why."""
    if signal.answer == "done" and remaining_work.strip().lower() not in _NOTHING_LEFT:
        raise ContradictionError(
            f"{place}: it says done, and that work remains: {shorten(remaining_work)}",
            remedy="finish the work, or say exit_signal: false",
        )
    if signal.answer in ("blocked", "test-wrong") and not signal.reason.strip():
        raise SignalError(f"{place}: {signal.answer} needs a reason", remedy="say what a person has to decide")


def write_signal_file(path: Path, signal: Signal) -> None:
    """Write the signal for the next evaluation. Raises like `parse_signal` for one that could not be read back."""
    content = "\n".join(_rows_of(signal)) + "\n"
    parse_signal(content, name=path.name)
    write_atomically(REAL, path, content.encode())


def _rows_of(signal: Signal) -> list[str]:
    import json

    value = {answer: text for text, answer in _ANSWERS.items()}[signal.answer]
    rows = [f"exit_signal: {value}"]
    for name in ("phase", "task", "reason", "by"):
        text = getattr(signal, name)
        if text:
            # A JSON string is a YAML string, whatever is in it.
            rows.append(f"{name}: {json.dumps(text, ensure_ascii=False)}")
    if signal.iteration is not None:
        rows.append(f"iteration: {signal.iteration}")
    return rows


def remove_signal_file(path: Path) -> None:
    remove_file(path)
