"""Find the Python files of the project's own code, and remember their content at the start of a cycle."""

from __future__ import annotations

import importlib.util
from typing import Any

from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import Measured
from phase_gate.source.pytest_settings import is_in_test_folder, is_named_like_test
from phase_gate.storage.tree.fingerprint import compile_globs


class SourcesProvider(Provider):
    """Measures nothing. It remembers data for `quality`."""

    def measure(self, context: EvidenceContext) -> Measured:
        return Measured()

    def remember(self, context: EvidenceContext) -> Any:
        if not context.configuration.evidence.quality.enabled or not has_ruff():
            return None
        return take_sources(context)


PROVIDER = SourcesProvider()


def has_ruff() -> bool:
    """Return whether ruff is installed. Does not import it, which would take longer."""
    return importlib.util.find_spec("ruff") is not None


def list_sources(context: EvidenceContext) -> list[str]:
    """Return the sorted Python files that are neither tests nor documents, according to the configuration."""
    settings, tests = context.configuration.evidence.quality, context.known_tests()
    included, excluded = compile_globs(settings.include), compile_globs(settings.exclude)
    is_document = compile_globs(context.configuration.docs)

    def is_source(path: str) -> bool:
        if not path.endswith(".py") or path in tests or is_named_like_test(path) or is_in_test_folder(path):
            return False
        return (not settings.include or included(path)) and not excluded(path) and not is_document(path)

    return context.list_files(is_source)


def take_sources(context: EvidenceContext) -> dict[str, str]:
    """Return path -> content id of these files."""
    files = context.files()
    return {path: files[path] for path in list_sources(context) if path in files}


def read_files(context: EvidenceContext, paths: list[str]) -> dict[str, bytes]:
    """Return path -> content, without files that can't be read, for example because they were deleted."""
    found: dict[str, bytes] = {}
    for path in paths:
        try:
            found[path] = (context.root / path).read_bytes()
        except OSError:
            continue
    return found
