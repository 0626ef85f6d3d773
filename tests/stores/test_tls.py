"""A sample of `python -m tests.stores --only TLS`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stores import tls_proofs
from tests.stores.database import is_installed

pytestmark = [
    pytest.mark.processes,
    pytest.mark.sweep,
    pytest.mark.skipif(not tls_proofs.is_installed(), reason="openssl is not installed"),
]


def test_git_by_https(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    assert "lost 0" in tls_proofs.git_by_https(tmp_path, writers=2, changes=2)


@pytest.mark.skipif(not is_installed(), reason="there is no database")
def test_postgresql_by_tls(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    assert "lost 0" in tls_proofs.postgresql_by_tls(tmp_path, writers=2, changes=2)
