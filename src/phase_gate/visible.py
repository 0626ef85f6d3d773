"""What a reader can't see in a text, or what would change how the rest is read; and how it is shown instead.

Pure. Names, reasons and files come from outside. A terminal obeys some characters, a CI system obeys some lines, and
others have no look at all: two texts that differ in them alone seem the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from phase_gate.errors import NotAllowedError, UsageError

#: Controls, marks of direction, line ends that editors do not show as such, halves of surrogate pairs, what is no
#: character at all, and everything that Unicode calls ignorable by default; blanks that are letters or signs, too.
_UNSEEN = (
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
#: Below it, Python calls all of them unprintable.
_FIRST_PRINTABLE = "\u034f"
#: Between two letters of a script that joins them, or two parts of one emoji, these belong to the word.
_JOINERS = "\u200c\u200d"
_FIRST_JOINED = "\u0600"
#: Behind a sign that has two looks, these choose the look.
_LOOKS = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"

#: What CI systems take for an order: GitHub `::error::`, `##[error]`; Azure `##vso[...]`; TeamCity `##teamcity[...]`.
_ORDER_ANYWHERE = r"#(?=#[A-Za-z]*+\[)"
_ORDER = rf"^[^\S\n]*+:(?=:)|{_ORDER_ANYWHERE}"


def find_unseen(text: str, *, but: str = "") -> str | None:
    """Return the first character that a reader would not see, as `U+202E`; None if there is none.

    :param but: characters that are allowed.
    """
    if _is_plain(text):
        return None
    found = next(_unseen(text, but), None)
    return None if found is None else f"U+{ord(found[0]):04X}"


def strip_unseen(text: str) -> str:
    """Return the text without what a reader would not see, joiners and all."""
    return text if _is_plain(text) else _unseen_pattern().sub("", text)


def show_text(text: str) -> str:
    """Return a text of several lines as it may be printed: all is visible, and no line is an order to a CI system."""
    return _defuse(_show(text, but="\n\t"))


def show_line(text: str) -> str:
    """Return a text as one line that may be printed; line ends and tabs become spaces."""
    return _defuse(_show(text.replace("\r\n", " ").replace("\n", " ").replace("\t", " ")))


def show_rows(rows: Iterable[str]) -> str:
    """Return rows as they may be printed, each in one line: no text in one of them can pass for another."""
    return "\n".join(map(show_line, rows))


#: Our symbols, with ASCII replacements for terminals with a limited code page.
_PLAIN_SIGNS = str.maketrans({"·": "-", "…": "...", "✓": "+", "✗": "-", "–": "-", "’": "'", "“": '"', "”": '"'})


def fit_encoding(text: str, encoding: str | None) -> str:
    """Return the text with plain signs, if a stream can't show it with ours."""
    if text.isascii():
        return text
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.translate(_PLAIN_SIGNS)
    return text


def cut(text: str, at_most: int = 60) -> str:
    """Return the text, without its end where it would flood a message."""
    return text if len(text) <= at_most else f"{text[: at_most - 1]}…"


def escape_orders(document: str) -> str:
    """Return a JSON document in ASCII that means the same and gives no orders: a sign in a string may be an escape."""
    document = document.replace("\x7f", "\\u007f")
    return re.sub(_ORDER_ANYWHERE, r"\\u0023", document) if "##" in document else document


def _defuse(text: str) -> str:
    """Return the text with the first sign of every order to a CI system shown as an escape."""
    if "::" not in text and "##" not in text:
        return text
    return re.sub(_ORDER, lambda found: f"{found[0][:-1]}{_escape(found[0][-1])}", text, flags=re.MULTILINE)


def _show(text: str, but: str = "") -> str:
    if _is_plain(text.replace("\n", "") if "\n" in but else text):
        return text
    pieces, end = [], 0
    for found in _unseen(text, but):
        pieces += [text[end : found.start()], _escape(found[0])]
        end = found.end()
    return "".join([*pieces, text[end:]]) if pieces else text


def _is_plain(text: str) -> bool:
    """Return whether a text is surely harmless. A cheap test that is nearly always true."""
    return text.isprintable() and (text.isascii() or max(text) < _FIRST_PRINTABLE)


@cache
def _unseen_pattern() -> re.Pattern[str]:
    # Half a millisecond: more than `check` spends on anything else of this kind.
    return re.compile(_UNSEEN)


def _unseen(text: str, but: str) -> Iterator[re.Match[str]]:
    for found in _unseen_pattern().finditer(text):
        if found[0] not in but and not _belongs(text, found.start()):
            yield found


def _belongs(text: str, place: int) -> bool:
    """Return whether the character belongs to the spelling of the characters around it."""
    character, before, after = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if character in _LOOKS:
        return after == _KEYCAP if before.isascii() else _is_seen(before)
    if character in _JOINERS:
        before = text[place - 2 : place - 1] if before and before in _LOOKS else before
        return before >= _FIRST_JOINED <= after and _is_seen(before) and _is_seen(after)
    return False


def _is_seen(character: str) -> bool:
    return character != "" and _unseen_pattern().match(character) is None


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def count(number: int, noun: str) -> str:
    """Return `1 test`, `2 tests`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def count_good(number: int) -> str:
    """Return `1 event is good`, `2 events are good`."""
    return f"{count(number, 'event')} {'is' if number == 1 else 'are'} good"


def name_first(names: Iterable[str], at_most: int = 3, *, beside: int = 0) -> str:
    """Return `a, b, c and 4 more`.

    :param beside: how many there are whose names are not known here.
    """
    rows = [*names]
    more = len(rows[at_most:]) + beside
    return ", ".join(rows[:at_most]) + (f" and {more} more" if more else "")


# --- names of people and agents: two that differ only in case, in wide letters or in what is invisible are the same, so
# that an executor can't pose as the reviewer. Similar letters of other scripts are not recognized


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


# --- how many columns a text takes on a terminal: letters of Chinese, Japanese and Korean take two, marks that combine
# with the letter before them none


#: Joins parts of one emoji, and chooses between two looks of a sign.
_NO_COLUMN = "\u200d\ufe0e\ufe0f"


def width_of(text: str) -> int:
    if text.isascii():
        return len(text)
    columns, joins = 0, False
    for character in text:
        if not joins:
            columns += _columns(character)
        joins = character == "\u200d"
    return columns


def _columns(character: str) -> int:
    import unicodedata  # here, not above: most texts are ASCII

    if character in _NO_COLUMN or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, width: int) -> str:
    """Return the text with blanks behind it, as `str.ljust` gives it where each character takes one column."""
    return text + " " * max(0, width - width_of(text))


def shorten_start(text: str, width: int) -> str:
    """Return as much of the end of a text as fits."""
    start = len(text)
    while start and width_of(text[start - 1 :]) <= width:
        start -= 1
    return text[start:]


def wrap(text: str, width: int) -> list[str]:
    """Return the text in rows of at most so many columns.

    No word is broken: names, ids and commands can be copied.
    """
    if text.isascii():
        import textwrap  # here, not above: `check` wraps nothing

        return textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False)
    rows: list[str] = []
    for word in text.split():
        if rows and width_of(rows[-1]) + 1 + width_of(word) <= width:
            rows[-1] = f"{rows[-1]} {word}"
        else:
            rows.append(word)
    return rows
