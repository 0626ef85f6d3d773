"""All that knows pytest: hooks, and a witness that makes one document of a session.

What becomes of the document is the business of `runs` and `shards`. Begin with `session`, then `witness`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from phase_gate.project import Project
    from phase_gate.recording.session import SessionHooks
    from phase_gate.runs.hello import Hello
    from phase_gate.runs.sessions import RecordedSession

__all__ = ["confirm", "look_ahead", "start"]

_hooks_key: pytest.StashKey[SessionHooks] = pytest.StashKey()

#: The value of the hidden option that asks for known tests instead of a baseline.
_KNOWN = "known="


def look_ahead(config: pytest.Config) -> None:
    """Load what the session needs of us, and take the signal and the time, before the project's code runs.

    What our modules call is bound when they are imported: a test that leaves `os.replace` mocked does not reach it.
    """
    if sys.implementation.name != "cpython":
        _refuse_interpreter()
    # On a worker next to nothing is needed. The variable alone may be inherited, or set to have us look too late.
    if "PYTEST_XDIST_WORKER" not in os.environ or "execnet" not in sys.modules:
        import phase_gate.recording.session  # noqa: F401  (it is needed when the tests have run)
        from phase_gate.recording.hello import beginning

        beginning(config)


def _refuse_interpreter() -> None:
    from phase_gate.errors import PhaseGateError, require_cpython

    try:
        require_cpython()
    except PhaseGateError as error:
        raise pytest.UsageError(str(error)) from None


#: What makes a shard of a session, from its project, what it asks for, and the options of plugins that split suites.
MakeShard = Callable[["Project", "Hello", Mapping[str, object]], "RecordedSession"]


def start(config: pytest.Config, make_shard: MakeShard | None = None) -> None:
    """Begin to record: on a worker send what only it sees, elsewhere keep the record."""
    if hasattr(config, "workerinput"):
        _start_worker(config)
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
    """Return what becomes of the session, after reading everything that can be wrong before a test runs."""
    from phase_gate.recording.hello import find_project, read_hello, void_option

    project, option = find_project(config), config.option
    if option.phase is None:
        from phase_gate.runs.baseline import BaselineSession, KnownTests

        asked: str = option.phase_baseline
        if asked.startswith(_KNOWN):
            return KnownTests(project, asked.removeprefix(_KNOWN))
        return BaselineSession(project, asked)
    hello = read_hello(config)
    if make_shard is not None:
        return make_shard(project, hello, vars(option))
    from phase_gate.runs.sessions import TestRun

    return TestRun(project, hello, is_void=bool(void_option(config)))


def _start_worker(config: pytest.Config) -> None:
    from phase_gate.codec import from_json
    from phase_gate.recording.witness import CHANNEL, Witness, WorkerHooks
    from phase_gate.runs.hello import Wanted

    os.environ.pop("PHASE_GATE_PHASE", None)  # what the tests start is none of a verify command's runs
    workerinput: dict[str, object] = config.workerinput  # type: ignore[attr-defined]
    wanted = from_json(Wanted, workerinput.get(CHANNEL, {"root": "."}))
    witness = Witness(config, wanted)
    witness.register(phase_gate_witness=witness, phase_gate_worker=WorkerHooks(config, witness))
    if wanted.reasons:
        from pathlib import Path

        from phase_gate.recording.reasons import ReasonHooks

        config.pluginmanager.register(ReasonHooks(Path(wanted.root)), "phase_gate_reasons")


def confirm(config: pytest.Config) -> int | None:
    """Run again in fresh processes where that was asked for; return the last status, None if nothing was run."""
    hooks = config.stash.get(_hooks_key, None)
    if hooks is None or hooks.process.is_left():
        return None
    return hooks.session.confirm()
