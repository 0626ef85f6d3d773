"""Names of people and agents: when two of them are one; and texts that people type.

Pure. A reviewer who differs from the executor by a capital, a wide letter or a character without a look is the
executor. Letters of other scripts that only look alike are not recognised.
"""

from __future__ import annotations

from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.visible import find_unseen, strip_unseen


def same_name(a: str, b: str) -> bool:
    """Tell whether two names are one and the same."""
    return name_key(a) == name_key(b)


def name_key(name: str) -> str:
    """Return what names are compared by: NFKC, casefolded, one space between words, nothing invisible."""
    import unicodedata  # here, not above: most starts compare no names

    # Twice: what casefold makes of some letters is not normalized (U+0345, for one).
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    words = (strip_unseen(word) for word in folded.split())
    return " ".join(word for word in words if word)


def author_of(document: str, *, signed: str, given: str | None) -> str:
    """Return who a document is from: as it is signed, or as the call says; empty where neither does.

    Raises NotAllowedError for two names: else one could sign by the name that is allowed to, and hand in by the other.
    """
    if given and signed and not same_name(given, signed):
        raise NotAllowedError(
            f"{document} is signed by {signed}, and --by says {given}",
            remedy=f"leave --by out if it is {signed}'s; else let {given} write it",
        )
    return given or signed


def find_name_fault(name: str) -> str:
    """Return what is wrong with a name; empty if nothing is."""
    # Joiners too, wherever they stand: a name with one and a name without look the same.
    odd = next((each for each in name if not strip_unseen(each)), None)
    return "" if odd is None else f"the character U+{ord(odd):04X} in it can't be seen"


# --- texts that are typed on a command line and read by people later: they may hide nothing


#: What messages show where something has to be filled in.
_TO_FILL_IN = frozenset({"...", "NAME", "TEXT", "REASON", "WHY"})


def refuse_placeholder(name: str, text: str | None) -> None:
    """Raise UsageError for a text that was copied from a message as it stands there."""
    if text is not None and text.strip() in _TO_FILL_IN:
        raise UsageError(f"{name} {text.strip()}: this is a placeholder", remedy=f"put your own words behind {name}")


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
