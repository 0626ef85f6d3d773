"""Witnesses that an outcome is the test's own. Registered where tests run, on workers too.

Cheap looks always; the costly ones (what each test raised, whether its code ran) only where code of the project itself
could change a result. A hook that only adds an attribute, as pytest's own docs show, is fine.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

import pytest

from phase_gate.gate.findings import Finding
from phase_gate.recording.early import start_snapshot
from phase_gate.recording.tamper.exchanged import find_exchanged
from phase_gate.storage.ownership import Ownership, files_of

if TYPE_CHECKING:
    from phase_gate.recording.tamper.definitions import TestCode
    from phase_gate.recording.tamper.result_watch import ResultWatch

#: Hooks through which what runs can be changed, when tests are collected: each test is looked at once, then.
_COLLECTION_HOOKS = frozenset(
    (
        *("pytest_collection_modifyitems", "pytest_collection_finish", "pytest_itemcollected", "pytest_collect_file"),
        *("pytest_pycollect_makeitem", "pytest_pycollect_makemodule", "pytest_make_collect_report"),
    )
)
#: Hooks through which a result can be changed; with a foreign implementation of one of the others we watch every test.
RESULT_HOOKS = (
    "pytest_runtest_makereport",
    "pytest_runtest_logreport",
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_runtest_teardown",
    "pytest_pyfunc_call",
    "pytest_runtestloop",
    "pytest_collection_modifyitems",
    "pytest_collection_finish",
    "pytest_itemcollected",
    "pytest_pycollect_makeitem",
    "pytest_pycollect_makemodule",
    "pytest_collect_file",
    "pytest_make_collect_report",
    "pytest_fixture_setup",
    "pytest_report_to_serializable",
    "pytest_report_from_serializable",
    "pytest_handlecrashitem",
)
#: Words of code that reaches into pytest: what it does may be undone by the time we look, so each test is watched.
_REACHES_IN = (
    rb"\b_pytest\b|pluggy|phase_gate|pluginmanager|TestReport|CallInfo|runtest|pyfunc|__code__|\.node\b"
    rb"|pytest\.(?:Function|Item|Session|Module|Class)\b|unittest\.(?:TestCase|case)\.\w+ *="
)
#: The same in a source that is no part of the tests. Many look at `__code__`, have nodes, or plugins of their own: only
#: words count that an honest source has no use for, such as writing to what others only read.
_REACHES_OVER = (
    rb"\b_pytest\b|pluggy\._|phase_gate|_hookimpls|_hookexec|pyfuncitem|\.runtest\b|request\.node\b"
    rb"|__code__ *=[^=]|setattr\([^\n]{0,200}__code__"
    rb"|\bpytest\.(?:Function|Item|Session|Module|Class|TestReport|CallInfo)\b"
    rb"|\bfrom +pytest +import\b[^\n]{0,200}\b(?:Function|Item|Session|Module|Class|TestReport|CallInfo)\b"
    rb"|unittest\.(?:TestCase|case)\.\w+ *=[^=]"
)
#: One of these stands in whatever an expression finds. Most files have none, which a plain search sees far sooner.
_HINTS = (
    *(b"pytest", b"plug", b"phase_gate", b"TestReport", b"CallInfo", b"runtest", b"pyfunc", b"__code__", b".node"),
    *(b"unittest.", b"_hook"),
)
_USES_PYTEST = rb"(?m)^[ \t\f]*+(?:import|from) +pytest\b"
_GUARD = "outcomes-genuine"


def reaches_in(source: bytes, is_test_code: Callable[[], bool] = lambda: True) -> bool:
    """Tell whether a file has words of code that reaches into pytest.

    :param is_test_code: asked only if that makes a difference; what imports pytest is, wherever it lies.
    """
    if not any(hint in source for hint in _HINTS):
        return False
    if re.search(_REACHES_OVER, source) is not None:
        return True
    return re.search(_REACHES_IN, source) is not None and (
        re.search(_USES_PYTEST, source) is not None or is_test_code()
    )


class OutcomeWitness:
    """Collects what makes the session's outcomes doubtful."""

    def __init__(self, config: pytest.Config, root: Path, *, drops_matter: bool = True) -> None:
        #: In a shard a plugin drops what others run; whether each test ran somewhere is looked at when all are there.
        self._drops_matter = drops_matter
        self._config, self.ownership = config, Ownership(root)
        self._early = start_snapshot(config)
        self._doubts: dict[str, Finding] = {}
        self._deselected: set[str] = set()
        self._codes: dict[str, TestCode] = {}
        self._session: pytest.Session | None = None
        self._watch: ResultWatch | None = None
        self._test_files: frozenset[str] | None = None
        self._guarded: dict[str, tuple[object, list[str]]] = {}
        #: Foreign implementations of result-changing hooks, as `file: hook`.
        self.foreign_hooks: tuple[str, ...] = ()
        if sys.flags.optimize:
            self._doubt("asserts-off", "python -O leaves assert statements out", "PYTHONOPTIMIZE")

    def guard(self, **plugins: object) -> None:
        """Register parts of this plugin, and notice if other code takes one away."""
        manager = self._config.pluginmanager
        for name, plugin in plugins.items():
            manager.register(plugin, name)
            self._guarded[name] = (plugin, list(_callers(manager, plugin)))

    def doubts(self) -> tuple[Finding, ...]:
        """Return what was found, after a last look."""
        self._look_at_internals()
        for file in find_exchanged(self.ownership, since=self._early.at):
            self._doubt("code-exchanged", "the code that ran is not the code that lies there", file)
        manager = self._config.pluginmanager
        for name, (plugin, callers) in self._guarded.items():
            if manager.get_plugin(name) is not plugin or list(_callers(manager, plugin)) != callers:
                self._doubt("plugin-removed", "this part of phase-gate was taken out of the session", name)
        if self._watch is not None:
            for test, slug, detail in self._watch.found:
                self._doubt(slug, detail, test)
        return tuple(self._doubts.values())

    def left_patched(self) -> list[str]:
        """Return the names of Python that tests left replaced."""
        return self._early.own_work.left_by_tests(self.ownership)

    def _doubt(self, slug: str, detail: str, name: str) -> None:
        file = name.partition("::")[0] if "::" in name else ""
        self._doubts.setdefault(
            f"{slug} {name}", Finding(slug=slug, guard=_GUARD, tier="hard", id=name, file=file, detail=detail)
        )

    # --- who could change a result -------------------------------------------------------------------------------

    def pytest_plugin_registered(self, plugin: object) -> None:
        # After collection: from a hook, a fixture or a test, and perhaps gone again when we look.
        if self._session is None or self._watch is not None:
            return
        with self._early.own_work:
            if any(map(self.ownership.is_foreign, files_of(plugin))):
                self._begin_watch(self._session)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.ownership.also(str(session.config.rootpath))

    def _foreign(self, hook: str) -> Iterator[str]:
        """Yield the files of implementations of a hook that no distribution installed."""
        # The manager's relay, not `config.hook`: up to pytest 8 that one stands functions before some hooks.
        caller = getattr(self._config.pluginmanager.hook, hook, None)  # some hooks are there only with their plugin
        for implementation in () if caller is None else caller.get_hookimpls():
            code = getattr(implementation.function, "__code__", None)
            # The plugin is asked, too: a conftest may offer another module's function as its hook.
            files = {code.co_filename} if isinstance(code, CodeType) else set()
            files |= files_of(implementation.plugin)
            yield from (self.ownership.shown(file) for file in files if self.ownership.is_foreign(file))

    def _see_foreign(self, items: list[pytest.Item]) -> bool:
        """Tell whether code of the project could change a result while tests run."""
        found = {hook: sorted(set(self._foreign(hook))) for hook in RESULT_HOOKS}
        self.foreign_hooks = tuple(f"{name}: {hook}" for hook, names in found.items() for name in names)
        if any(names for hook, names in found.items() if hook not in _COLLECTION_HOOKS) or self._reaches_in():
            return True
        # What is collected may be another kind of test than pytest's, which decides about its result itself.
        if not self.foreign_hooks or not all(map(_is_pytests, set(map(type, items)))):
            return bool(self.foreign_hooks)
        from phase_gate.recording.tamper.definitions import are_exchanged

        return are_exchanged(items, self._codes)

    def _reaches_in(self) -> bool:
        """Tell whether a loaded module of the project has words of code that reaches into pytest."""
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if not isinstance(file, str) or not self.ownership.is_below(file) or not self.ownership.is_projects(file):
                continue
            try:
                with open(file, "rb") as source:
                    text = source.read()
            except OSError:
                continue
            if reaches_in(text, lambda file=file: self._is_test_code(file)):  # type: ignore[misc]
                return True
        return False

    def _is_test_code(self, file: str) -> bool:
        """Tell whether a file of the project is a test, a plugin, or what these use."""
        assert self._session is not None, "it is asked after collection"
        if self._test_files is None:
            plugins = (getattr(plugin, "__file__", None) for plugin in self._config.pluginmanager.get_plugins())
            found = {*map(str, {item.path for item in self._session.items}), *(each for each in plugins if each)}
            self._test_files = frozenset(map(os.path.realpath, found))
        path = os.path.realpath(file)
        if path in self._test_files or os.path.basename(path) == "conftest.py":
            return True
        from phase_gate.recording.frozen.meaning import find_test_folders
        from phase_gate.recording.settings import take_testpaths

        relative = os.path.relpath(path, self.ownership.root).replace(os.sep, "/")
        folders = find_test_folders(take_testpaths(self._config, Path(self.ownership.root)), (relative,))
        return any(relative.startswith(f"{folder}/") for folder in folders)

    # --- collection ----------------------------------------------------------------------------------------------

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected |= {item.nodeid for item in items}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        is_foreign = any(self._foreign("pytest_collection_modifyitems"))
        before = [item.nodeid for item in items] if is_foreign else []
        if is_foreign:
            with self._early.own_work:
                from phase_gate.recording.tamper.definitions import test_codes

                self._codes = test_codes(items)
        result = yield
        if is_foreign and self._drops_matter:
            kept = {item.nodeid for item in items} | self._deselected
            for node in () if kept.issuperset(before) else before:
                # xdist puts a group behind the id; the test is still there.
                if node not in kept and not any(other.startswith(f"{node}@") for other in kept):
                    self._doubt("test-dropped", "taken out of the session without a deselect event", node)
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._session = session
        with self._early.own_work as work:
            self._look_at_internals()
            if self._see_foreign(session.items):
                self._begin_watch(session)
            elif self.foreign_hooks:
                self._look_at_objects(session.items)
            work.settle()

    def _begin_watch(self, session: pytest.Session) -> None:
        from phase_gate.recording.tamper.definitions import test_codes
        from phase_gate.recording.tamper.result_watch import ResultWatch

        self._look_at_objects(session.items)
        self._watch = ResultWatch({**test_codes(session.items), **self._codes})
        self.guard(phase_gate_result_watch=self._watch)

    def _look_at_objects(self, items: list[pytest.Item]) -> None:
        from phase_gate.recording.tamper.definitions import find_replaced

        for item, detail in find_replaced(items, self.ownership):
            self._doubt("test-replaced", detail, item.nodeid)

    def _look_at_internals(self) -> None:
        work = self._early.own_work
        for name, whose in self._early.patches.look(self.ownership, self._config, work.left, work.fakes):
            by = f", but from {whose}" if whose else ""
            self._doubt("pytest-patched", f"{name} is not its own any more{by}", name)


def _callers(manager: pytest.PytestPluginManager, plugin: object) -> Iterator[str]:
    """Yield the hooks that call a part of this plugin."""
    for name in dir(plugin):
        caller = getattr(manager.hook, name, None) if name.startswith("pytest_") else None
        if caller is not None and any(each.plugin is plugin for each in caller.get_hookimpls()):
            yield name


def _is_pytests(kind: type) -> bool:
    """Tell whether it is the very class that pytest has under that name: a name is easily borrowed."""
    own = kind.__module__.startswith("_pytest.")
    return own and getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind
