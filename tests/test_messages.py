"""Every message of ours has a slug, and every slug an explanation."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import phase_gate
from phase_gate import exit_codes
from phase_gate.cli import main
from phase_gate.errors import MESSAGES, PhaseGateError
from phase_gate.recording import scan_options


def slugs_in_source() -> Iterator[str]:
    """Yield the slug of each class of errors, and each one that is given by name; empty for a class without one."""
    for path in Path(phase_gate.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            match node:
                case ast.ClassDef(name=name, body=body) if name.endswith("Error"):
                    for each in body:
                        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "slug":
                            yield ast.literal_eval(each.value)
                case ast.Call(func=ast.Name(id=name), keywords=given) if name.endswith("Error"):
                    named = [each.value for each in given if each.arg == "slug"]
                    yield from map(ast.literal_eval, named)
                    assert named or name not in ("PhaseGateError", "StateError"), f"{path}:{node.lineno} has no slug"


def test_every_slug_is_explained_and_every_explanation_has_its_slug() -> None:
    assert {*slugs_in_source()} - {""} == {*MESSAGES}


@pytest.mark.parametrize("slug", MESSAGES)
def test_a_slug_can_be_typed_and_its_code_is_in_the_table(slug: str) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", slug)
    error = PhaseGateError("file:1: a problem", remedy="do this", slug=slug)
    documented = {exit_codes.COMMAND_USAGE, *(code for code, _, _ in exit_codes.MEANINGS)}
    assert error.exit_code in documented - {exit_codes.OPEN}
    assert str(error) == f"file:1: a problem [{slug}]\n  try: do this"


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
