"""A sample of `python -m tests.stores`: the same functions with small numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores import postgresql_proofs, proofs
from tests.stores.database import is_installed, shared_database
from tests.stores.postgresql_proofs import Places

pytestmark = pytest.mark.processes

if is_installed():

    @pytest.fixture
    def places(clean_environment: pytest.MonkeyPatch) -> Iterator[Places]:
        with postgresql_proofs.serve(shared_database()) as places:
            yield places

    def test_machines_at_once(places: Places, tmp_path: Path) -> None:
        said = proofs.writers_at_once(places("sample-writers"), tmp_path, writers=3, changes=3)
        assert "9 acknowledged" in said

    def test_clocks_apart(places: Places, tmp_path: Path) -> None:
        assert "lost 0" in proofs.clocks_apart(places("sample-clocks"), tmp_path, changes=2)

    def test_clients_that_are_killed(places: Places, tmp_path: Path) -> None:
        said = postgresql_proofs.clients_killed(places, shared_database(), tmp_path, every=19)
        assert "doubled 0" in said
