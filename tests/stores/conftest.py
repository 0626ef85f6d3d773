"""A database for the tests of stores, where its server is installed: else they are not among the tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from phase_gate.stores.choosing import StoreAddress, parse_address
from tests.storage.conftest import fake_git as fake_git
from tests.storage.conftest import plain_git as plain_git
from tests.stores.database import Database, is_installed, shared_database

#: Here, and not in an inner session: compiled parts do not survive a second import.
HAS_DATABASE = is_installed()

collect_ignore = [] if HAS_DATABASE else ["test_postgresql_store.py"]

_NUMBERS = itertools.count()


@pytest.fixture
def database(clean_environment: pytest.MonkeyPatch) -> Database:
    found = shared_database()
    clean_environment.setenv("PGPASSFILE", str(found.passwords))
    return found


@pytest.fixture
def address(database: Database) -> Callable[..., StoreAddress]:
    """Return a function that gives the address of a project of its own, as a user."""
    project = f"p{next(_NUMBERS)}"
    return lambda user="dev", **words: parse_address(f"{database.place(user, **words)}#{project}")
