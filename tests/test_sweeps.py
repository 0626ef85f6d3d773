"""What the sample of the suite never leaves out."""

from __future__ import annotations

import pytest

from tests.clause_report import load_criteria
from tests.conftest import ROOT
from tests.integrity.player import EXPERIMENTS
from tests.sweeps import KEPT, shown_by


@pytest.mark.parametrize(
    ("folders", "mark", "wanted"),
    [
        pytest.param(["cli", "drive", "e2e", "tasks"], "criterion", set(load_criteria()), id="clauses"),
        pytest.param(["integrity"], "cheats", set(range(1, 60)), id="false-greens"),
        pytest.param(["integrity"], "shows", {*EXPERIMENTS.values()}, id="experiments"),
    ],
)
def test_none_is_lost(request: pytest.FixtureRequest, folders: list[str], mark: str, wanted: set[object]) -> None:
    """In a run of the whole suite, or of these folders."""
    config = request.config
    given = {(config.invocation_params.dir / argument).resolve() for argument in config.args}
    if all(given & {folder, *folder.parents} for folder in map((ROOT / "tests").joinpath, folders)):
        shown = {each for item in config.stash[KEPT] for name, each in shown_by(item) if name == mark}
        assert wanted - shown == set()
