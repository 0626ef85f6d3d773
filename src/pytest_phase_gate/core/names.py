"""When two names are one: of people, of agents, of reviewers.

Pure. Nobody becomes somebody else by capitals, by another width of letters, by spaces, or by characters that are not
seen.
"""

from __future__ import annotations

import unicodedata


def same_name(a: str, b: str) -> bool:
    """Tell whether two names are one and the same."""
    return name_key(a) == name_key(b)


def name_key(name: str) -> str:
    """Return what names are compared by: NFKC, casefolded, one space between words, nothing invisible."""
    # Twice: what casefold makes of some letters is not normalized (U+0345, for one).
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join("".join(each for each in folded if unicodedata.category(each) != "Cf").split())
