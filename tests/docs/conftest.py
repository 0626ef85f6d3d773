"""A door to the warm server, for what is typed into shells."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docs.door import Door
from tests.warm import WarmServer


@pytest.fixture(scope="session")
def door(children: Callable[[], WarmServer]) -> Iterator[Door]:
    # Not below pytest's folder: the name of a socket has a hundred characters at most.
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Door(children, Path(folder))) as door:
        yield door
