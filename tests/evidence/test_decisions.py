"""Decision records: the forms that are around, and what each lacks that is not one."""

from __future__ import annotations

import pytest

from phase_gate.evidence.documents.library import read_markdown
from phase_gate.evidence.documents.rules import find_missing, is_numbered

ADR_TOOLS = """\
# 2. Keep state in a file

Date: 2024-05-01

## Status

Accepted

## Context

Several processes have to agree on what happened.

## Decision

We keep an append-only file beside the sources.

## Consequences

Nothing has to be installed. A shared folder needs locks.
"""
MADR_2 = """\
# Keep state in a file

* Status: accepted
* Deciders: Anna, Ben
* Date: 2024-05-01

## Context and Problem Statement

Several processes have to agree on what happened.

## Considered Options

* A file
* A database

## Decision Outcome

Chosen option: "A file", because nothing has to be installed.

### Positive Consequences

* It can be read by people.

### Negative Consequences

* A shared folder needs locks.
"""
MADR_4 = """\
---
status: "accepted"
date: 2024-05-01
decision-makers: Anna, Ben
---

# Keep state in a file

## Context and Problem Statement

Several processes have to agree on what happened.

## Decision Drivers

* no server

## Considered Options

* A file
* A database

## Decision Outcome

Chosen option: "A file", because nothing has to be installed.
"""


def missing(text: str) -> tuple[str, ...]:
    return find_missing(read_markdown(text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ADR_TOOLS, id="adr-tools"),
        pytest.param(MADR_2, id="madr-2"),
        pytest.param(MADR_4, id="madr-4-where-consequences-are-optional"),
        pytest.param(ADR_TOOLS.replace("## Status\n\nAccepted", "**Status:** Accepted"), id="status-in-bold"),
        pytest.param(
            ADR_TOOLS.replace("## Status\n\nAccepted", "| Status | Accepted |\n| --- | --- |\n| Date | today |"),
            id="status-in-a-table",
        ),
        pytest.param(
            ADR_TOOLS.replace("We keep an append-only file beside the sources.", "```\nappend only, beside it\n```"),
            id="a-decision-that-is-code",
        ),
    ],
)
def test_a_whole_record(text: str) -> None:
    assert missing(text) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(ADR_TOOLS.replace("## Status\n\nAccepted\n", ""), ("a status",), id="no-status"),
        pytest.param(ADR_TOOLS.replace("Accepted", ""), ("a real status (it is empty)",), id="empty-status"),
        pytest.param(ADR_TOOLS.replace("Accepted", "STATUS"), ("a real status (STATUS)",), id="template-status"),
        pytest.param(
            MADR_4.replace('"accepted"', '"{proposed | rejected | accepted}"'),
            ("a real status ({proposed | rejected | accepted})",),
            id="madr-offers-a-choice",
        ),
        pytest.param(
            ADR_TOOLS.replace("## Decision", "## Decision Drivers"),
            ('a section "Decision"',),
            id="drivers-decide-nothing",
        ),
        pytest.param(
            ADR_TOOLS.partition("## Consequences")[0], ('a section "Consequences"',), id="no-consequences-in-adr-tools"
        ),
        pytest.param(
            ADR_TOOLS.replace("We keep an append-only file beside the sources.", "Decision here..."),
            ('text under "Decision"',),
            id="the-templates-words",
        ),
        pytest.param(
            MADR_4.replace(
                '"A file", because nothing has to be installed.', '"{title of option 1}", because {reason given}.'
            ),
            ('text under "Decision"',),
            id="the-outcome-is-a-hole",
        ),
        pytest.param(
            "# Decision on the database\n\nPostgres.\n",
            ("a status", 'a section "Context"', 'a section "Decision"', 'a section "Consequences"'),
            id="a-title-is-no-part",
        ),
    ],
)
def test_what_is_missing(text: str, expected: tuple[str, ...]) -> None:
    assert missing(text) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("docs/adr/0001-keep-state.md", True),
        ("doc/adr/1-keep-state.md", True),
        ("docs/decisions/0012_keep_state.md", True),
        ("docs/adr/ADR-003-keep-state.md", True),
        ("docs/adr/adr0004.md", True),
        ("docs/adr/0005.md", True),
        ("docs/adr/0006.keep.md", True),
        ("docs/adr/README.md", False),
        ("docs/adr/template.md", False),
        ("docs/adr/keep-state-2.md", False),
        ("docs/2024-05-01-meeting.md", True),
        ("docs/adr/123456-too-long.md", False),
    ],
)
def test_numbers(path: str, expected: bool) -> None:
    assert is_numbered(path) is expected
