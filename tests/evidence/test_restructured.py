"""reStructuredText, as far as documents and decisions need it."""

from __future__ import annotations

import pytest

from phase_gate.evidence.documents.pages import Page
from phase_gate.evidence.documents.restructured import read_restructured
from phase_gate.evidence.documents.rules import find_fault

RESTRUCTURED = """\
=====
Title
=====

A paragraph
over two lines.

Part one
--------

- an item
  that goes on
- another::

    literal TODO

.. code-block:: python
   :linenos:

   print("TODO")

.. a comment
   that goes on

.. note::

   Prose in a note.

Part two
--------

.. include:: other.rst

Deeper
~~~~~~

=====  =====
cell   cell
=====  =====
"""


def rows(page: Page) -> list[tuple[int, int, str]]:
    return [(piece.line, piece.level, piece.text) for piece in page.pieces]


def test_restructured_text() -> None:
    page = read_restructured(RESTRUCTURED)
    assert rows(page) == [
        (2, 1, "Title"),
        (5, 0, "A paragraph\nover two lines."),
        (8, 2, "Part one"),
        (11, 0, "an item\nthat goes on"),
        (13, 0, "another"),
        (27, 0, "Prose in a note."),
        (29, 2, "Part two"),
        (34, 3, "Deeper"),
        (37, 0, "=====  =====\ncell   cell\n=====  ====="),
    ]
    assert [(block.line, block.language) for block in page.blocks] == [(14, ""), (20, "code-block"), (32, "include")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Title\n=====\n\nTODO\n", 'under "Title" stands "TODO"', id="todo"),
        pytest.param(
            "Title\n=====\n\n.. toctree::\n\n   a\n   b\n", "1 different word of text", id="only-a-list-of-pages"
        ),
        pytest.param("{{ title }}\n===========\n", "a template's text is still in it", id="a-hole"),
    ],
)
def test_a_document_that_does_not_count(text: str, expected: str) -> None:
    fault = find_fault(read_restructured(text), minimum_words=20)
    assert fault is not None
    assert fault.why.startswith(expected)


@pytest.mark.parametrize("text", ["", "\n", "..", ".. x", "a::", "=====", "===\na\n===", "----"])
def test_fragments_do_no_harm(text: str) -> None:
    read_restructured(text)
    read_restructured(f"{text}\n\n{text}\n")
