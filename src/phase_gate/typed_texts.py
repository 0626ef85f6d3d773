"""Texts that are typed on a command line and read by people later: they may hide nothing. Pure."""

from __future__ import annotations

from phase_gate.errors import UsageError
from phase_gate.names import find_name_fault
from phase_gate.visible import find_unseen


def check_sentence(name: str, text: str) -> str:
    """Return a reason or a remark in one line: many are written in several. Raises UsageError.

    :param name: the option that it was given with.
    """
    rows = text.replace("\r\n", "\n").replace("\t", " ").split("\n")
    return check_lines(name, " ".join(row.strip(" ") for row in rows).strip(" "))


def check_lines(name: str, text: str) -> str:
    """Return a text of several lines as it is. Raises UsageError for what a reader would not see."""
    if odd := find_unseen(text, but="\n\t"):
        raise _refusal(name, f"the character {odd} in it can't be seen")
    return text


def check_value(name: str, text: str) -> str:
    """Return a name or a value as it is. Raises UsageError for what a reader would not see, line ends too."""
    if fault := find_name_fault(text):
        raise _refusal(name, fault)
    return text


def _refusal(name: str, fault: str) -> UsageError:
    return UsageError(f"{name} can't be used: {fault}", remedy="type it anew, without that character")
