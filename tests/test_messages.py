"""Every message of ours has a slug, and every slug an explanation."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import phase_gate
from phase_gate import exit_codes
from phase_gate.cli import main
from phase_gate.errors import MESSAGES, PhaseGateError, StateError
from phase_gate.recording import scan_options

#: What other errors have in common; nobody raises them, so nobody reads their slugs.
BASES = (PhaseGateError, StateError)


def errors() -> list[type[PhaseGateError]]:
    """Return every error of the package, wherever it is defined."""
    for module in pkgutil.walk_packages(phase_gate.__path__, "phase_gate."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return sorted(_below(PhaseGateError), key=lambda error: error.slug)


def _below(error: type[PhaseGateError]) -> Iterator[type[PhaseGateError]]:
    for each in error.__subclasses__():
        if each.__module__.startswith("phase_gate."):
            if each not in BASES:
                yield each
            yield from _below(each)


def test_every_slug_is_explained_and_every_explanation_has_its_slug() -> None:
    assert sorted(error.slug for error in errors()) == sorted(MESSAGES)


def test_no_two_errors_share_a_slug() -> None:
    own = [error for error in errors() if "slug" not in vars(error)]
    assert own == [], "each has one of its own, not its base's"
    assert len({error.slug for error in errors()}) == len(errors())


def test_the_bases_are_never_raised() -> None:
    names = {base.__name__ for base in BASES}
    for path in Path(phase_gate.__path__[0]).rglob("*.py"):
        calls = (node.func for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call))
        assert [name.id for name in calls if isinstance(name, ast.Name) and name.id in names] == [], path


@pytest.mark.parametrize("error", errors(), ids=lambda error: error.slug)
def test_a_slug_can_be_typed_and_its_code_is_in_the_table(error: type[PhaseGateError]) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", error.slug)
    documented = {exit_codes.COMMAND_USAGE, *(code for code, _, _ in exit_codes.MEANINGS)}
    assert error.exit_code in documented - {exit_codes.OPEN}
    shown = str(error("file:1: a problem", remedy="do this"))
    assert shown == f"file:1: a problem [{error.slug}]\n  try: do this"


@pytest.mark.parametrize("slug", MESSAGES)
def test_an_explanation_is_whole_sentences(slug: str) -> None:
    assert re.fullmatch(r".{15,140}\.", MESSAGES[slug])


def test_another_interpreter_is_refused_in_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.implementation, "name", "pypy")
    monkeypatch.setattr(sys, "argv", ["phase-gate", "status"])
    assert main() == exit_codes.COMMAND_USAGE
    assert "this is pypy [other-interpreter]\n  try: run it with CPython" in capsys.readouterr().err
    with pytest.raises(pytest.UsageError, match="this is pypy"):
        scan_options(None)  # type: ignore[arg-type]  # asked before anything else
