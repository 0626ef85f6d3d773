"""Where links lead: names of headings as forges make them, and which file a relative link means.

Pure. In doubt a link is taken for good: sites are built in many ways, and here a false alarm is worse than a miss.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from urllib.parse import unquote

from phase_gate.values import Value

_TAG = re.compile(r"<[^<>]*>")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.I)
#: What a site's builder fills in.
_TEMPLATED = ("{{", "{%", "%7B", "<", "%3C")
#: How files end that documents link to. Without a slash, anything else may be a name that a builder looks up: some
#: write `[frozen](attrs.frozen)` for a class.
_FILES = frozenset(
    (
        *("md", "markdown", "mdx", "rst", "adoc", "asciidoc", "txt", "html", "htm", "pdf", "ipynb"),
        *("png", "jpg", "jpeg", "gif", "svg", "webp", "puml", "plantuml", "mmd", "mermaid", "dsl", "drawio"),
        *("py", "json", "yaml", "yml", "toml", "ini", "cfg", "csv", "xml", "js", "ts", "css", "sh", "sql"),
    )
)
#: What a link to a folder, or to a page without its suffix, may stand for.
_ENDINGS = ("", ".md", ".markdown", ".mdx", ".rst", ".adoc", "/index.md", "/README.md", "/index.rst", "/_index.md")
_PAGES = (".md", ".markdown")


class Target(Value):
    """What a link inside the project means."""

    #: Paths from the root; one of them has to be there. Empty: the page itself.
    candidates: tuple[str, ...]
    #: What stands behind `#`; empty for nothing.
    anchor: str

    def has_anchors(self, path: str) -> bool:
        """Tell whether anchors can be looked up there: those of a source, or of a page in HTML, mean something else."""
        return path.endswith(_PAGES)


def resolve(target: str, page: str) -> Target | None:
    """Return what a link on a page leads to; None if it leads outside, or that is unknown.

    :param page: its path from the root.
    """
    if _SCHEME.match(target) or target.startswith(("/", "\\", "@")) or any(mark in target for mark in _TEMPLATED):
        return None
    path, _, anchor = target.partition("#")
    path = unquote(path.partition("?")[0])
    anchor = "" if anchor.startswith(":~:") else unquote(anchor)
    if not path:
        return Target(candidates=(), anchor=anchor)
    if "/" not in path and path.rpartition(".")[2].lower() not in _FILES:
        return None
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    if whole == ".." or whole.startswith("../"):
        return None  # forges have pages above the root: issues, releases
    names = [whole if ending == "" else posixpath.normpath(f"{whole}{ending}") for ending in _ENDINGS]
    if whole.endswith((".html", ".htm")):
        names += [f"{whole.rpartition('.')[0]}{ending}" for ending in (*_PAGES, ".rst", ".adoc")]
    return Target(candidates=tuple(names), anchor=anchor)


def has_anchor(anchors: frozenset[str], anchor: str) -> bool:
    """Tell whether a page has it. `#` and `#top` every page has."""
    wanted = anchor.lower().removeprefix("user-content-")
    return wanted in ("", "top") or any(wanted == name.lower() for name in anchors)


def name_headings(headings: Iterable[str]) -> frozenset[str]:
    """Return the anchors of headings, in the ways of GitHub and of Python-Markdown."""
    names: set[str] = set()
    seen: Counter[str] = Counter()
    for heading in (_TAG.sub("", each) for each in headings):
        for name in {_as_on_github(heading), _as_by_python(heading, True), _as_by_python(heading, False)}:
            number = seen[name]
            seen[name] += 1
            names |= {name} if not number else {f"{name}-{number}", f"{name}_{number}"}
    return frozenset(names - {""})


def _as_on_github(heading: str) -> str:
    kept = "".join(
        character
        for character in heading.replace("`", "").strip().lower()
        if character in "-_ " or unicodedata.category(character)[0] in "LNM"
    )
    return kept.replace(" ", "-")


def _as_by_python(heading: str, in_ascii: bool) -> str:
    if in_ascii:
        heading = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())
