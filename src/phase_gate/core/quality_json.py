"""Numbers about code as JSON, and back: for what is remembered, and for the cache."""

from __future__ import annotations

from typing import Any

from phase_gate.core.quality import NUMBERS, FileNumbers, FileScore, Function, Lint
from phase_gate.values import fields


def numbers_to_json(file: FileNumbers) -> list[Any]:
    return [
        [[getattr(each, name) for name in fields(Function)] for each in file.functions],
        file.outside,
        [[each.line, each.code, each.message] for each in file.lint],
        [[each.line, each.code, each.message] for each in file.hidden],
    ]


def numbers_from_json(row: list[Any]) -> FileNumbers:
    """Return what `numbers_to_json` wrote. Raises TypeError or ValueError on anything else."""
    functions, outside, lint, hidden = row
    names = fields(Function)
    return FileNumbers(
        functions=tuple(
            Function(**{**dict(zip(names, each, strict=True)), "marks": tuple(each[6]), "lines": tuple(each[7])})
            for each in functions
        ),
        outside=int(outside),
        lint=tuple(Lint(*each) for each in lint),
        hidden=tuple(Lint(*each) for each in hidden),
    )


def score_to_json(score: FileScore) -> list[int]:
    return [getattr(score, name) for name in NUMBERS]


def score_from_json(row: list[int]) -> FileScore:
    return FileScore(**dict(zip(NUMBERS, row, strict=True)))
