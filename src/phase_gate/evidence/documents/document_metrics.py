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
    Diagram,
    check,
    find_in_file,
    find_on_page,
    is_c4,
)
from phase_gate.evidence.documents.library import Catalogue, Library
from phase_gate.gate.measured import Finding, Measured, join
from phase_gate.values import replace
from phase_gate.visible import name_first
from phase_gate.workflow.metrics import MetricValue

#: The message if Markdown can't be parsed.
NO_PARSER = "no parser for Markdown is installed (pip install 'pytest-phase-gate[documents]')"
_DIAGRAM_NAMES = frozenset({"diagrams_total", "diagrams_valid", "all_diagrams_valid", "has_c4_diagrams"})


def measure_documents(context: EvidenceContext) -> Measured:
    """Measure what the rules ask for. What counts as a document is decided when the cycle begins."""
    memory: Mapping[str, Any] | None = context.recall("documents")
    before = None if memory is None else memory["documents"]
    now = Catalogue.of(context.configuration)
    catalogue = now if memory is None else from_json(Catalogue, memory["rules"])
    library, wanted, found = Library(context, catalogue), context.wanted, Measured()
    if catalogue != now:
        warning = "what counts as a document was changed in the settings: that applies from the next cycle on"
        found = Measured(warnings=(warning,))
    try:
        if wanted & _DIAGRAM_NAMES:
            found = join((found, _measure_diagrams(library, context)))
        if "docs_generated" in wanted:
            found = join((found, _count_documents(library, before, catalogue.rules.minimum_words)))
        if "has_adr" in wanted:
            found = join((found, _measure_decisions(library, before)))
    except ImportError:
        warning = f"the documents are unknown: {NO_PARSER}"
        found = join((found, Measured(warnings=(warning,), missing_extra="documents")))
    return replace(found, metrics={name: value for name, value in found.metrics.items() if name in wanted})


def _count_documents(library: Library, before: Mapping[str, str] | None, minimum_words: int) -> Measured:
    if before is None:
        return Measured(warnings=("docs_generated is unknown: the documents are noted when the next cycle begins",))
    faults = {
        path: fault or find_fault(library.page(path), minimum_words=minimum_words)
        for path, fault in find_changed(library.seen(), before).items()
    }
    counted = [path for path, fault in faults.items() if not fault]
    return Measured(
        metrics={"docs_generated": len(counted)},
        findings=tuple(
            _finding("document-not-counted", path, f"does not count: {fault}")
            for path, fault in faults.items()
            if fault
        ),
        notes=(f"documents that count: {', '.join(counted)}",) if counted else (),
    )


def _measure_decisions(library: Library, before: Mapping[str, str] | None) -> Measured:
    missing = {path: find_missing(library.page(path)) for path in library.decisions if is_numbered(path)}
    is_whole = not all(missing.values())
    findings = []
    for path, words in missing.items():
        # Ignore old records if there is a complete one.
        is_new = before is not None and path not in before
        if words and (is_new or not is_whole):
            text = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
            findings.append(_finding("decision-incomplete", path, f"lacks {text}"))
    return Measured(metrics={"has_adr": is_whole}, findings=tuple(findings))


def _measure_diagrams(library: Library, context: EvidenceContext) -> Measured:
    checked = check(_find_diagrams(library), context.root)
    broken = [each for each in checked if each.flaw]
    metrics: dict[str, MetricValue] = {
        "diagrams_total": len(checked),
        "has_c4_diagrams": any(is_c4(each.diagram) for each in checked if not each.flaw),
    }
    unknown: dict[str, list[str]] = {}
    for each in checked:
        if each.unknown:
            unknown.setdefault(each.unknown, []).append(f"{each.diagram.file}:{each.diagram.line}")
    if not unknown:
        metrics |= {"diagrams_valid": len(checked) - len(broken), "all_diagrams_valid": bool(checked) and not broken}
    return Measured(
        metrics=metrics,
        findings=tuple(
            _finding(
                "diagram-broken",
                each.diagram.file,
                f"the {each.diagram.language} diagram is broken: {each.flaw}",
                each.line,
            )
            for each in broken
        ),
        warnings=tuple(
            f"diagrams_valid is unknown, for {name_first(places, 1)}: {reason}" for reason, places in unknown.items()
        ),
        missing_extra="mermaid" if NO_MERMAN in unknown else "",
    )


def _find_diagrams(library: Library) -> Iterator[Diagram]:
    for path in library.diagrams:
        yield from find_in_file(library.text(path) or "", path)
    for path in library.documents:
        text = (library.text(path) or "").lower()
        if any(word in text for word in WORDS):
            yield from find_on_page(library.page(path), path)


def _finding(slug: str, path: str, detail: str, line: int | None = None) -> Finding:
    return Finding(slug=slug, tier="advisory", file=path, line=line, detail=detail)
