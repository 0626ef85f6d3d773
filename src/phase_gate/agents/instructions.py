"""The block that we write into AGENTS.md and its like, between marks, so that it can be taken out again. Pure."""

from __future__ import annotations

import re

from phase_gate.agents.json_text import Insertion

BEGIN, END = "<!-- phase-gate: begin -->", "<!-- phase-gate: end -->"

_BLOCK = re.compile(rf"{re.escape(BEGIN)}.*?{re.escape(END)}\n?", re.S)

TEXT = f"""\
{BEGIN}
## Phase gate

Work here goes in test-driven phases, and a gate decides from measurements when one is over.

- `phase-gate status` says where the work stands, and what to type next.
- First tests that fail: `pytest --phase=red`. Then the code: `pytest --phase=green`. Then `pytest --phase=refactor`.
- Tests are frozen when RED ends. A test that is wrong: `phase-gate signal --test-wrong --reason "..."`.
- A phase that is done: `phase-gate signal --reason "..."`. If you can't go on, add `--blocked`: a person will help.
- Leave `.phase-gate/` alone. `phase-gate waive`, `skip` and `force` are for people.
{END}
"""


def has_block(text: str) -> bool:
    return _BLOCK.search(text) is not None


def insert_block(text: str) -> list[Insertion]:
    """Return what to insert at the end of a file; nothing if there is a block already."""
    if has_block(text):
        return []
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return [Insertion(len(text), gap + TEXT.replace("\n", newline))]


def cut_block(text: str) -> str:
    """Return the text without the block and the empty line before it."""
    found = _BLOCK.search(text.replace("\r\n", "\n"))
    if found is None:
        return text
    plain = text.replace("\r\n", "\n")
    before = plain[: found.start()].rstrip("\n")
    rest = (f"{before}\n" if before else "") + plain[found.end() :]
    return rest.replace("\n", "\r\n") if "\r\n" in text else rest
