"""A plugin for `tox -e fast`: a test that starts a process fails, unless it says so with the mark `processes`."""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

#: What Python tells its auditors before it starts a process or becomes another one.
_STARTS = frozenset(
    {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn", "subprocess.Popen"}
)

#: The test that runs; between tests, workers may start.
_running: list[str] = []


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if _running and event in _STARTS:
        raise AssertionError(f"{_running[-1]} starts a process ({event}): mark it with `processes`")


sys.addaudithook(_refuse)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _running.append(item.nodeid)
    try:
        return (yield)
    finally:
        _running.pop()
