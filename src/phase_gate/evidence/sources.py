"""Which Python files are the project's own code, and what they were when a cycle began."""

from __future__ import annotations

import hashlib
import importlib.util
from typing import Any

from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import Measured
from phase_gate.source.pytest_settings import is_in_test_folder, is_named_like_test
from phase_gate.storage.tree.fingerprint import compile_globs


class SourcesProvider(Provider):
    """Measures nothing: `quality` asks for what it remembers."""

    def measure(self, context: EvidenceContext) -> Measured:
        return Measured()

    def remember(self, context: EvidenceContext) -> Any:
        if not context.configuration.quality.enabled or not has_ruff():
            return None
        return {path: content_id(data) for path, data in read_files(context, list_sources(context)).items()}


PROVIDER = SourcesProvider()


def has_ruff() -> bool:
    """Tell whether ruff is installed. Looks for it only: importing takes longer."""
    return importlib.util.find_spec("ruff") is not None


def list_sources(context: EvidenceContext) -> list[str]:
    """Return the files to look at, sorted: Python, neither tests nor documents, as the configuration has it."""
    settings, tests = context.configuration.quality, context.known_tests()
    included, excluded = compile_globs(settings.include), compile_globs(settings.exclude)
    is_document = compile_globs(context.configuration.docs)

    def is_source(path: str) -> bool:
        if not path.endswith(".py") or path in tests or is_named_like_test(path) or is_in_test_folder(path):
            return False
        return (not settings.include or included(path)) and not excluded(path) and not is_document(path)

    return context.list_files(is_source)


def read_files(context: EvidenceContext, paths: list[str]) -> dict[str, bytes]:
    """Return what is in the files; one that can't be read has vanished, or is none."""
    found: dict[str, bytes] = {}
    for path in paths:
        try:
            found[path] = (context.root / path).read_bytes()
        except OSError:
            continue
    return found


def content_id(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
