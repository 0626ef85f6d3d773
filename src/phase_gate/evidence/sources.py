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


def list_sources(context: EvidenceContext, *, aside: frozenset[str] | None = None) -> list[str]:
    """Return the files to look at, sorted: Python, neither tests nor documents, as the configuration has it.

    :param aside: files beside tests and documents, as they were. One that has come since is looked at: code does not
        get better by being moved there.
    """
    settings = context.configuration.quality
    included, excluded = compile_globs(settings.include), compile_globs(settings.exclude)
    tests, beside = context.known_tests(), _beside(context)

    def is_source(path: str) -> bool:
        if not path.endswith(".py") or path in tests or is_named_like_test(path):
            return False
        if (settings.include and not included(path)) or excluded(path):
            return False
        return not beside(path) or (aside is not None and path not in aside)

    return context.list_files(is_source)


def list_aside(context: EvidenceContext) -> list[str]:
    """Return the Python files that stand beside tests and documents and are not looked at."""
    beside = _beside(context)
    return context.list_files(lambda path: path.endswith(".py") and beside(path))


def _beside(context: EvidenceContext) -> Any:
    is_document = compile_globs(context.configuration.docs)
    return lambda path: is_document(path) or is_in_test_folder(path)


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
