"""The documentation site, built by Sphinx with MyST and Furo: `tox -e docs`.

The pages are written to be read on a forge and in an editor, too; what the site does with them is below. They are
ordered as the links on the first page, so there is one list and not two.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import tomllib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import merman

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sphinx.application import Sphinx

DOCS = Path(__file__).parent
ROOT = DOCS.parent
REPOSITORY: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
#: Files that others read by address; the site has them in a folder of the same name.
_ADDED = {PurePosixPath("src/phase_gate/schemas"): "*.json"}

project = "pytest-phase-gate"
author = "The pytest-phase-gate contributors"
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["website"]
myst_heading_anchors = 6
# Quotes and dashes stay as they are typed: `--all` is an option.
smartquotes = False
# A prompt is no part of what one types, and neither is the output.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

html_theme = "furo"
html_title = project
html_static_path = ["website"]
html_favicon = "website/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "source_repository": REPOSITORY,
    "source_branch": "main",
    "source_directory": "docs/",
}

_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_FENCED = re.compile(r"^(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=fence)$", re.M | re.S)
_TITLE = re.compile(r'title="([^"]*)"')
#: What the highlighter can't read: a verify task holds commands, and those hold what XML would not.
_LEXERS = {"": "text", "xml": "text"}


def setup(app: Sphinx) -> None:
    app.connect("source-read", adapt_page)
    app.connect("build-finished", add_files)


def adapt_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Make of a page what the builder reads."""
    folder = posixpath.dirname(name)
    text, parts, end = source[0], [], 0
    for found in _FENCED.finditer(text):
        parts.append(_lead_on(text[end : found.start()], folder))
        parts.append(_show(found))
        end = found.end()
    parts.append(_lead_on(text[end:], folder))
    if name == "index":
        parts += (_toctree(caption, pages) for caption, pages in sections().items())
    source[0] = "".join(parts)


def sections() -> dict[str, list[str]]:
    """Return the pages that each paragraph of the first page leads to, by its first words."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    found = {}
    for paragraph in text.split("\n\n"):
        caption = re.match(r"\*\*(?P<words>[^*]+):\*\*", paragraph)
        if caption is not None:
            targets = (target.partition("#")[0] for _, target in _LINK.findall(paragraph))
            found[caption["words"]] = [name.removesuffix(".md") for name in targets if name.endswith(".md")]
    return found


def _toctree(caption: str, pages: Iterable[str]) -> str:
    return "\n".join(("", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""))


def _show(block: re.Match[str]) -> str:
    """Return a block as the site shows it: what follows the language says how we check it, and is for us."""
    language, _, rest = block["info"].partition(" ")
    fence = block["fence"]
    if language == "mermaid":
        # Drawn here, so that no script has to be fetched for it.
        drawn = merman.Merman().render_svg(block["text"], "{}")
        return f'{fence}{{raw}} html\n<div class="diagram">{drawn}</div>\n{fence}'
    title = _TITLE.search(rest)
    caption = f":caption: {title[1]}\n" if title else ""
    return f"{fence}{{code-block}} {_LEXERS.get(language, language)}\n{caption}\n{block['text']}{fence}"


def _lead_on(text: str, folder: str) -> str:
    """Return a text whose links to files outside of the pages lead to the forge; to schemas, to the site's copy."""

    def replace(link: re.Match[str]) -> str:
        target, _, anchor = link["target"].partition("#")
        if "://" in target or not target:
            return link[0]
        goal = PurePosixPath(posixpath.normpath(posixpath.join("docs", folder, target)))
        if goal.parent in _ADDED:
            return f'<a href="{posixpath.relpath(f"{goal.parent.name}/{goal.name}", folder or ".")}">{link["text"]}</a>'
        if goal.parts[0] == "docs":
            return link[0]
        kind = "tree" if (ROOT / goal).is_dir() else "blob"
        return f"[{link['text']}]({REPOSITORY}/{kind}/main/{goal}{f'#{anchor}' if anchor else ''})"

    return _LINK.sub(replace, text)


def add_files(app: Sphinx, failure: Exception | None) -> None:
    """Put beside the pages what others read by address."""
    if failure is None:
        for folder, pattern in _ADDED.items():
            goal = Path(app.outdir) / folder.name
            goal.mkdir(exist_ok=True)
            for path in (ROOT / folder).glob(pattern):
                shutil.copy(path, goal)
