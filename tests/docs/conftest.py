"""The warm server, for what is typed into shells."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.docs.warm_shell import WarmShell
from tests.warm import WarmServer


@pytest.fixture(scope="session")
def shell(children: Callable[[], WarmServer]) -> Iterator[WarmShell]:
    # Not below pytest's folder: the name of a socket has a hundred characters at most.
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(WarmShell(children, Path(folder))) as shell:
        yield shell
