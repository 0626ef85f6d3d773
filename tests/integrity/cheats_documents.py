"""What the phase DOCUMENT must not fall for, and the nearest honest thing beside each.

A row has the documents that are there when the cycle begins, what is done to them, and what must be said about it.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.values import Value, field

PROSE = (
    "The basket keeps the prices of all articles, adds them up, and takes off what a voucher is worth, but never more "
    "than the sum: nobody gets money for shopping."
)
OTHER = (
    "Prices are whole cents, because binary fractions can't hold most decimal ones, and a customer notices one cent "
    "that is missing on the bill sooner than any slow page."
)
USAGE = f"# Usage\n\n{OTHER}\n\n```python\nBasket([100]).total()\n```\n"
CONTEXT = f"""\
# Architecture

{PROSE}

```mermaid
C4Context
  Person(customer, "Customer")
  System(basket, "Basket", "adds prices up")
  Rel(customer, basket, "fills")
```
"""
DECISION = f"""\
# 1. Prices are whole cents

## Status

Accepted

## Context

{OTHER} We had such a case in May.

## Decision

All prices are integers, and a class of their own keeps them apart from other numbers.

## Consequences

Shares of a cent can't be shown. Nobody has asked for them.
"""
#: Where and what: all that Gate 1 wants.
GOOD: Mapping[str, str] = {
    "docs/usage.md": USAGE,
    "docs/architecture.md": CONTEXT,
    "docs/adr/0001-whole-cents.md": DECISION,
}


def drawn(diagram: str) -> str:
    return f"# Architecture\n\n{PROSE}\n\n```mermaid\n{diagram}\n```\n"


class Row(Value):
    """One thing to do in the phase."""

    name: str
    #: What is there when the cycle begins.
    before: Mapping[str, str] = field(default_factory=dict)
    #: What is written afterwards; None takes a file away.
    after: Mapping[str, str | None]
    #: The first clause that has to be closed; empty for an honest one.
    clause: str = ""
    #: What has to be said.
    said: tuple[str, ...] = ()


DOCS = "docs_generated >= required_docs_count"
VALID = "diagrams_valid == diagrams_total"

CHEATS = (
    Row(name="nothing is written", after={}, clause=DOCS, said=("0 of 3 documents",)),
    Row(
        name="three empty documents",
        after={"docs/a.md": "", "docs/b.md": "\n", "docs/c.md": "# C\n", **GOOD, "docs/usage.md": "# Usage\n"},
        clause=DOCS,
        said=("docs/usage.md:1", "2 of 3 documents"),
    ),
    Row(
        name="old documents under new names",
        before={"docs/old.md": USAGE},
        after={**GOOD, "docs/usage.md": USAGE},
        clause=DOCS,
        said=("docs/usage.md", "it has the same text as docs/old.md"),
    ),
    Row(
        name="an old document moved",
        before={"docs/old.md": USAGE},
        after={**GOOD, "docs/old.md": None, "docs/usage.md": USAGE},
        clause=DOCS,
        said=("it was moved here from docs/old.md",),
    ),
    Row(
        name="one text three times",
        after={"docs/a.md": CONTEXT, "docs/b.md": CONTEXT, "docs/adr/0001-whole-cents.md": DECISION},
        clause=DOCS,
        said=("docs/b.md", "it has the same text as docs/a.md"),
    ),
    Row(
        name="touched, not changed",
        before=GOOD,
        after={name: text.replace("\n\n", "\n\n\n") for name, text in GOOD.items()},
        clause=DOCS,
        said=("0 of 3 documents", "only blanks or comments changed"),
    ),
    Row(
        name="a comment that nobody sees",
        before=GOOD,
        after={name: f"{text}\n<!-- {PROSE} -->\n" for name, text in GOOD.items()},
        clause=DOCS,
        said=("only blanks or comments changed",),
    ),
    Row(
        name="one word over and over",
        after={**GOOD, "docs/usage.md": "# Usage\n\n" + "words " * 500},
        clause=DOCS,
        said=("different words",),
    ),
    Row(
        name="a typesetter's filling",
        after={**GOOD, "docs/usage.md": f"# Usage\n\nLorem ipsum dolor sit amet. {PROSE}\n"},
        clause=DOCS,
        said=("a template's text is still in it",),
    ),
    Row(
        name="documentation in code blocks",
        after={**GOOD, "docs/usage.md": f"# Usage\n\n```text\n{PROSE}\n```\n"},
        clause=DOCS,
        said=("docs/usage.md",),
    ),
    Row(
        name="change notes for documents",
        after={**GOOD, "docs/usage.md": None, "CHANGELOG.md": f"# Changes\n\n{PROSE}\n", "TODO.md": f"{OTHER}\n"},
        clause=DOCS,
        said=("2 of 3 documents",),
    ),
    Row(
        name="our own report for a document",
        after={**GOOD, "docs/usage.md": None, "verdict.md": f"## Phase gate: GREEN, iteration 1\n\n{OTHER}\n"},
        clause=DOCS,
        said=("2 of 3 documents",),
    ),
    Row(
        name="the rules made easier meanwhile",
        after={
            **GOOD,
            "docs/usage.md": "# Usage\n\nCall it.\n",
            "phase-gate.yaml": "evidence: {documents: {minimum_words: 1}}\n",
        },
        clause=DOCS,
        said=("applies from the next cycle on",),
    ),
    Row(
        name="a template for a decision",
        after={
            **GOOD,
            "docs/more.md": f"{PROSE} More.\n",
            "docs/adr/0001-whole-cents.md": DECISION.replace("Accepted", "{proposed | accepted | rejected}"),
        },
        clause="has_adr == true",
        said=("docs/adr/0001-whole-cents.md", "a real status"),
    ),
    Row(
        name="a decision that decides nothing",
        after={
            **GOOD,
            "docs/more.md": f"{PROSE} More.\n",
            "docs/adr/0001-whole-cents.md": DECISION.partition("## Decision")[0],
        },
        clause="has_adr == true",
        said=('a section "Decision"',),
    ),
    Row(
        name="a decision without a number",
        after={**GOOD, "docs/adr/0001-whole-cents.md": None, "docs/adr/whole-cents.md": DECISION},
        clause="has_adr == true",
        said=("a number in front of its name",),
    ),
    Row(
        name="a broken diagram",
        after={**GOOD, "docs/architecture.md": CONTEXT.replace('"fills")', '"fills"')},
        clause=VALID,
        said=("docs/architecture.md:9", "unterminated macro call"),
    ),
    Row(
        name="a broken one beside a good one",
        after={**GOOD, "docs/flow.mmd": "flowchart TD\n A --> B[\n"},
        clause=VALID,
        said=("docs/flow.mmd:2", "1 of 2 diagrams is broken"),
    ),
    Row(
        name="a diagram with nothing in it",
        after={**GOOD, "docs/flow.mmd": "flowchart TD\n"},
        clause=VALID,
        said=("there is nothing in it",),
    ),
    Row(
        name="words for a diagram",
        after={**GOOD, "docs/flow.mmd": "this is a diagram\n"},
        clause=VALID,
        said=("no Mermaid diagram detected",),
    ),
    Row(
        name="a diagram that is an example in a fence",
        after={**GOOD, "docs/architecture.md": CONTEXT.replace("```mermaid", "````markdown\n```mermaid") + "````\n"},
        clause="diagrams_total > 0",
        said=("there is no diagram",),
    ),
    Row(
        name="a C4 diagram without an element",
        after={**GOOD, "docs/architecture.md": drawn("C4Context\n  title All of it")},
        clause=VALID,
        said=("there is nothing in it",),
    ),
    Row(
        name="a flowchart that speaks of C4",
        after={
            **GOOD,
            "docs/architecture.md": drawn("flowchart TD\n  C4Context --> Person"),
        },
        clause="has_c4_diagrams == true",
        said=("there is no C4 diagram",),
    ),
)

HONEST = (
    Row(name="three documents", after=GOOD),
    Row(name="beside old ones", before={"README.md": f"# Basket\n\n{PROSE} All of it.\n"}, after=GOOD),
    Row(
        name="old ones brought up to date",
        before=GOOD,
        after={name: f"{text}\nIt has been so since the second version.\n" for name, text in GOOD.items()},
    ),
    Row(
        name="a decision and a diagram that were there, and three new documents",
        before={name: text for name, text in GOOD.items() if name != "docs/usage.md"},
        after={
            "docs/usage.md": USAGE,
            "docs/limits.md": f"# Limits\n\n{PROSE} There is one basket a customer.\n",
            "README.md": f"# Basket\n\n{OTHER} See [usage](docs/usage.md).\n",
        },
    ),
    Row(
        name="a document that mentions TODO, and shows placeholders in code",
        after={
            **GOOD,
            "docs/usage.md": f"{USAGE}\nA `TODO` in a basket's name is no problem, nor is the word TODO.\n\n"
            "```\n<name> {{ value }} TODO\n```\n",
        },
    ),
    Row(
        name="an old document moved, and three new ones",
        before={"old.md": f"# Old\n\n{PROSE} Moved.\n"},
        after={**GOOD, "old.md": None, "docs/old.md": f"# Old\n\n{PROSE} Moved.\n"},
    ),
    Row(
        name="an example in a fence beside the real diagram",
        after={**GOOD, "docs/usage.md": f"{USAGE}\n````\n```mermaid\nx\n```\n````\n"},
    ),
)
