"""Is what pytest reports what the tests did? Registered where tests run, on workers too.

By arithmetic alone: a test that raised and is reported as passed, one that vanished without a word, a part of us that
is gone. Nothing here traces, profiles or patches the run. What tampers with outcomes in other ways is the experiment's
to show, in a process of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from types import CodeType

import pytest

from phase_gate.gate.findings import Finding
from phase_gate.storage.ownership import Ownership, files_of

_GUARD = "outcomes-genuine"
_MODIFY = "pytest_collection_modifyitems"


class OutcomeWitness:
    """Collects what makes the session's outcomes doubtful."""

    def __init__(self, config: pytest.Config, root: Path, *, drops_matter: bool = True) -> None:
        #: In a shard a plugin drops what others run; whether each test ran somewhere is looked at when all are there.
        self._drops_matter = drops_matter
        self._config, self.ownership = config, Ownership(root)
        self._rewritten: list[Finding] = []
        self._dropped: list[str] = []
        self._deselected: set[str] = set()
        self._guarded: dict[str, tuple[object, list[str]]] = {}

    def guard(self, **plugins: object) -> None:
        """Register parts of this plugin, and notice if other code takes one away."""
        manager = self._config.pluginmanager
        for name, plugin in plugins.items():
            manager.register(plugin, name)
            self._guarded[name] = (plugin, list(_callers(manager, plugin)))

    def doubts(self) -> tuple[Finding, ...]:
        """Return what was found, after a last look."""
        manager = self._config.pluginmanager
        removed = [
            name
            for name, (plugin, callers) in self._guarded.items()
            if manager.get_plugin(name) is not plugin or list(_callers(manager, plugin)) != callers
        ]
        optimized = ["PYTHONOPTIMIZE"] if sys.flags.optimize else []
        return (
            *self._rewritten,
            *_doubt("asserts-off", "python -O leaves assert statements out", optimized),
            *_doubt("test-dropped", "taken out of the session without a deselect event", self._dropped),
            *_doubt("plugin-removed", "this part of phase-gate was taken out of the session", removed),
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.ownership.also(str(session.config.rootpath))

    @pytest.hookimpl(tryfirst=True)
    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[object], report: pytest.TestReport
    ) -> None:
        # Called for every exception but those of skips and expected failures, whatever became of the report. Where a
        # plugin is going to run a test again, its report says "failed" here, and is not logged.
        if isinstance(node, pytest.Item) and report.outcome == "passed" and call.excinfo is not None:
            said = f"raised {call.excinfo.typename}, reported as passed"
            self._rewritten += _doubt("outcome-rewritten", said, [node.nodeid])

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected |= {item.nodeid for item in items}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        # What an installed distribution leaves out is its own business.
        matters = self._drops_matter and self._is_implemented_by_project(_MODIFY)
        before = [item.nodeid for item in items] if matters else []
        result = yield
        kept = {item.nodeid for item in items} | self._deselected if matters else set()
        for node in () if kept.issuperset(before) else before:
            # xdist puts a group behind the id; the test is still there.
            if node not in kept and not any(other.startswith(f"{node}@") for other in kept):
                self._dropped.append(node)
        return result

    def _is_implemented_by_project(self, hook: str) -> bool:
        """Tell whether code that no distribution installed implements a hook."""
        # The manager's relay, not `config.hook`: up to pytest 8 that one stands functions before some hooks.
        for implementation in getattr(self._config.pluginmanager.hook, hook).get_hookimpls():
            code = getattr(implementation.function, "__code__", None)
            # The plugin is asked, too: a conftest may offer another module's function as its hook.
            files = {code.co_filename} if isinstance(code, CodeType) else set()
            if any(map(self.ownership.is_foreign, files | files_of(implementation.plugin))):
                return True
        return False


def _doubt(slug: str, detail: str, names: Iterable[str]) -> Iterator[Finding]:
    for name in names:
        file = name.partition("::")[0] if "::" in name else ""
        yield Finding(slug=slug, guard=_GUARD, tier="hard", id=name, file=file, detail=detail)


def _callers(manager: pytest.PytestPluginManager, plugin: object) -> Iterator[str]:
    """Yield the hooks that call a part of this plugin."""
    for name in dir(plugin):
        caller = getattr(manager.hook, name, None) if name.startswith("pytest_") else None
        if caller is not None and any(each.plugin is plugin for each in caller.get_hookimpls()):
            yield name
