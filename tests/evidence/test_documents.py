"""Documents as evidence: real folders, with git and without, at the beginning of a cycle and later."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from phase_gate.evidence.context import EvidenceContext
from phase_gate.evidence.documents import PROVIDER
from phase_gate.evidence.documents.measuring import NO_PARSER
from phase_gate.gate.measured import PROVIDED, Measured
from phase_gate.report.markdown import render_markdown
from phase_gate.storage.tree.names import list_files
from phase_gate.workflow.settings import Configuration, DocumentRules

NAMES = PROVIDED["documents"]
PROSE = (
    "The parser reads one file after the other, keeps what it knows about each of them in memory, and writes the "
    "result as a table when nothing is left to read."
)
DECISION = f"""\
# 1. Keep state in a file

## Status

Accepted

## Context

{PROSE}

## Decision

We keep an append-only file beside the sources.

## Consequences

A shared folder needs locks.
"""
CONTEXT = f"""\
# Architecture

{PROSE}

```mermaid
C4Context
  Person(a, "A")
  System(b, "B")
  Rel(a, b, "uses")
```
"""
GOOD = {"README.md": f"# Parser\n\n{PROSE}\n", "docs/context.md": CONTEXT, "docs/adr/0001-state.md": DECISION}


class Folder:
    """A project, and a look at its documents."""

    def __init__(self, root: Path, *, has_git: bool) -> None:
        self.root = root
        self.memory: Any = None
        self.rules = DocumentRules()
        self.docs = Configuration().docs
        if has_git:
            subprocess.run(["git", "init", "-q", str(root)], check=True)

    def write(self, files: Mapping[str, str | bytes]) -> Folder:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return self

    def begin(self) -> Folder:
        """A cycle begins: what is here now was here before. It is stored as JSON."""
        self.memory = json.loads(json.dumps(PROVIDER.remember(self._context(NAMES))))
        return self

    def look(self, *names: str) -> Measured:
        return PROVIDER.measure(self._context(frozenset(names) or NAMES))

    def _context(self, wanted: frozenset[str]) -> EvidenceContext:
        return EvidenceContext(
            root=self.root,
            folder=self.root / ".phase-gate",
            state_folder=self.root / ".phase-gate",
            configuration=Configuration(docs=self.docs, documents=self.rules),
            wanted=wanted,
            list_files=lambda keep: list_files(self.root, state_folder=self.root / ".phase-gate", keep=keep),
            recall=lambda name: self.memory if name == "documents" else None,
        )


@pytest.fixture(params=[False, True], ids=["without-git", "with-git"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Folder:
    return Folder(tmp_path, has_git=request.param)


@pytest.fixture
def plain(tmp_path: Path) -> Folder:
    """Where git makes no difference."""
    return Folder(tmp_path, has_git=False)


def found(measured: Measured, slug: str) -> list[tuple[str, int | None, str]]:
    assert {finding.tier for finding in measured.findings} <= {"advisory"}
    return [(each.file, each.line, each.detail) for each in measured.findings if each.slug == slug]


@pytest.mark.processes
def test_three_documents_a_decision_and_a_diagram(folder: Folder) -> None:
    measured = folder.begin().write(GOOD).look()
    assert measured.metrics == {
        "docs_generated": 3,
        "diagrams_total": 1,
        "diagrams_valid": 1,
        "has_adr": True,
        "has_c4_diagrams": True,
    }
    assert (measured.findings, measured.warnings) == ((), ())
    counted = "README.md, docs/adr/0001-state.md, docs/context.md"
    assert measured.told == {"docs_generated": f"documents that count: {counted}"}


# --- documents

ONLY_TOUCHED = "only blanks or comments changed in this cycle"


@pytest.mark.processes
def test_what_was_there_does_not_count(folder: Folder) -> None:
    folder.write(GOOD).begin()
    assert folder.look("docs_generated").metrics == {"docs_generated": 0}
    folder.write({"README.md": f"# Parser\n\n{PROSE} It has a table of its own, too.\n"})
    assert folder.look("docs_generated").metrics == {"docs_generated": 1}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"a.md": ""}, "0 different words of text, at least 20 are wanted", id="empty"),
        pytest.param({"a.md": "# A\n\nTODO\n"}, "1 different word of text, at least 20 are wanted", id="a-placeholder"),
        pytest.param({"a.md": f"# Old\n\n{PROSE}\n"}, "it has the same text as old.md", id="a-copy"),
        pytest.param({"old.md": f"# Old\n\n\n{PROSE}   \n"}, ONLY_TOUCHED, id="only-blanks"),
        pytest.param({"old.md": f"# Old\n\n{PROSE}\n<!-- touched -->\n"}, ONLY_TOUCHED, id="only-a-comment"),
    ],
)
def test_why_a_changed_document_does_not_count(plain: Folder, files: dict[str, str], expected: str) -> None:
    plain.write({"old.md": f"# Old\n\n{PROSE}\n"}).begin().write(files)
    measured = plain.look("docs_generated")
    assert measured.metrics == {"docs_generated": 0}
    assert [detail for _, _, detail in found(measured, "document-not-counted")] == [f"does not count: {expected}"]


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("README.md", True),
        ("docs/guide/start.md", True),
        ("docs/guide/start.rst", False),
        ("docs/notes.markdown", True),
        ("CHANGELOG.md", False),
        ("docs/adr/template.md", False),
        (".github/PULL_REQUEST_TEMPLATE.md", False),
        ("tests/data/sample.md", False),
        ("docs/conf.py", False),
        (".phase-gate/note.md", False),
    ],
)
def test_which_files_are_documents(plain: Folder, path: str, counts: bool) -> None:
    plain.begin().write({path: f"{PROSE}\n"})
    assert plain.look("docs_generated").metrics == {"docs_generated": int(counts)}


def test_the_project_says_which_files_are_documents(plain: Folder) -> None:
    plain.rules = DocumentRules(include=("manual/**",), exclude=("manual/old/**",), minimum_words=3)
    plain.begin()
    plain.write({"manual/a.txt": "one two three", "manual/old/b.txt": "one two four", "README.md": f"{PROSE}\n"})
    plain.write({"manual/image.png": b"PNG one two five\0\0", "manual/large.txt": b"x y z " * 1_000_000})
    assert plain.look("docs_generated").told == {"docs_generated": "documents that count: manual/a.txt"}


def test_rules_that_changed_since_the_cycle_began_hold_from_the_next_one_on(plain: Folder) -> None:
    plain.begin()
    plain.rules = DocumentRules(minimum_words=1)
    measured = plain.write({"a.md": "# A\n\nNo.\n"}).look("docs_generated")
    assert measured.metrics == {"docs_generated": 0}
    assert measured.warnings == (
        "what counts as a document was changed in the settings: that applies from the next cycle on",
    )


def test_our_own_report_is_no_document(plain: Folder) -> None:
    clause = {"text": f"{PROSE}", "met": True, "shown": "1", "unknown": []}
    verdict = {
        "phase": "GREEN",
        "iteration": 1,
        "reason": PROSE,
        "status": "closed",
        "next_command": "x",
        "next_hint": "",
        "root": "y",
        "gate_1": {"name": "z", "open": True, "clauses": [clause], "guards": []},
        "gate_2": {"answer": "absent", "reason": ""},
        "metrics": {},
        **{name: [] for name in ("overrides", "warnings", "notes", "findings")},
    }
    plain.begin().write({"verdict.md": render_markdown(verdict)})
    assert plain.look("docs_generated").metrics == {"docs_generated": 0}


def test_without_a_memory_it_is_unknown_and_says_what_to_do(plain: Folder) -> None:
    measured = plain.write(GOOD).look()
    assert sorted(measured.metrics) == ["diagrams_total", "diagrams_valid", "has_adr", "has_c4_diagrams"]
    assert measured.warnings == (
        "docs_generated is unknown: the documents were not noted when this cycle began; they are when the "
        "next one begins",
    )


@pytest.mark.processes
def test_ignored_files_are_no_documents(tmp_path: Path) -> None:
    folder = Folder(tmp_path, has_git=True).begin()
    folder.write({".gitignore": "build/\n", "build/docs.md": f"{PROSE}\n", "docs/a.md": f"{PROSE}\n"})
    assert folder.look("docs_generated").metrics == {"docs_generated": 1}


# --- decisions


def test_a_near_miss_is_named(plain: Folder) -> None:
    plain.write(
        {
            "docs/adr/0001-state.md": DECISION.replace("Accepted", "{proposed | accepted}"),
            "docs/adr/keep-state.md": DECISION,
            "docs/0001-state.md": DECISION,
        }
    )
    measured = plain.look("has_adr")
    assert measured.metrics == {"has_adr": False}
    assert found(measured, "decision-incomplete") == [
        ("docs/adr/0001-state.md", None, "lacks a real status ({proposed | accepted})"),
    ]


def test_old_near_misses_are_left_alone_where_there_is_a_good_one(plain: Folder) -> None:
    plain.write({"docs/adr/0001-old.md": "# Old\n", "docs/adr/0002-state.md": DECISION}).begin()
    plain.write({"docs/adr/0003-new.md": "# New\n"})
    measured = plain.look("has_adr")
    assert measured.metrics == {"has_adr": True}
    assert [file for file, _, _ in found(measured, "decision-incomplete")] == ["docs/adr/0003-new.md"]


def test_the_project_says_where_decisions_are(plain: Folder) -> None:
    plain.rules = DocumentRules(decisions=("records/**",))
    plain.write({"docs/adr/0001-state.md": DECISION})
    assert plain.look("has_adr").metrics == {"has_adr": False}
    assert plain.write({"records/0001-state.md": DECISION}).look("has_adr").metrics == {"has_adr": True}


# --- diagrams


def test_a_broken_diagram_is_named_with_its_line(plain: Folder) -> None:
    plain.write({"docs/context.md": CONTEXT.replace('"uses")', '"uses"'), "flow.mmd": "flowchart TD\n A-->B[\n"})
    measured = plain.look("diagrams_total", "diagrams_valid", "has_c4_diagrams")
    assert measured.metrics == {"diagrams_total": 2, "diagrams_valid": 0, "has_c4_diagrams": False}
    assert found(measured, "diagram-broken") == [
        (
            "docs/context.md",
            9,
            'the Mermaid diagram is broken: unterminated macro call: Rel(a, b, "uses"',
        ),
        ("flow.mmd", 2, "the Mermaid diagram is broken: Unterminated node label (missing `]`)"),
    ]


def test_one_with_nothing_in_it_is_broken(plain: Folder) -> None:
    measured = plain.write({"a.md": "```mermaid\nflowchart TD\n```\n"}).look("diagrams_total", "diagrams_valid")
    assert measured.metrics == {"diagrams_total": 1, "diagrams_valid": 0}
    assert found(measured, "diagram-broken") == [("a.md", 2, "the Mermaid diagram is broken: there is nothing in it")]


def test_diagrams_of_all_languages_are_counted(plain: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(plain.root))
    monkeypatch.delenv("PLANTUML_JAR", raising=False)
    plain.write(
        {
            "a.mmd": 'pie\n "a": 1\n',
            "b/c.mermaid": 'C4Context\n  Person(a, "A")\n',
            "c.puml": "@startuml\nA -> B\n@enduml\n",
        }
    )
    measured = plain.look("diagrams_total", "diagrams_valid", "has_c4_diagrams")
    # Nobody can tell about the third one.
    assert measured.metrics == {"diagrams_total": 3, "has_c4_diagrams": True}
    assert measured.warnings == (
        "diagrams_valid is unknown, for c.puml:1: PlantUML is not installed (put plantuml into PATH, or name its jar "
        "in PLANTUML_JAR)",
    )


def test_a_c4_diagram_that_nobody_can_check_is_one(plain: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "merman", None)
    measured = plain.write({"docs/context.md": CONTEXT}).look("diagrams_total", "diagrams_valid", "has_c4_diagrams")
    assert measured.metrics == {"diagrams_total": 1, "has_c4_diagrams": True}
    assert measured.warnings == (
        "diagrams_valid is unknown, for docs/context.md:6: no parser for Mermaid is installed (pip install "
        "'pytest-phase-gate[mermaid]')",
    )


def test_old_documents_have_diagrams_too(plain: Folder) -> None:
    plain.write({"docs/old.md": "```mermaid\nflowchart TD\n A[\n```\n"}).begin()
    assert plain.look("diagrams_total", "diagrams_valid").metrics == {"diagrams_total": 1, "diagrams_valid": 0}


def test_diagrams_of_tests_are_no_documentation(plain: Folder) -> None:
    assert plain.write({"tests/data/broken.mmd": "nothing\n"}).look("diagrams_total").metrics == {"diagrams_total": 0}


# --- without the parser of Markdown


def test_without_a_parser_of_markdown_what_needs_it_is_unknown(plain: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    measured = plain.begin().write(GOOD).look()
    assert measured.metrics == {}
    assert measured.warnings == (
        f"diagrams_total, diagrams_valid, has_c4_diagrams are unknown: {NO_PARSER}",
        f"docs_generated is unknown: {NO_PARSER}",
        f"has_adr is unknown: {NO_PARSER}",
    )
    assert "pytest-phase-gate[documents]" in NO_PARSER


# --- cost

LOADED = (
    "import sys\n"
    "ours = ('evidence.documents.measuring', 'evidence.documents.rules', 'evidence.documents.diagrams')\n"
    "heavy = ('markdown_it', 'merman', *(f'phase_gate.{name}' for name in ours))\n"
    "print(*(name for name in heavy if name in sys.modules))"
)


@pytest.mark.processes
def test_remembering_parses_nothing(plain: Folder) -> None:
    code = (
        "from pathlib import Path\n"
        "from phase_gate.workflow.settings import Configuration\n"
        "from phase_gate.evidence.documents import PROVIDER\n"
        "from phase_gate.evidence.context import EvidenceContext\n"
        "here = Path('.')\n"
        "context = EvidenceContext(root=here, folder=here, state_folder=here, configuration=Configuration(),\n"
        "              wanted=frozenset(), list_files=lambda keep: ['docs/context.md'])\n"
        "assert PROVIDER.remember(context)['documents']\n"
        f"{LOADED}\n"
    )
    plain.write(GOOD)
    done = subprocess.run([sys.executable, "-c", code], cwd=plain.root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr
