"""The exit signal on disk: `exit-signal.yaml` in the task's folder.

Strict: exact values, known keys, a size limit. Anything else is reported as malformed.
"""

from __future__ import annotations

from json import dumps
from pathlib import Path

from phase_gate.bound import sha256
from phase_gate.errors import PhaseGateError
from phase_gate.gate.verdict import Answer, Signal
from phase_gate.storage.files import REAL, read_bytes, refusing, remove_file, write_atomically
from phase_gate.values import Value, as_dict, field, replace
from phase_gate.visible import cut

#: Real signals are far shorter; a larger file is a mistake or an attack.
MAX_SIZE = 64 * 1024

_ANSWERS: dict[str, Answer] = {
    "true": "done",
    "false": "not-done",
    "blocked": "blocked",
    "test-wrong": "test-wrong",
}
#: Values of `remaining_work` that agree with `exit_signal: true`.
_NOTHING_LEFT = ("none", "")


class SignalError(PhaseGateError):
    slug = "bad-signal"


class _Form(Value):
    """The optional keys of the file."""

    phase: str = ""
    task: str | None = None
    iteration: int | None = field(default=None, minimum=1)
    reason: str = ""
    by: str = field(default="", name=True)
    remaining_work: str = "none"


def read_signal_file(path: Path, *, spent: str | None = None) -> Signal | None:
    """Return the signal in the file, None if it is missing. Never raises, whatever the file contains.

    A signal that contradicts itself is refused, and removed like any other; a malformed file stays, to be fixed.

    :param spent: the identity of the last signal that was used. It is not read again if it is still there, because it
        could not be removed or the process died first.
    """
    identity = ""
    try:
        raw = read_bytes(path, limit=MAX_SIZE + 1)
        if raw is None:
            return None
        with refusing(path):
            identity = f"{sha256(raw).hexdigest()}:{REAL.stat(path).st_mtime_ns}"
        return None if identity == spent else replace(parse_signal(raw, name=path.name), file=identity)
    except PhaseGateError as error:
        problem = f"{error.problem}; {error.remedy}" if identity else error.problem
        contradicts = error.slug == "contradictory-signal"
        return Signal(answer="refused" if contradicts else "malformed", problem=problem, file=identity)


def parse_signal(text: str | bytes, *, name: str = "exit-signal.yaml") -> Signal:
    """Parse a signal. Raises SignalError or DocumentError if the text is invalid."""
    from phase_gate.config.documents import read_document
    from phase_gate.config.reading import Reader, Text, find

    node, reader = read_document(text, name=name, limit=MAX_SIZE), Reader(SignalError)
    form = as_dict(reader.read(_Form, node, beside=("exit_signal",)))
    given = find(node, "exit_signal")
    # Only the exact words count, not `yes`, `True`, `1` or `"true"`.
    answer = _ANSWERS.get(given) if isinstance(given, Text) and given.is_plain else None
    if answer is None:
        shown = repr(given[:40]) if isinstance(given, Text) else "not a single value"
        problem = f"exit_signal is {'missing' if given is node else shown}"
        reader.stop(given, problem, "write exit_signal: true, false, blocked or test-wrong, exactly")
    remaining = form.pop("remaining_work")
    signal = Signal(**{**form, "answer": answer, "phase": form["phase"].upper() or None})
    check_signal(signal, remaining_work=remaining, place=name)
    return signal


def check_signal(signal: Signal, *, remaining_work: str = "none", place: str = "signal") -> None:
    """Raise an error for a signal that contradicts itself, or that needs a person and has no reason."""
    if signal.answer == "done" and remaining_work.strip().lower() not in _NOTHING_LEFT:
        raise SignalError(
            f"{place}: exit_signal is true, but remaining_work is: {cut(remaining_work)!r}",
            remedy="finish the work, or write exit_signal: false",
            slug="contradictory-signal",
        )
    if signal.answer in ("blocked", "test-wrong") and not signal.reason.strip():
        raise SignalError(f"{place}: {signal.answer} needs a reason", remedy="state what a person has to decide")


def write_signal_file(path: Path, signal: Signal) -> None:
    """Write the signal for the next evaluation. Raises as `parse_signal` does if it could not be read back."""
    content = f"exit_signal: {next(text for text, answer in _ANSWERS.items() if answer == signal.answer)}\n"
    for name in ("phase", "task", "iteration", "reason", "by"):
        if value := getattr(signal, name):
            # Every JSON string is a valid YAML string.
            content += f"{name}: {dumps(value, ensure_ascii=False)}\n"
    parse_signal(content, name=path.name)
    write_atomically(REAL, path, content.encode())


def remove_signal_file(path: Path, read: Signal | None, *, spent: str | None = None) -> None:
    """Remove the file that was read, or the spent one in its place. A signal that was written since stays.

    :param read: what `read_signal_file` returned.
    """
    found = read_signal_file(path)
    if found is not None and found.file == (spent if read is None else read.file):
        remove_file(path)
