"""The documentation site: what it makes of our pages, and that its first pages stay short and lead everywhere.

`tox -e docs` builds it and follows each link; `tox -e browser` looks at it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from docs import conf
from scripts import publish
from tests.docs.blocks import ROOT

DOCS = ROOT / "docs"
#: What fits a screen of 1280 x 1000 beside the navigation, counted once in a browser.
A_SCREEN = 280


def adapted(text: str, name: str = "how-to/page") -> str:
    source = [text]
    conf.adapt_page(None, name, source)
    return source[0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("```python\nx\n```", "```{code-block} python\n\nx\n```", id="a-language"),
        pytest.param(
            '```python title="a.py"\nx\n```',
            "```{code-block} python\n:caption: a.py\n\nx\n```",
            id="a-file-has-its-name",
        ),
        pytest.param(
            "```text\n[a](../../LICENSE)\n```", "```{code-block} text\n\n[a](../../LICENSE)\n```", id="no-link"
        ),
        pytest.param("[a](red.md#b)", "[a](red.md#b)", id="a-page"),
        pytest.param("[a](../../LICENSE)", f"[a]({conf.REPOSITORY}/blob/main/LICENSE)", id="a-file-of-the-repository"),
        pytest.param("[a](../../examples)", f"[a]({conf.REPOSITORY}/tree/main/examples)", id="a-folder-of-it"),
        pytest.param(
            "[a](../../src/phase_gate/schemas/vote.schema.json)",
            '<a href="../schemas/vote.schema.json">a</a>',
            id="a-schema",
        ),
        pytest.param("![a](../pictures/flow.svg)", "![a](../pictures/flow.svg)", id="a-picture"),
    ],
)
def test_what_the_site_makes_of_a_page(text: str, shown: str) -> None:
    assert adapted(text) == shown


def test_a_diagram_is_drawn_when_the_site_is_built() -> None:
    shown = adapted("```mermaid\nflowchart TD\n  a --> b\n```")
    assert shown.startswith('```{raw} html\n<div class="diagram"><svg')
    assert "<script" not in shown


def test_the_first_page_leads_to_every_other_page_once() -> None:
    there = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")} - {"index"}
    assert sorted(page for pages in conf.sections().values() for page in pages) == sorted(there)


def test_the_first_page_fits_a_screen() -> None:
    assert len((DOCS / "index.md").read_text(encoding="utf-8").split()) <= A_SCREEN


def test_a_build_that_fails_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: Any, **options: Any) -> Any:
        return subprocess.CompletedProcess(arguments, 1)

    monkeypatch.setattr(subprocess, "run", failing)
    assert publish.main(["--into", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []
