"""What tests of verify tasks and pipelines share."""

from __future__ import annotations

import pytest

from tests.support import Project
from tests.tasks.pipelines import Pipe
from tests.tasks.verifying import WRONG, Gate


@pytest.fixture
def pipe(project: Project) -> Pipe:
    return Pipe(project)


@pytest.fixture
def gate(project: Project, monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(project, monkeypatch)


@pytest.fixture
def versioned(gate: Gate) -> Gate:
    """A project in git, with the work still to be done."""
    return gate.in_git(planner=WRONG, other="OTHER = 1\n")
