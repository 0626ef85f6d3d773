"""A project of failing tests: each fails in its own way, and has the class that it must get."""

from __future__ import annotations

import textwrap

import pytest

from phase_gate.gate.outcomes import Reason
from phase_gate.values import Value

CODE = """\
import functools


def total(prices, key=None):
    for price in prices:
        if key:
            key(price)
    return sum(prices)


def boom():
    raise KeyError("price")


def todo():
    raise NotImplementedError


def later():
    assert False, "to do"


def deep(depth=0):
    return deep(depth + 1)


def several():
    raise ExceptionGroup("two", [ImportError("no vat", name="shop"), TypeError("worse")])


def retry(function):
    return lambda: function()


def counted(method):
    @functools.wraps(method)
    def wrapper(*args):
        return method(*args)

    wrapper.reset = lambda self: None
    return wrapper


class Odd(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def odd():
    raise Odd


class Cart:
    def __init__(self):
        pass

    def size(self):
        return self.items
"""

CONFTEST = """\
import json

import pytest


@pytest.fixture
def cart():
    from shop import Cart

    return Cart("apples")


@pytest.fixture
def unwritten():
    raise NotImplementedError


@pytest.fixture
def bad_end():
    yield
    raise RuntimeError("no end")


class Proxy:
    def __getattribute__(self, name):
        raise RuntimeError("bound to nothing")


@pytest.fixture
def unbound():
    raise AttributeError("no price", name="price", obj=Proxy())


def pytest_sessionfinish(session):
    seen = session.config.pluginmanager.get_plugin("phase_gate_witness")
    if seen is not None and not hasattr(session.config, "workerinput"):
        from phase_gate.recording.document import TestIds

        ids = TestIds(session.config, session.config.rootpath, {}, ())
        rows = {ids.test_id(node): row for node, row in seen.buckets.failures.items()}
        rows |= ids.uncollectable(seen.errors)
        classes = {test: "unexplained" if row is None else row["reason"] for test, row in rows.items()}
        with open("classes.json", "w") as file:
            json.dump(classes, file)
"""

PROJECT = {
    "pyproject.toml": """\
[project]
name = "shop"
version = "1"
dependencies = ["left-pad_python>=1"]

[tool.pytest.ini_options]
pythonpath = [".", "venv/lib"]
asyncio_default_fixture_loop_scope = "function"
""",
    "conftest.py": CONFTEST,
    "shop.py": CODE,
    "bag/__init__.py": "",
    "broken.py": "def broken(:\n",
    "unset.py": "raise RuntimeError('not set up')\n",
    "hollow.py": "import nothing_at_all\n",
    "needy.py": "import left_pad_python\n",
    "venv/pyvenv.cfg": "home = /usr/bin\n",
    "venv/lib/theirs.py": "def give():\n    return nothing\n",
    "tests/comparing.py": "def compare(one, two):\n    assert one == two\n",
}

PLUGINS = ("pytest_timeout", "pytest_asyncio.plugin")

HEAD = "import pytest\n\nimport shop\nfrom shop import *\n\n\n"


class Case(Value, kw_only=False):
    """A module with one failing test, and the class of its failure."""

    name: str
    source: str
    reason: Reason
    suffix: str = "py"

    @property
    def file(self) -> str:
        return f"tests/test_{self.name.replace('-', '_')}.{self.suffix}"


def inside(name: str, body: str, reason: Reason, *, head: str = HEAD, mark: str = "", arguments: str = "") -> Case:
    """A test function with that body, in a module that can be imported."""
    indented = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return Case(name, f"{head}{mark}def test_it({arguments}):\n{indented}\n", reason)


def method(name: str, body: str, reason: Reason) -> Case:
    """A test of unittest."""
    head = "import unittest\n\nfrom shop import total\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n"
    return Case(name, head + textwrap.indent(textwrap.dedent(body).strip("\n"), "        ") + "\n", reason)


ACCEPTED: tuple[Case, ...] = (
    inside("assertion", "assert total([1]) == 2", "assertion"),
    inside("helper-elsewhere", "from comparing import compare\ncompare(total([1]), 2)", "assertion"),
    inside("fail-under-a-condition", "if total([1]) != 2:\n    pytest.fail('wrong')", "assertion"),
    inside("fail-for-an-error", "try:\n    boom()\nexcept KeyError:\n    pytest.fail('raised')", "assertion"),
    inside("call-and-teardown", "assert total([1]) == 2", "assertion", arguments="bad_end"),
    inside("async", "assert total([1]) == 2", "assertion", mark="@pytest.mark.asyncio\nasync "),
    method("unittest-equal", "self.assertEqual(total([1]), 2)", "assertion"),
    Case("doctest", ">>> from shop import total\n>>> total([1])\n2\n", "assertion", "txt"),
    inside("raises-not-met", "with pytest.raises(ValueError):\n    total([1])", "assertion"),
    inside("warns-not-met", "with pytest.warns(UserWarning):\n    total([1])", "assertion"),
    inside("not-implemented-in-the-code", "assert todo() == 1", "assertion"),
    inside("asserted-to-do-in-the-code", "assert later() == 1", "assertion"),
    inside("attribute-of-what-can-not-be-looked-at", "assert unbound", "assertion", arguments="unbound"),
    inside("recursion-in-the-code", "assert deep() == 1", "assertion"),
    inside("group-of-errors", "several()", "structural"),
    inside("error-without-a-text", "odd()", "assertion"),
    inside("attribute-that-the-code-itself-lacks", "Cart().size()", "assertion"),
    inside(
        "error-that-the-code-lets-through",
        "def key(price):\n    raise ConnectionError\nassert total([1], key) == 1",
        "assertion",
    ),
    Case("code-that-can-not-be-imported", "import unset\n\n\ndef test_it():\n    assert unset.x\n", "assertion"),
    Case(
        "method-in-the-test-that-the-project-decorates",
        "from shop import counted\n\n\nclass Own:\n    @counted\n    def get(self):\n        return 1\n\n\n"
        "def test_it():\n    Own().get.reset()\n    assert Own().get() == 1\n",
        "assertion",
    ),
    inside("fixture-of-a-conftest", "assert cart", "assertion", arguments="cart", head=""),
    # In doubt it is the code: none of these can turn green if it is not.
    inside("not-implemented-in-a-fixture", "assert unwritten", "assertion", arguments="unwritten"),
    Case(
        "class-of-the-tests-own",
        f"{HEAD}class Own:\n    size = 1\n\n\ndef test_it():\n    assert Own('apples').size\n",
        "assertion",
    ),
    Case("no-module-yet", "import basket\n\n\ndef test_it():\n    assert basket.x\n", "structural"),
    Case("no-name-yet", "from shop import vat\n\n\ndef test_it():\n    assert vat(1) == 1\n", "structural"),
    Case(
        "no-attribute-of-a-class-yet",
        "from shop import Cart\n\n\nclass TestIt:\n    kind = Cart.kind\n\n"
        "    def test_it(self):\n        assert self.kind\n",
        "structural",
    ),
    Case(
        "code-that-imports-what-is-not-there-yet",
        "import hollow\n\n\ndef test_it():\n    assert hollow.x\n",
        "structural",
    ),
    inside("no-function-yet", "assert shop.vat(1) == 1", "structural"),
    inside("no-method-yet", "assert Cart().checkout() == 1", "structural"),
    inside(
        "nothing-to-patch-yet",
        "monkeypatch.setattr('shop.vat', 1)\nassert total([1]) == 2",
        "structural",
        arguments="monkeypatch",
        head="from shop import total\n\n\n",
    ),
    Case(
        "nothing-to-mock-yet",
        "from unittest.mock import patch\n\n\n@patch('shop.vat')\ndef test_it(vat):\n"
        "    from shop import total\n\n    assert total([1]) == 2\n",
        "structural",
    ),
    Case("doctest-without-the-code", ">>> from shop import vat\n>>> vat(1)\n2\n", "structural", "txt"),
)

CALLED_FIXTURE = "@pytest.fixture\ndef called():\n    return 1\n\n\n"

REFUSED: tuple[Case, ...] = (
    Case("syntax-error", "def test_it(:\n    assert 1\n", "syntax-error"),
    Case(
        "syntax-error-in-the-code",
        "from broken import broken\n\n\ndef test_it():\n    assert broken()\n",
        "syntax-error",
    ),
    inside("missing-fixture", "assert nowhere == 1", "missing-fixture", arguments="nowhere"),
    inside(
        "fixture-missing-for-a-mark",
        "assert total([1]) == 2",
        "missing-fixture",
        mark="@pytest.mark.usefixtures('nowhere')\n",
    ),
    Case(
        "module-that-is-declared",
        "import left_pad_python\n\n\ndef test_it():\n    assert left_pad_python.x\n",
        "foreign-module",
    ),
    Case("module-that-the-code-needs", "import needy\n\n\ndef test_it():\n    assert needy.x\n", "foreign-module"),
    Case(
        "part-of-an-installed-module",
        "import yaml.nothing\n\n\ndef test_it():\n    assert yaml.nothing\n",
        "foreign-module",
    ),
    inside("not-implemented-in-the-test", "raise NotImplementedError", "stub"),
    inside("assert-false", "assert False", "stub"),
    inside("assert-false-after-a-call", "total([1])\nassert False, 'todo'", "stub"),
    inside("own-name-misspelt-in-a-decorated-test", "assert totl([1]) == 1", "test-error", mark="@retry\n"),
    inside("name-misspelt-in-an-environment-below-the-root", "import theirs\ntheirs.give()", "test-error"),
    inside("pytest-fail", "total([1])\npytest.fail('todo')", "stub"),
    inside("pytest-fail-in-the-words-of-raises", "total([1])\npytest.fail('DID NOT RAISE ValueError')", "stub"),
    inside("structural-and-a-stub", "from shop import vat\npytest.fail('todo')", "stub"),
    Case("no-name-yet-and-a-stub", "from shop import vat\n\n\ndef test_it():\n    raise OSError\n", "stub"),
    inside("time-out", "import time\nwhile True:\n    time.sleep(0.01)", "timeout", mark="@pytest.mark.timeout(0.1)\n"),
    inside("teardown-only", "assert total([1]) == 1", "teardown-only", arguments="bad_end"),
    inside("async-without-a-plugin", "assert total([1]) == 2", "broken-test", mark="async "),
    inside(
        "argument-that-it-does-not-take",
        "assert total([1]) == 2",
        "broken-test",
        mark="@pytest.mark.parametrize('absent', [1])\n",
    ),
    inside("fixture-that-is-called", "assert called() == 1", "broken-test", head=HEAD + CALLED_FIXTURE),
    inside("strict-xpass", "assert total([1]) == 1", "unexplained", mark="@pytest.mark.xfail(strict=True)\n"),
)

SUBTESTS = "for n in (1, 2):\n    with subtests.test(n=n):\n        assert total([1]) == n"
if hasattr(pytest, "Subtests"):  # since pytest 9
    ACCEPTED += (inside("subtest", SUBTESTS, "assertion", arguments="subtests"),)

CRASH = inside("crash", "import os\nos._exit(3)", "crash")
