"""What tests of verify tasks share."""

from __future__ import annotations

import pytest

from tests.support import Project
from tests.tasks.verifying import Gate


@pytest.fixture
def gate(project: Project, monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(project, monkeypatch)
