"""Hooks that others may implement, in a conftest, a pytest plugin, or an installed package.

The specifications are registered with the first implementation, which does no harm where `--phase` is not given.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest


@pytest.hookspec
def pytest_phase_gate_metrics(
    phase: str, root: Path, wanted: frozenset[str]
) -> Mapping[str, int | float | str | bool | None] | None:
    """Measure something beside the tests.

    Called once at the end of a recorded run whose phase has a condition or a guard that speaks of such names; `wanted`
    are all names that it speaks of. Return names with values; each name has to stand under `metrics:` in
    `phase-gate.yaml` or in the workflow, with its type. A name that two implementations give different values for
    becomes unknown, as does everything of one that raises; both are said in the panel.
    """


@pytest.hookspec
def pytest_phase_gate_guards() -> Mapping[str, Mapping[str, str]] | None:
    """Offer guards: names with `condition`, `remedy` and, if you like, `detail`.

    Called once before the workflow is loaded, so that a phase may name them. A name that is already taken is an error.
    """


@pytest.hookspec
def pytest_phase_gate_workflows() -> Mapping[str, Path] | None:
    """Offer workflows: names with the paths of their YAML files.

    Called once before the workflow is loaded. A name that is already taken is an error.
    """


@pytest.hookspec
def pytest_phase_gate_evaluated(evaluation: Mapping[str, object]) -> None:
    """Look at the verdict of a run that has ended, as its JSON document.

    Called after it was recorded. What is returned is ignored; what is raised is said and changes nothing.
    """
