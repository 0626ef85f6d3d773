"""Fixtures for all tests: nothing of the machine's own environment reaches an inner run.

yaml, filelock and ruff are imported here, before any inner session: pytester forgets what a session imported,
and compiled parts do not survive a second import.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import filelock  # noqa: F401
import hypothesis
import pytest
import ruff
import yaml  # noqa: F401
from _pytest.config.findpaths import locate_config

import tests.unproven  # noqa: F401  (here: an inner session forgets the modules that it was first to import)
from phase_gate import bound
from phase_gate.evidence import gathering
from phase_gate.workflow.settings import ProofSettings
from tests.integrity.player import ScenarioPlayer
from tests.support import Project
from tests.sweeps import IS_WHOLE, keep_sample
from tests.warm import WITH_PROOF, WITHOUT_EXTRAS, WarmServer, begin_sessions_fast

#: What makes proofs.
PROVER = gathering.PROVER

#: Have environments of their own in tox, and need what is installed there.
collect_ignore = ["browser"]

#: The project's own root, for tests that look at its files.
ROOT = Path(__file__).parent.parent

#: What changes an inner run: containers, CI systems and people set them.
_FAMILIES = ("PHASE_GATE_", "PYTEST_ADDOPTS", "PYTHON", "GITHUB_", "GITLAB_", "GIT_", "PG")
_OTHERS = frozenset({"CI", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "COLUMNS", "LINES"})

_NUMBERS = itertools.count()

# The suite tries the same examples each time: who changes one thing does not meet a failure of another. `tox -e sweeps`
# looks for new ones. Loaded here, because settings are taken over where a test is defined.
hypothesis.settings.register_profile(
    "suite",
    max_examples=200 if IS_WHOLE else 40,
    derandomize=not IS_WHOLE,
    database=None,
    deadline=None,  # a busy machine is no fault of a test
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    folder = Path(config.getoption("basetemp") or tempfile.gettempdir()).resolve()
    if settings := locate_config(folder, [folder])[1]:
        raise pytest.UsageError(f"{settings} would be taken for the settings of the projects of tests: set TMPDIR")
    gc.disable()  # nothing that is collected goes away
    begin_sessions_fast()
    # A shell ignores Ctrl-C for what it starts in the background, and nohup the end of its terminal: what we start
    # would inherit that, and some tests send such signals.
    for name, default in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, default)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    keep_sample(config, items)  # before they are shuffled, so that it is always the same sample
    yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let a worker that is done take over what another one has left: the longest tests are not spread evenly."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


def pytest_collection_finish() -> None:
    # Modules and some ten thousand tests stay to the end: looking through them for garbage takes a tenth of the time.
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home folder around all projects of the tests: neither we nor git look beyond it, whatever lies there."""
    folder = tmp_path_factory.getbasetemp().resolve()
    if hasattr(request.config, "workerinput"):
        folder = folder.parent  # around what the workers share, too
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("USERPROFILE" if os.name == "nt" else "HOME", str(folder))
        patch.setenv("GIT_CEILING_DIRECTORIES", str(folder))
        # A run waits for the disk a dozen times. Whether it does, tests/faults and tests/storage ask `FileSystem`.
        patch.setattr(bound.os, "fsync", lambda descriptor: None)
        yield folder


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, home: Path) -> pytest.MonkeyPatch:
    """Take away what would change an inner run, and give it a user's state directory of its own."""
    for name in list(os.environ):
        if name != "PYTHONPATH" and (name in _OTHERS or name.startswith(_FAMILIES)):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(home))
    # Not made: of thousands of tests few write there, and looking for a free number takes longer with each of them.
    monkeypatch.setenv("XDG_STATE_HOME", str(home / f"user-state-{os.getpid()}-{next(_NUMBERS)}"))
    monkeypatch.setenv("USER", "dev")
    # Inner sessions load our plugin by name; whatever else is installed stays out.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    # Two versions of a module within one second and of one size share a stale cache otherwise.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    # A plain installation, in this process and in those that it starts; `quality_extra` gives the rest back.
    monkeypatch.setitem(sys.modules, "ruff", None)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (WITHOUT_EXTRAS, os.environ.get("PYTHONPATH")))))
    # A proof starts pytest three times and more; thousands of tests end a phase, and few are about proofs.
    monkeypatch.setattr(gathering, "PROVER", "tests.unproven")
    return monkeypatch


@pytest.fixture
def with_proof(clean_environment: pytest.MonkeyPatch) -> None:
    """Proofs are made, as for every user."""
    clean_environment.setattr(gathering, "PROVER", PROVER)
    clean_environment.setenv(WITH_PROOF, "yes")
    clean_environment.setitem(ProofSettings._defaults, "seconds", 600.0)


@pytest.fixture
def quality_extra(clean_environment: pytest.MonkeyPatch) -> None:
    """The extra `quality` is installed."""
    clean_environment.setitem(sys.modules, "ruff", ruff)
    clean_environment.setenv("PYTHONPATH", os.environ["PYTHONPATH"].removeprefix(WITHOUT_EXTRAS).lstrip(os.pathsep))


@pytest.fixture(scope="session")
def children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], WarmServer]]:
    """Return a function that gives the warm server of this session, which starts when it is first asked for."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def start() -> WarmServer:
            return stack.enter_context(contextlib.closing(WarmServer(tmp_path_factory.mktemp("children"))))

        yield start


@pytest.fixture(scope="session")
def player(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScenarioPlayer]:
    """Where scenarios of the corpus are played; what leads to RED is played once, and copied."""
    with contextlib.closing(ScenarioPlayer(tmp_path_factory.mktemp("player"))) as player:
        yield player


@pytest.fixture
def project(
    pytester: pytest.Pytester,
    clean_environment: pytest.MonkeyPatch,
    home: Path,
    children: Callable[[], WarmServer],
) -> Project:
    """An empty project."""
    # pytester makes the project itself the home folder, and then no subfolder of it would find the project.
    clean_environment.setenv("USERPROFILE" if os.name == "nt" else "HOME", str(home))
    return Project(pytester, clean_environment, children)


@pytest.fixture
def red_project(project: Project) -> Project:
    """An honest RED, exited: two failing tests for a calculator. Copied, not played."""
    return project.red()
