"""Hooks for a conftest, a pytest plugin, or an installed package.

The specifications are registered with the first implementation. Without `--phase` they do nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest


@pytest.hookspec
def pytest_phase_gate_metrics(
    phase: str, root: Path, wanted: frozenset[str]
) -> Mapping[str, int | float | str | bool | None] | None:
    """Measure your own metrics.

    Called once at the end of a recorded run if a condition or guard of the phase uses such metrics; `wanted` has their
    names. Return names with values. Declare each name with its type under `metrics:` in `phase-gate.yaml` or in the
    workflow. A metric is unknown if two implementations return different values, or if its implementation raises; the
    panel reports both.
    """


@pytest.hookspec
def pytest_phase_gate_guards() -> Mapping[str, Mapping[str, str]] | None:
    """Offer guards: names with `condition`, `remedy` and optionally `detail`.

    Called once before the workflow is loaded, so that phases can use them. A duplicate name is an error.
    """


@pytest.hookspec
def pytest_phase_gate_workflows() -> Mapping[str, Path] | None:
    """Offer workflows: names with the paths of their YAML files.

    Called once before the workflow is loaded. A duplicate name is an error.
    """


@pytest.hookspec
def pytest_phase_gate_evaluated(evaluation: Mapping[str, object]) -> None:
    """Receive the verdict of a run as a JSON document.

    Called after it was recorded. Return values are ignored. An exception is reported and changes nothing.
    """
