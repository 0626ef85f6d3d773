"""Documents as evidence: real folders, with git and without, at the beginning of a cycle and later."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Self

import pytest

from phase_gate.evidence.documents import PROVIDER
from phase_gate.evidence.documents.document_metrics import NO_PARSER
from phase_gate.gate.measured import PROVIDED, Measured
from phase_gate.workflow.settings import DocumentRules
from tests.evidence.folders import Folder
from tests.evidence.test_completeness import ADR_TOOLS as DECISION
from tests.evidence.test_completeness import PROSE

NAMES = PROVIDED["documents"]
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


class Documents(Folder):
    def begin(self) -> Self:
        self.remember("documents", PROVIDER)
        return self

    def read(self, *names: str) -> Measured:
        return self.measure(PROVIDER, *names)


@pytest.fixture(params=[False, True], ids=["without-git", "with-git"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Documents:
    return Documents(tmp_path, wanted=NAMES, has_git=request.param)


@pytest.fixture
def plain(tmp_path: Path) -> Documents:
    """Where git makes no difference."""
    return Documents(tmp_path, wanted=NAMES, has_git=False)


def found(measured: Measured, slug: str) -> list[tuple[str, int | None, str]]:
    assert {finding.tier for finding in measured.findings} <= {"advisory"}
    return [(each.file, each.line, each.detail) for each in measured.findings if each.slug == slug]


@pytest.mark.processes
def test_three_documents_a_decision_and_a_diagram(folder: Documents) -> None:
    measured = folder.begin().write(GOOD).read()
    assert measured.metrics == {
        "docs_generated": 3,
        "diagrams_total": 1,
        "diagrams_valid": 1,
        "all_diagrams_valid": True,
        "has_adr": True,
        "has_c4_diagrams": True,
    }
    assert (measured.findings, measured.warnings) == ((), ())
    counted = "README.md, docs/adr/0001-state.md, docs/context.md"
    assert measured.notes == (f"documents that count: {counted}",)


# --- documents


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
def test_which_files_are_documents(plain: Documents, path: str, counts: bool) -> None:
    plain.begin().write({path: f"{PROSE}\n"})
    assert plain.read("docs_generated").metrics == {"docs_generated": int(counts)}


def test_the_project_says_which_files_are_documents(plain: Documents) -> None:
    plain.set(documents=DocumentRules(include=("manual/**",), exclude=("manual/old/**",), minimum_words=3))
    plain.begin()
    plain.write({"manual/a.txt": "one two three", "manual/old/b.txt": "one two four", "README.md": f"{PROSE}\n"})
    plain.write({"manual/image.png": b"PNG one two five\0\0", "manual/large.txt": b"x y z " * 1_000_000})
    assert plain.read("docs_generated").notes == ("documents that count: manual/a.txt",)


def test_rules_that_changed_since_the_cycle_began_hold_from_the_next_one_on(plain: Documents) -> None:
    plain.begin()
    plain.set(documents=DocumentRules(minimum_words=1))
    measured = plain.write({"a.md": "# A\n\nNo.\n"}).read("docs_generated")
    assert measured.metrics == {"docs_generated": 0}
    assert measured.warnings == (
        "what counts as a document was changed in the settings: that applies from the next cycle on",
    )


def test_without_a_memory_it_is_unknown_and_says_what_to_do(plain: Documents) -> None:
    measured = plain.write(GOOD).read()
    assert sorted(NAMES - measured.metrics.keys()) == ["docs_generated"]
    assert measured.metrics["all_diagrams_valid"] is True
    assert measured.warnings == ("docs_generated is unknown: the documents are noted when the next cycle begins",)


# --- decisions


def test_a_near_miss_is_named(plain: Documents) -> None:
    plain.write(
        {
            "docs/adr/0001-state.md": DECISION.replace("Accepted", "{proposed | accepted}"),
            "docs/adr/keep-state.md": DECISION,
            "docs/0001-state.md": DECISION,
        }
    )
    measured = plain.read("has_adr")
    assert measured.metrics == {"has_adr": False}
    assert found(measured, "decision-incomplete") == [
        ("docs/adr/0001-state.md", None, "lacks a real status ({proposed | accepted})"),
    ]


# --- diagrams


def test_a_broken_diagram_is_named_with_its_line(plain: Documents) -> None:
    assert plain.read("all_diagrams_valid").metrics == {"all_diagrams_valid": False}, "there is none"
    plain.write({"docs/context.md": CONTEXT.replace('"uses")', '"uses"'), "flow.mmd": "flowchart TD\n A-->B[\n"})
    measured = plain.read("diagrams_total", "diagrams_valid", "all_diagrams_valid")
    assert measured.metrics == {"diagrams_total": 2, "diagrams_valid": 0, "all_diagrams_valid": False}
    assert found(measured, "diagram-broken") == [
        (
            "docs/context.md",
            9,
            'the Mermaid diagram is broken: unterminated macro call: Rel(a, b, "uses"',
        ),
        ("flow.mmd", 2, "the Mermaid diagram is broken: Unterminated node label (missing `]`)"),
    ]


def test_diagrams_of_all_languages_are_counted(plain: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(plain.root))
    plain.write(
        {
            "a.mmd": 'pie\n "a": 1\n',
            "b/c.mermaid": 'C4Context\n  Person(a, "A")\n',
            "c.puml": "@startuml\nA -> B\n@enduml\n",
        }
    )
    measured = plain.read("diagrams_total", "diagrams_valid", "all_diagrams_valid", "has_c4_diagrams")
    # Nobody can tell about the third one.
    assert measured.metrics == {"diagrams_total": 3, "has_c4_diagrams": True}
    assert measured.warnings == (
        "diagrams_valid is unknown, for c.puml:1: PlantUML is not installed (put plantuml into PATH)",
    )


# --- without the parser of Markdown


def test_without_a_parser_of_markdown_it_is_unknown(plain: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    measured = plain.begin().write(GOOD).read()
    assert measured.metrics == {}
    assert measured.warnings == (f"the documents are unknown: {NO_PARSER}",)
    assert "pytest-phase-gate[documents]" in NO_PARSER


# --- cost

LOADED = (
    "import sys\n"
    "ours = ('evidence.documents.document_metrics', 'evidence.documents.completeness', 'evidence.documents.diagrams')\n"
    "heavy = ('markdown_it', 'merman', *(f'phase_gate.{name}' for name in ours))\n"
    "print(*(name for name in heavy if name in sys.modules))"
)


@pytest.mark.processes
def test_remembering_parses_nothing(plain: Documents) -> None:
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
