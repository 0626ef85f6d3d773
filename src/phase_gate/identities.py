"""Compare names of people and agents, and check texts that people type.

Pure. Names that differ only in case, in wide letters or in invisible characters are the same, so that an executor can't
pose as the reviewer. Similar letters of other scripts are not recognized.
"""

from __future__ import annotations

from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.visible import find_unseen, strip_unseen


def same_name(a: str, b: str) -> bool:
    """Return whether two names are the same."""
    return name_key(a) == name_key(b)


def name_key(name: str) -> str:
    """Return the form in which names are compared: NFKC, casefolded, single spaces, nothing invisible."""
    import unicodedata  # here, not above: most starts compare no names

    # Twice, because the casefolded form of some letters, such as U+0345, is not normalized.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    words = (strip_unseen(word) for word in folded.split())
    return " ".join(word for word in words if word)


def author_of(document: str, *, signed: str, given: str | None) -> str:
    """Return the author of a document, by its signature or the option --by; empty without both.

    Raises NotAllowedError if they differ: otherwise one agent could use two names.
    """
    if given and signed and not same_name(given, signed):
        raise NotAllowedError(
            f"{document} is signed by {signed}, but --by is {given}",
            remedy=f"leave --by out if it is from {signed}; otherwise let {given} write it",
        )
    return given or signed


def find_name_fault(name: str) -> str:
    """Return the problem with a name; empty if it is fine."""
    # Including joiners: a name looks the same with and without them.
    odd = next((each for each in name if not strip_unseen(each)), None)
    return "" if odd is None else f"it contains the invisible character U+{ord(odd):04X}"


# --- texts from the command line, which people read later, so they must not contain invisible characters


#: Placeholders in messages.
_TO_FILL_IN = frozenset({"...", "NAME", "TEXT", "REASON", "WHY"})


def refuse_placeholder(name: str, text: str | None) -> None:
    """Raise UsageError for a placeholder that was copied from a message."""
    if text is not None and text.strip() in _TO_FILL_IN:
        raise UsageError(f"{name} {text.strip()}: this is a placeholder", remedy=f"put your own words behind {name}")


def check_sentence(name: str, text: str) -> str:
    """Return a reason or a remark in one line: many are written in several. Raises UsageError.

    :param name: the option that it was given with.
    """
    rows = text.replace("\r\n", "\n").replace("\t", " ").split("\n")
    sentence = " ".join(row.strip(" ") for row in rows).strip(" ")
    if odd := find_unseen(sentence):
        raise _refusal(name, f"it contains the invisible character {odd}")
    return sentence


def check_value(name: str, text: str) -> str:
    """Return a name or a value as it is. Raises UsageError for what a reader would not see, line ends too."""
    if fault := find_name_fault(text):
        raise _refusal(name, fault)
    return text


def _refusal(name: str, fault: str) -> UsageError:
    return UsageError(f"{name} can't be used: {fault}", remedy="type it again, without that character")
