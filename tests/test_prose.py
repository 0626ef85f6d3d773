"""Data before prose, and plain English.

No code parses its own sentences: where it cuts or searches text, the text is from another program. Documentation,
schemas and the code of packages on a list have no words from another list.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import phase_gate

SOURCE = Path(phase_gate.__file__).parent

_CUTS = frozenset(
    {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "rsplit", "find"}
    | {"index", "rfind", "rindex", "count"}
)
#: Two words, a word with a colon behind it, or the second line of an answer.
_PROSE = re.compile(r"[A-Za-z]{2,} [A-Za-z]|[a-z]{2,}: ?$|\n\s+[a-z]+:")

#: Texts of other programs, or texts that are not sentences: file and searched text.
REVIEWED = {
    ("agents/tools.py", "*** Begin Patch"): "how a patch begins that an agent gives to its tool",
    ("cli/doctor.py", "phase-gate: "): "what a hook that was run as a process prints for VS Code",
    ("config/documents.py", "mapping values"): "a message of PyYAML",
    ("gate/measuring.py", "Failed: "): "what pytest says of a module that it refuses",
    ("storage/git_command.py", "gitdir:"): "a file of git's",
    ("proof/sandbox_runs.py", "error: "): "what pytest says of its options, for people",
}


def find_prose(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield where a text is cut or searched by words, and the words."""
    for node in ast.walk(tree):
        looked_for: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CUTS:
            looked_for = node.args
        elif isinstance(node, ast.Compare) and any(isinstance(each, ast.In | ast.NotIn) for each in node.ops):
            looked_for = [node.left]
        for text in (text for each in looked_for for text in _texts(each)):
            if _PROSE.search(text):
                yield looked_for[0].lineno, text


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield from (text for each in node.values for text in _texts(each))
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        yield from (text for each in node.elts for text in _texts(each))


def test_no_code_reads_its_own_sentences() -> None:
    found = {
        (path.relative_to(SOURCE).as_posix(), text): line
        for path in sorted(SOURCE.rglob("*.py"))
        for line, text in find_prose(ast.parse(path.read_text(encoding="utf-8")))
    }
    new = [f"{file}:{line}: {text!r}" for (file, text), line in found.items() if (file, text) not in REVIEWED]
    assert not new, f"ask a value instead of a sentence, or review the place: {new}"
    assert not REVIEWED.keys() - found.keys(), "a reviewed place is gone"


# --- the English of the documentation, and of the code

ROOT = Path(__file__).parent.parent
#: Archaic, translated or British words, and what a technical writer would use instead.
WORDS = {
    r"anew": "again",
    r"mend(?:s|ed|ing)?": "fix",
    r"beside|besides": "next to, in addition to",
    r"whoever|nobody|anybody|somebody": "name the role, or say you",
    r"at hand|all the same|in vain|to and fro|by now|in words": "leave it out, or say it plainly",
    r"otherwise than": "differently from",
    r"speaks? of": "is about",
    r"stands (?:in|on|for|at|behind|above|below)|stand (?:in|on|at|behind|above|below)": "is in",
    r"behaviours?|colours?|licence|neighbours?|judgement|artefacts?|favou?rite|catalogue": "American spelling",
    r"(?:recogn|organ|parametr|summar|normal|initial|final)is(?:e|es|ed|ing)": "American spelling",
}
#: Habits that only code has, because it is written for those who know it.
CODE_WORDS = {
    r"says?|said|told": "shows, reports, requires, contains",
    r"stands?|stood": "is, is in",
    r"lies?|lay": "is in",
    r"goes on|go on|going on": "continues, is running",
    r"tells? whether|says? whether": "return whether",
    r"of ours": "our, the state folder's",
}
#: Every package and module of the sources.
PLACES = sorted(each.name for each in SOURCE.iterdir() if any(each.rglob("*.py")) or each.suffix == ".py")
_FOREIGN = re.compile(r"<!-- generated.*?<!-- end -->|^```.*?^```|`[^`\n]+`|\]\([^)]*\)|:param \w+:", re.M | re.S)


def odd_words(text: str, words: Mapping[str, str] = WORDS) -> list[str]:
    """Return the words of a page that are on the list; code, output and generated parts left out."""
    prose = _FOREIGN.sub(" ", text)
    return [
        f"{found[0]} ({better})"
        for odd, better in words.items()
        for found in re.finditer(rf"\b(?:{odd})\b", prose, re.I)
    ]


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring, comment and message of a module."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    tree = ast.parse(source)
    # Regular expressions match other texts: they are not prose.
    patterns = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in patterns:
            continue
        if isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def test_the_documentation_is_plain_american_english() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = {page.name: words for page in pages if (words := odd_words(page.read_text(encoding="utf-8")))}
    assert found == {}


@pytest.mark.parametrize("name", PLACES)
def test_the_code_is_commented_in_plain_american_english(name: str) -> None:
    place = SOURCE / name
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {', '.join(words)}"
        for path in files
        for line, text in texts_of(path.read_text(encoding="utf-8"))
        if (words := odd_words(text, WORDS | CODE_WORDS))
    ]
    assert files
    assert not found, "\n".join(found)


def test_schemas_and_shipped_rules_are_plain_american_english() -> None:
    files = [*sorted((SOURCE / "schemas").glob("*.json")), *sorted((SOURCE / "workflows").glob("*.yaml"))]
    found = {path.name: words for path in files if (words := odd_words(path.read_text(encoding="utf-8"), WORDS))}
    assert files
    assert found == {}
