"""Pieces of tests in the sources, as runs see them: on workers, through names that are handed on, in plugins."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from phase_gate.recording.frozen.parts import PartsWitness
from phase_gate.recording.frozen.pieces import Resolver
from phase_gate.recording.settings import local_plugins
from tests.support import Sample

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
def shop(sample: Sample) -> Sample:
    sample.write({"shop/__init__.py": "", "shop/testing.py": TESTING}, test_calc=TESTS, calc=WRONG)
    return sample


def exit_red(sample: Sample) -> None:
    assert sample.gate("signal", "--reason", "both fail").code == 0
    sample.write(calc=RIGHT)


@pytest.mark.processes
def test_workers_tell_where_tests_lie(shop: Sample) -> None:
    assert shop.pytest_process("--phase=red", "-n", "1", plugins=("xdist",)).code == 0
    exit_red(shop)
    shop.write({"shop/testing.py": TESTING.replace("== 3", "> 2")})
    ran = shop.pytest("--phase=green")
    assert ran.has("shop/testing.py Base.test_add is not what was frozen")


def test_a_fault_of_ours_is_said_and_the_tests_run(shop: Sample) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("odd objects")

    shop.environment.setattr(PartsWitness, "_around", fail)
    ran = shop.pytest("--phase=red")
    assert ran.has("2 failed", "nothing recorded", "could not be looked at: RuntimeError: odd objects")
    assert ran.code == 11


@pytest.mark.processes
def test_an_inherited_test_that_is_hidden_by_one_beside_the_others(shop: Sample) -> None:
    assert shop.pytest("--phase=red").code == 0
    exit_red(shop)
    shop.write(test_calc=TESTS + "\n    def test_add(self):\n        assert calc.add\n")
    ran = shop.pytest("--phase=green")
    assert ran.has("test_calc.py::TestCalc::test_add its body is not the one that was frozen")


@pytest.mark.parametrize(
    ("reference", "file", "found"),
    [
        pytest.param("shop.data:CASES", "test_a.py", ("src/shop/data.py", "CASES"), id="in-a-common-folder"),
        pytest.param("shop:CASES", "test_a.py", ("src/shop/data.py", "CASES"), id="handed-on"),
        pytest.param("shop:RENAMED", "test_a.py", ("src/shop/data.py", "CASES"), id="handed-on-under-another-name"),
        pytest.param(".data:CASES", "src/shop/other.py", ("src/shop/data.py", "CASES"), id="beside"),
        pytest.param("..shop.data:CASES", "src/shop/other.py", ("src/shop/data.py", "CASES"), id="from-above"),
        pytest.param("more:CASES", "test_a.py", ("extra/more.py", "CASES"), id="in-a-folder-that-is-set"),
        pytest.param("shop:data", "test_a.py", None, id="a-module"),
        pytest.param("shop:LOOP", "test_a.py", None, id="handed-on-without-end"),
        pytest.param("shop.data:absent", "test_a.py", None, id="no-such-name"),
        pytest.param("requests:get", "test_a.py", None, id="not-the-project's"),
    ],
)
def test_references(tmp_path: Path, reference: str, file: str, found: tuple[str, str] | None) -> None:
    texts = {
        "src/shop/__init__.py": "from .data import CASES\nfrom .data import CASES as RENAMED\nfrom . import LOOP\n",
        "src/shop/data.py": "CASES = [1]\n",
        "extra/more.py": "CASES = [2]\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    definition = Resolver(tmp_path, ("extra",)).find(reference, file)
    assert (None if definition is None else (definition.file, definition.name)) == found


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
    assert local_plugins(cast(Any, SimpleNamespace(pluginmanager=manager)), tmp_path) == ("plug.py",)


def _witness(manager: object, root: Path) -> PartsWitness:
    plugins = SimpleNamespace(list_plugin_distinfo=list)
    session = SimpleNamespace(items=[], _fixturemanager=manager, config=SimpleNamespace(pluginmanager=plugins))
    witness = PartsWitness(root)
    witness.parts = witness._look(cast("pytest.Session", session))
    return witness


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(
            lambda each: {"_arg2fixturedefs": {"given": [each]}, "_nodeid_autousenames": {"": ["given"]}}, id="by-name"
        ),
        pytest.param(
            lambda each: {"_arg2node2fixturedefs": {"given": {0: [each]}}, "_node_autousenames": {0: ["given"]}},
            id="by-name-and-node",
        ),
        pytest.param(
            lambda each: {
                "_arg2node2fixturedefs": {},
                "_arg2nodeid2fixturedefs": {"given": {"": [each]}},
                "_node_autousenames": {},
                "_nodeid_autousenames": {"": ["given"]},
            },
            id="by-name-and-id",
        ),
    ],
)
def test_fixtures_are_found_however_pytest_keeps_them(tmp_path: Path, shape: Any) -> None:
    (tmp_path / "kit.py").write_text("def given():\n    pass\n", encoding="utf-8")
    space: dict[str, Any] = {}
    exec(compile("def given():\n    pass\n", str(tmp_path / "kit.py"), "exec"), space)
    manager = SimpleNamespace(**shape(SimpleNamespace(func=space["given"])))
    parts = _witness(manager, tmp_path).parts
    assert (parts.fixtures, parts.always) == ({"given": ("kit.py::given",)}, ("given",))


def test_a_pytest_that_keeps_fixtures_otherwise_freezes_nothing_in_silence(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="keeps its fixtures in none of _arg2fixturedefs"):
        _witness(SimpleNamespace(), tmp_path)
