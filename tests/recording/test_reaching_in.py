"""Which files make us look at every test: those with words of code that reaches into pytest."""

from __future__ import annotations

import pytest

from phase_gate.recording.tamper import result_watch
from phase_gate.recording.tamper.definitions import TestCode
from phase_gate.recording.tamper.outcomes import reaches_in
from phase_gate.recording.tamper.result_watch import ResultWatch
from tests.support import Sample


@pytest.mark.parametrize(
    "source",
    [
        b"from _pytest import runner",
        b"import pluggy",
        b"sys.modules['phase_gate.plugin']",
        b"request.config.pluginmanager.register(x)",
        b"pytest.TestReport.outcome = 'passed'",
        b"CallInfo.from_call",
        b"item.runtest = lambda: None",
        b"pyfuncitem.obj()",
        b"test_it.__code__ = other.__code__",
        b"request.node.add_marker(m)",
        b"pytest.Function.runtest",
        b"pytest.Session",
        b"unittest.TestCase.assertEqual = print",
        b"unittest.case.fail=print",
    ],
)
def test_it_is_seen(source: bytes) -> None:
    assert reaches_in(b"import shop\n" + source + b"\n")


@pytest.mark.parametrize(
    "source",
    [
        b"import pytest\n\n@pytest.mark.parametrize('x', [1])\ndef test_it(x): assert x\n",
        b"class Cart(unittest.TestCase): pass\n",
        b"tree.nodes == []",
        b"with pytest.raises(ValueError): f()",
    ],
)
def test_plain_tests_are_not(source: bytes) -> None:
    assert not reaches_in(source)


# --- a source that is no part of the tests: only words count that an honest one has no use for

#: Words of honest sources, each of which makes every test slower if it stands in a test.
HONEST = {
    "looks-at-code": "def names(function):\n    return function.__code__.co_varnames\n",
    "asks-for-code": "def code(function):\n    return getattr(function, '__code__', None)\n",
    "compares-code": "def same(one, other):\n    return one.__code__ == other.__code__\n",
    "inspects-and-traces": "import inspect\nimport sys\n\n\ndef trace():\n    sys.settrace(inspect.currentframe)\n",
    "has-nodes": "def up(tree):\n    return tree.node.parent\n",
    "has-plugins-of-its-own": "import types\n\npluginmanager = types.SimpleNamespace(pluggy=None)\n",
    "has-models-of-its-own": "class TestReport:\n    pass\n\n\npyfunc = 'mlflow.pyfunc'\nruntests = CallInfo = None\n",
}
REACHING = {
    "writes-code": "def swap(one, other):\n    one.__code__ = other.__code__\n",
    "writes-code-by-name": "def swap(one, other):\n    setattr(one, '__code__', other)\n",
    "names-pytest-s-inside": "import sys\n\nrunner = sys.modules['_pytest.runner']\n",
    "changes-items": "def pass_all(items):\n    for item in items:\n        item.runtest = print\n",
    "uses-pytest-s-classes": "from pytest import Item as Base\n",
    "changes-unittest": "import unittest\n\nunittest.TestCase.fail = print\n",
    "looks-at-code-beside-pytest": "import pytest\n\n\ndef names(function):\n    return function.__code__\n",
}


@pytest.fixture
def watches(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The costly watches that were switched on."""
    found: list[object] = []

    class Seen(ResultWatch):
        def __init__(self, codes: dict[str, TestCode]) -> None:
            super().__init__(codes)
            found.append(self)

    monkeypatch.setattr(result_watch, "ResultWatch", Seen)
    return found


TEST = "import shop\n\n\ndef test_it():\n    assert shop\n"


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST)
def test_an_honest_source_is_not(source: str) -> None:
    assert not reaches_in(source.encode(), lambda: False)
    assert reaches_in(source.encode()) is (source is not HONEST["inspects-and-traces"]), "it would be in a test"


def test_honest_sources_make_no_test_slower(sample: Sample, watches: list[object]) -> None:
    sample.write({f"shop_{number}.py": source for number, source in enumerate(HONEST.values())})
    sample.write(shop="".join(f"import shop_{number}\n" for number in range(len(HONEST))), test_it=TEST)
    assert sample.pytest("--phase=green").has("1 passed")
    assert watches == []


@pytest.mark.parametrize("source", REACHING.values(), ids=REACHING)
def test_a_source_that_reaches_over_is_watched(source: str) -> None:
    assert reaches_in(source.encode(), lambda: False)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("files", "arguments"),
    [
        pytest.param({"test_it.py": f"{HONEST['looks-at-code']}\n{TEST}", "shop.py": ""}, (), id="a-test"),
        pytest.param({"conftest.py": "import shop", "shop.py": REACHING["writes-code"]}, (), id="a-source-that-writes"),
        pytest.param({"conftest.py": HONEST["has-nodes"], "shop.py": ""}, (), id="a-conftest"),
        pytest.param({"tests/shop.py": HONEST["has-nodes"], "tests/test_it.py": TEST}, (), id="a-helper-of-tests"),
        pytest.param(
            {
                "checks/shop.py": HONEST["has-nodes"],
                "checks/test_it.py": TEST,
                "pytest.ini": "[pytest]\ntestpaths=checks",
            },
            (),
            id="a-helper-below-testpaths",
        ),
        pytest.param({"plug.py": HONEST["has-nodes"], "shop.py": ""}, ("-p", "plug"), id="a-plugin"),
    ],
)
def test_test_code_is_watched_by_every_word(
    sample: Sample, watches: list[object], files: dict[str, str], arguments: tuple[str, ...]
) -> None:
    sample.pytester.syspathinsert()
    sample.write({"test_it.py": TEST} if "shop.py" in files else {}).write(files)
    assert sample.pytest("--phase=green", *arguments).has("1 passed")
    assert len(watches) == 1


def test_a_long_line_takes_no_long_time() -> None:
    assert not reaches_in(b"setattr(" * 20_000 + b"from pytest import " * 10_000, lambda: False)


# --- hooks that act only while tests are collected: each test is looked at once, and watched only if it was touched

COLLECTING = {
    "sorts": "def pytest_collection_modifyitems(items):\n    items.sort(key=lambda item: item.name)\n",
    "marks": "def pytest_itemcollected(item):\n    item.add_marker('usefixtures')\n",
    "looks": "def pytest_collection_finish(session):\n    print(len(session.items))\n",
}
TOUCHING = {
    "another-object": "def pytest_collection_modifyitems(items):\n    items[0].obj = lambda: None\n",
    "in-disguise": "import functools\n\n\ndef pytest_collection_modifyitems(items):\n"
    "    items[0].obj = functools.wraps(items[0].obj)(lambda: None)\n",
    "in-its-module": "def pytest_collection_modifyitems(items):\n    items[0].module.test_it = lambda: None\n",
    "another-kind": "def pytest_collection_modifyitems(items):\n"
    "    items[0].__class__ = type('Quiet', (type(items[0]),), {})\n",
    "while-it-runs": "def pytest_runtest_setup(item):\n    pass\n",
}


@pytest.mark.parametrize("conftest", COLLECTING.values(), ids=COLLECTING)
def test_a_hook_of_collection_makes_no_test_slower(sample: Sample, watches: list[object], conftest: str) -> None:
    sample.write(conftest=conftest, test_it="def test_it():\n    pass\n")
    assert sample.pytest("--phase=green", "-q").code in (0, 10)
    assert not watches


@pytest.mark.sampled(3)
@pytest.mark.parametrize("conftest", TOUCHING.values(), ids=TOUCHING)
def test_what_a_hook_of_collection_touched_is_watched(sample: Sample, watches: list[object], conftest: str) -> None:
    sample.write(conftest=conftest, test_it="def test_it():\n    assert 1\n")
    sample.pytest("--phase=green", "-q")
    assert watches
