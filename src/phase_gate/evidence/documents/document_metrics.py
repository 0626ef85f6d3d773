"""Measure the documents: which count, which diagrams are valid, which decision records are complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from phase_gate.codec import from_json
from phase_gate.evidence.context import EvidenceContext
from phase_gate.evidence.documents.completeness import find_changed, find_fault, find_missing, is_numbered
from phase_gate.evidence.documents.diagrams import (
    NO_MERMAN,
    WORDS,
    Checked,
    Diagram,
    check_mermaid,
    check_plantuml,
    find_in_file,
    find_on_page,
    is_c4,
    refuse_empty,
)
from phase_gate.evidence.documents.library import Catalogue, Library, Seen
from phase_gate.gate.measured import Finding, Measured
from phase_gate.visible import name_first
from phase_gate.workflow.metrics import MetricValue

#: The message if Markdown can't be parsed.
NO_PARSER = "no parser for Markdown is installed (pip install 'pytest-phase-gate[documents]')"
_DIAGRAM_NAMES = frozenset({"diagrams_total", "diagrams_valid", "has_c4_diagrams"})


class DocumentMeasurement:
    """Collects metrics, findings and warnings, part by part."""

    def __init__(self, context: EvidenceContext) -> None:
        self._context = context
        memory: Mapping[str, Any] | None = context.recall("documents")
        self._before: dict[str, Seen] | None = None
        catalogue = Catalogue.of(context.configuration)
        self._warnings: list[str] = []
        if memory is not None:
            self._before = {path: Seen(*hashes) for path, hashes in memory["documents"].items()}
            if from_json(Catalogue, memory["rules"]) != catalogue:
                catalogue = from_json(Catalogue, memory["rules"])
                said = "what counts as a document was changed in the settings"
                self._warnings.append(f"{said}: that applies from the next cycle on")
        self._catalogue = catalogue
        self._library = Library(context, catalogue)
        self._metrics: dict[str, MetricValue] = {}
        self._findings: list[Finding] = []
        self._told: dict[str, str] = {}
        self._missing_extra = ""

    def measure(self) -> Measured:
        wanted = self._context.wanted
        parts = (
            (_DIAGRAM_NAMES, self._measure_diagrams),
            (frozenset({"docs_generated"}), self._measure_documents),
            (frozenset({"has_adr"}), self._measure_decisions),
        )
        try:
            for names, measure in parts:
                if wanted & names:
                    measure()
        except ImportError:
            self._warnings.append(f"the documents are unknown: {NO_PARSER}")
            self._missing_extra = "documents"
        return Measured(
            metrics={name: value for name, value in self._metrics.items() if name in wanted},
            findings=tuple(self._findings),
            told=self._told,
            warnings=tuple(self._warnings),
            missing_extra=self._missing_extra,
        )

    # --- documents

    def _measure_documents(self) -> None:
        if self._before is None:
            self._warnings.append("docs_generated is unknown: the documents are noted when the next cycle begins")
            return
        counted = []
        for path, fault in find_changed(self._library.seen(), self._before).items():
            fault = fault or find_fault(self._library.page(path), minimum_words=self._catalogue.rules.minimum_words)
            if fault:
                self._find("document-not-counted", path, f"does not count: {fault}")
            else:
                counted.append(path)
        self._metrics["docs_generated"] = len(counted)
        if counted:
            self._told["docs_generated"] = f"documents that count: {', '.join(counted)}"

    # --- decisions

    def _measure_decisions(self) -> None:
        records = [path for path in self._library.decisions if is_numbered(path)]
        missing = {path: find_missing(self._library.page(path)) for path in records}
        is_whole = not all(missing.values())
        self._metrics["has_adr"] = is_whole
        for path, words in missing.items():
            # Ignore old records if there is a complete one.
            is_new = self._before is not None and path not in self._before
            if words and (is_new or not is_whole):
                said = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
                self._find("decision-incomplete", path, f"lacks {said}")

    # --- diagrams

    def _measure_diagrams(self) -> None:
        found = list(self._find_diagrams())
        checked = sorted(map(refuse_empty, self._check(found)), key=lambda each: _place(each.diagram))
        broken = [each for each in checked if each.flaw is not None]
        unknown = [each for each in checked if each.unknown]
        for each in broken:
            assert each.flaw is not None
            detail = f"the {each.diagram.language} diagram is broken: {each.flaw.why}"
            self._find("diagram-broken", each.diagram.file, detail, each.flaw.line)
        self._metrics["diagrams_total"] = len(checked)
        self._metrics["has_c4_diagrams"] = any(is_c4(each.diagram) for each in checked if each.flaw is None)
        if not unknown:
            self._metrics["diagrams_valid"] = len(checked) - len(broken)
        for reason in dict.fromkeys(each.unknown for each in unknown):
            places = [f"{each.diagram.file}:{each.diagram.line}" for each in unknown if each.unknown == reason]
            named = name_first(places, 1)
            self._warnings.append(f"diagrams_valid is unknown, for {named}: {reason}")
            if reason == NO_MERMAN:
                self._missing_extra = "mermaid"

    def _find_diagrams(self) -> Iterator[Diagram]:
        for path in self._library.diagrams:
            yield from find_in_file(self._library.text(path) or "", path)
        for path in self._library.documents:
            text = (self._library.text(path) or "").lower()
            if any(word in text for word in WORDS):
                yield from find_on_page(self._library.page(path), path)

    def _check(self, diagrams: list[Diagram]) -> Iterator[Checked]:
        yield from check_mermaid([each for each in diagrams if each.language == "Mermaid"])
        plantuml = [each for each in diagrams if each.language == "PlantUML"]
        yield from check_plantuml(plantuml, self._context.root, timeout=self._context.configuration.documents.timeout)

    # --- findings

    def _find(self, slug: str, path: str, detail: str, line: int | None = None) -> None:
        self._findings.append(Finding(slug=slug, tier="advisory", file=path, line=line, detail=detail))


def _place(diagram: Diagram) -> tuple[str, int]:
    return diagram.file, diagram.line
