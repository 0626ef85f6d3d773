"""Pieces of tests in the sources, as runs see them: what pytest has resolved, on workers too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from phase_gate.recording import items
from phase_gate.recording.document import local_plugins, project_plugins
from phase_gate.recording.ownership import Ownership
from tests.support import Project

TESTING = """\
import calc


class Base:
    def test_add(self):
        assert calc.add(1, 2) == 3
"""
TESTS = """\
import calc
from shop.testing import Base


class TestCalc(Base):
    def test_sub(self):
        assert calc.sub(3, 2) == 1
"""
WRONG = "def add(a, b):\n    return 0\n\n\ndef sub(a, b):\n    return 0\n"
RIGHT = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"


@pytest.fixture
def shop(project: Project) -> Project:
    project.write({"shop/__init__.py": "", "shop/testing.py": TESTING}, test_calc=TESTS, calc=WRONG)
    return project


def exit_red(project: Project) -> None:
    assert project.gate("signal", "--reason", "both fail").code == 0
    project.write(calc=RIGHT)


@pytest.mark.processes
def test_workers_tell_where_tests_lie(shop: Project) -> None:
    assert shop.run_process("--phase=red", "-n", "1", plugins=("xdist",)).code == 0
    exit_red(shop)
    shop.write({"shop/testing.py": TESTING.replace("== 3", "> 2")})
    ran = shop.run("--phase=green", "-v")
    assert ran.has("shop/testing.py the tests use Base.test_add, and it was changed after RED")


def test_a_fault_of_ours_is_said_and_the_tests_run(shop: Project) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("odd objects")

    shop.environment.setattr(items._Look, "read", fail)
    ran = shop.run("--phase=red")
    assert ran.has("2 failed", "nothing recorded", "could not be looked at: RuntimeError: odd objects")
    assert ran.code == 11


def test_a_plugin_that_a_distribution_announces_is_what_the_project_is_about(tmp_path: Path) -> None:
    def module(name: str, file: str) -> SimpleNamespace:
        return SimpleNamespace(__name__=name, __file__=file)

    announced, part = (module(f"ours.{name}", f"{tmp_path}/src/ours/{name}.py") for name in ("plugin", "part"))
    others = (module("conftest", f"{tmp_path}/conftest.py"), module("x", "/usr/x.py"), None)
    plugins = (announced, part, module("plug", f"{tmp_path}/plug.py"), *others)
    manager = SimpleNamespace(
        list_plugin_distinfo=lambda: [(announced, None)],
        list_name_plugin=lambda: [(str(number), plugin) for number, plugin in enumerate(plugins)],
    )
    config = cast(Any, SimpleNamespace(pluginmanager=manager))
    assert local_plugins(config, tmp_path, project_plugins(config, tmp_path)) == ("plug.py",)


#: Every way in which a part of a test can lie elsewhere.
KIT = """\
import functools

import pytest


@pytest.fixture
def given():
    return outer()


def outer():
    return 1


@pytest.fixture(autouse=True)
def always():
    yield


@pytest.fixture
def unasked():
    pass


class Mixin:
    def setup_method(self):
        self.ready = True

    def size(self):
        return 1


class Base(Mixin):
    def test_inherited(self):
        assert self.ready


def test_imported():
    pass


def plain(test):
    def inner():
        test()

    return inner


def wrapping(test):
    @functools.wraps(test)
    def inner():
        test()

    return inner
"""
USES = """\
from kit import Base, always, given, plain, test_imported, unasked, wrapping


class TestIt(Base):
    def test_own(self, given):
        assert given


@plain
def test_plain():
    pass


@wrapping
def test_wrapped():
    pass
"""


def test_what_pytest_has_resolved(project: Project) -> None:
    project.write(kit=KIT, test_it=USES)
    found: list[Mapping[str, tuple[str, ...]]] = []

    class Looks:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            found.append(items.find_support_code(session, Ownership(project.root)))

    project.pytester.inline_run("-p", "no:cacheprovider", "--collect-only", plugins=[Looks()])
    assert found[0] == {
        "tests": ("kit.py::Base.test_inherited", "kit.py::test_imported"),
        "around": ("kit.py::Base", "kit.py::Mixin.setup_method", "kit.py::always", "kit.py::given"),
    }
