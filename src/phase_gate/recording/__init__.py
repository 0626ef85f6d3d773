"""The pytest side: hooks, and a witness that turns a session into one document.

`runs` and `shards` process the document. Begin with `session`, then `witness`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from phase_gate.project import Project
    from phase_gate.recording.session import SessionHooks
    from phase_gate.runs.hello import Hello
    from phase_gate.runs.sessions import RecordedSession

__all__ = ["confirm", "scan_options", "start"]

_hooks_key: pytest.StashKey[SessionHooks] = pytest.StashKey()

#: The value of the hidden option that requests known tests instead of a baseline.
_KNOWN = "known="


def scan_options(config: pytest.Config) -> None:
    """Import our modules, and record the signal and the start time, before the project's code runs.

    Our modules bind the functions they call at import, so a test that leaves `os.replace` mocked does not affect them.
    """
    if sys.implementation.name != "cpython":
        _refuse_interpreter()
    # A worker needs almost none of this. The variable alone is no proof: it can be inherited, or set to delay us.
    if "PYTEST_XDIST_WORKER" not in os.environ or "execnet" not in sys.modules:
        import phase_gate.recording.session  # noqa: F401  (it is needed when the tests have run)
        from phase_gate.recording.request import beginning

        beginning(config)


def _refuse_interpreter() -> None:
    from phase_gate.errors import PhaseGateError, require_cpython

    try:
        require_cpython()
    except PhaseGateError as error:
        raise pytest.UsageError(str(error)) from None


#: Makes the shard of a session from its project, its `Hello`, and the value of `--phase-shard`.
MakeShard = Callable[["Project", "Hello", str], "RecordedSession"]


def start(config: pytest.Config, make_shard: MakeShard | None = None) -> None:
    """Start recording: a worker sends its observations, any other process keeps the record."""
    if hasattr(config, "workerinput"):
        from phase_gate.recording.workers import start_worker

        start_worker(config)
        return
    from phase_gate import exit_codes
    from phase_gate.errors import NotAllowedError, PhaseGateError, StoreUnreachableError
    from phase_gate.recording.session import SessionHooks

    try:
        session = _choose(config, make_shard)
    except NotAllowedError as error:
        pytest.exit(str(error), returncode=exit_codes.NOT_ALLOWED)
    except PhaseGateError as error:
        if config.option.phase is None and isinstance(error, StoreUnreachableError):
            pytest.exit(str(error), returncode=error.exit_code)
        raise pytest.UsageError(str(error)) from error
    hooks = config.stash[_hooks_key] = SessionHooks(config, session)
    hooks.register()


def _choose(config: pytest.Config, make_shard: MakeShard | None) -> RecordedSession:
    """Return the kind of session to record, after all checks that can fail before a test runs."""
    from phase_gate.recording.request import find_project, read_hello, void_option

    project, option = find_project(config), config.option
    if option.phase is None:
        from phase_gate.runs.baseline import BaselineSession, KnownTests

        asked: str = option.phase_baseline
        if asked.startswith(_KNOWN):
            return KnownTests(project, asked.removeprefix(_KNOWN))
        return BaselineSession(project, asked)
    hello = read_hello(config)
    if make_shard is not None:
        return make_shard(project, hello, option.phase_shard)
    from phase_gate.runs.sessions import TestRun

    return TestRun(project, hello, is_void=bool(void_option(config)))


def confirm(config: pytest.Config) -> int | None:
    """Rerun in fresh processes if requested. Return the last exit status, or None without a rerun."""
    hooks = config.stash.get(_hooks_key, None)
    if hooks is None or hooks.process.is_left():
        return None
    return hooks.session.confirm()
