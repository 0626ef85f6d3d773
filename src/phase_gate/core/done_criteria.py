"""Whether done-criteria name something that can be looked at.

Pure. Words of no particular meaning are counted out; what is left has to be two words, a number, or a name as code
has them. In a language that we do not know nothing is vague.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
#: A number, `code`, snake_case, camelCase, CapitalLetters inside, a path, a call.
_NAMES = re.compile(r"[0-9]|`[^`]+`|\w_\w|[a-z][A-Z]|\w/\w|\w\.\w|\w\(|%")
#: Says that it is done, or how well, and not what.
_EMPTY_TEXT = """\
a an and any are as at be been but by can do does for from had has have how i if in into is it its it's just let
    must my no nor not now of on or our out over shall should so some than that the their them then there these they
    this those to too up us was we well were what when where which while who will with without would you your
    accordingly accurate all already always anything appropriate appropriately basic basically be bug bugs change
    changed changes check checked clean cleanly code complete completed completely completion correct correctly criteria
    criterion deliver delivered desired done enough error errors every everything expected fails feature features final
    finally fine finish finished fix fixed fixes fully function functional functionality functions good great
    implementation implemented implement improved item job looks made make makes met nice nicely ok okay pass passed
    passes passing perfect perfectly problem properly quality ready requirement requirements required resolved right
    runs satisfied sense ship shipped smoothly solid solution solved specified stuff succeed succeeds success successful
    successfully supposed task tasks test tested tests thing things update updated user verified verify working works
    work worked"""
_EMPTY = frozenset(_EMPTY_TEXT.split())
_ENOUGH = 2


def is_vague(done: str) -> bool:
    """Tell whether nothing in the text could be looked at."""
    if _NAMES.search(done):
        return False
    return len({word for word in _WORD.findall(done.lower()) if word not in _EMPTY}) < _ENOUGH
