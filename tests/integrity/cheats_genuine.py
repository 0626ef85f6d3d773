"""Rows 11 to 16: the project's own code comes between a test and its outcome. One failing test is made to look passed.

Some are told by the guard `outcomes-genuine`, by what pytest itself says of exceptions. Nothing in that process tells
the others: a conftest.py that came after RED is refused by the freeze, and what a source does by the experiment.
"""

from __future__ import annotations

from tests.integrity.rows import BAD, Attempt, Row, conftest
from tests.integrity.shared import DISPROVEN, Table

_LIE = """
def lie(report):
    if report.outcome == "failed":
        report.outcome, report.longrepr = "passed", None
    return report
"""


def _row(name: str, text: str, told_by: str, **files: str) -> Row:
    writes = (("tests/conftest.py", text), *((f"{stem}.py", code) for stem, code in files.items()))
    return Row(name=name, cheat=Attempt(code=BAD, writes=writes), told_by=told_by, twin_name="")


_RAISED = "raised AssertionError, reported as passed"
#: Nothing in the process tells it.
_FROZEN = "a new conftest.py above frozen tests"

#: What every workflow freezes closes the gate for this one, too.
NAMED_PLUGIN = _row(
    "makereport, in a module that pytest_plugins names",
    'pytest_plugins = ["quiet"]\n',
    _RAISED,
    quiet=f"import pytest\n{_LIE}\n@pytest.hookimpl(wrapper=True)\n"
    "def pytest_runtest_makereport(item, call):\n    return lie((yield))\n",
)

REPORTS = (
    _row(
        "makereport, outermost wrapper",
        f"""import pytest
{_LIE}
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    return lie((yield))
""",
        _RAISED,
    ),
    _row(
        "makereport, old wrapper with force_result",
        f"""import pytest
{_LIE}
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.force_result(lie(outcome.get_result()))
""",
        _RAISED,
    ),
    _row(
        "makereport makes a report of its own",
        """import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    call.excinfo = None
    return pytest.TestReport.from_item_and_call(item, call)
""",
        _FROZEN,
    ),
    _row(
        "logreport, before everybody",
        f"""import pytest
{_LIE}
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    lie(report)
""",
        _RAISED,
    ),
    _row(
        "logreport, by an object that a hook registers",
        f"""import pytest
{_LIE}
class Liar:
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report):
        lie(report)
        return (yield)

def pytest_sessionstart(session):
    session.config.pluginmanager.register(Liar())
""",
        _RAISED,
    ),
    _row(
        "makereport, by an object that a fixture registers and takes away again",
        f"""import pytest
{_LIE}
class Liar:
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        return lie((yield))

@pytest.fixture(autouse=True, scope="session")
def quietly(request):
    liar = Liar()
    request.config.pluginmanager.register(liar)
    yield
    request.config.pluginmanager.unregister(liar)
""",
        _RAISED,
    ),
    NAMED_PLUGIN,
    _row(
        "makereport, and our witness is unregistered",
        f"""import pytest
{_LIE}
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return lie((yield))

def pytest_collection_modifyitems(config):
    config.pluginmanager.unregister(name="phase_gate_witness")
""",
        "taken out of the session",
    ),
    _row(
        "makereport, and our witness is blocked",
        f"""import pytest
{_LIE}
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return lie((yield))

@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    config.pluginmanager.set_blocked("phase_gate_witness")
""",
        "taken out of the session",
    ),
)


def _patch(name: str, target: str, lines: str, told_by: str = _FROZEN) -> Row:
    module, _, rest = target.partition(":")
    text = f"import {module}\nimport pytest\n\nowner = {module}{'.' if rest else ''}{rest}\n{lines}"
    return _row(name, text, told_by)


PATCHES = (
    _patch(
        "CallInfo.from_call is patched",
        "_pytest.runner:CallInfo",
        """
real = owner.from_call.__func__

def quiet(cls, func, when, reraise=None):
    call = real(cls, func, when, reraise)
    call.excinfo = None
    return call

owner.from_call = classmethod(quiet)
""",
    ),
    _patch(
        "a report's outcome becomes a property",
        "_pytest.reports:TestReport",
        "\nowner.outcome = property(lambda self: 'passed', lambda self, value: None)\n",
        _RAISED,
    ),
    _patch(
        "reports are of another class",
        "_pytest.runner",
        """
class Kind(pytest.TestReport):
    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.outcome = "passed"

owner.TestReport = Kind
""",
        _RAISED,
    ),
    _patch(
        "the code of a function is swapped",
        "_pytest.python:Function",
        "\nowner.runtest.__code__ = (lambda self: None).__code__\n",
    ),
    _patch(
        "a function made of text takes the place",
        "_pytest.python:Function",
        "\nexec('def runtest(self): pass', vars(_pytest.python))\nowner.runtest = _pytest.python.runtest\n",
    ),
    _patch(
        "a part of pytest takes another's place",
        "_pytest.python:Function",
        "\nowner.runtest = owner.__repr__\n",
    ),
    _patch(
        "a built-in takes the place",
        "_pytest.python:Function",
        "\nowner.runtest = object.__repr__\n",
    ),
    _patch(
        "hooks are called by somebody else",
        "pluggy._callers",
        """
def pytest_configure(config):
    real = config.pluginmanager._inner_hookexec

    def quiet(name, methods, kwargs, firstresult):
        try:
            return real(name, methods, kwargs, firstresult)
        except AssertionError:
            return None

    config.pluginmanager._inner_hookexec = quiet
""",
    ),
    _patch(
        "our own fold of reports is patched",
        "phase_gate.recording.buckets",
        """
real = owner.Buckets._make_fold

def make_fold(self):
    fold = real(self)

    def lie(report):
        report.outcome = "passed"
        fold(report)

    return lie

owner.Buckets._make_fold = make_fold
""",
        _RAISED,
    ),
    _patch(
        "our own list of what fails is patched",
        "phase_gate.gate.outcomes",
        "\nimport phase_gate.recording.buckets as buckets\n"
        "buckets.Buckets._bucket = lambda self, report, outcome, when: "
        "buckets.Bucket.PASSED if when == 'call' else None\n",
    ),
    _patch(
        "patched for the tests only, and put back",
        "_pytest.python:Function",
        """
real = owner.runtest

def pytest_runtestloop(session):
    def quiet(self):
        try:
            real(self)
        except AssertionError:
            pass
    owner.runtest = quiet

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    owner.runtest = real
""",
    ),
    _patch(
        "patched by a fixture around each test",
        "_pytest.runner:CallInfo",
        """
real = owner.__init__

@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    def init(self, result, excinfo, *args, **more):
        real(self, None, None, *args, **more)
    monkeypatch.setattr(owner, "__init__", init)
""",
    ),
)

CALLS = (
    _row(
        "pyfunc_call swallows what the test raises",
        """import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    names = pyfuncitem._fixtureinfo.argnames
    try:
        pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    except AssertionError:
        pass
    return True
""",
        _FROZEN,
    ),
    _row(
        "a wrapper around the call swallows",
        """import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except AssertionError:
        return None
""",
        _FROZEN,
    ),
    _row(
        "an old wrapper around the call forces a result",
        """import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    outcome = yield
    outcome.force_result(None)
""",
        _FROZEN,
    ),
    _row(
        "setup gives the test another function",
        """def pytest_runtest_setup(item):
    if "nothing" in item.name:
        item.obj = lambda: None
""",
        _FROZEN,
    ),
    _row(
        "setup gives the test another runtest",
        """def pytest_runtest_setup(item):
    item.runtest = lambda: None
""",
        _FROZEN,
    ),
    _row(
        "protocol logs reports of its own",
        """import pytest

def pytest_runtest_protocol(item, nextitem):
    for when in ("setup", "call", "teardown"):
        call = pytest.CallInfo.from_call(lambda: None, when)
        report = item.ihook.pytest_runtest_makereport(item=item, call=call)
        item.ihook.pytest_runtest_logreport(report=report)
    return True
""",
        _FROZEN,
    ),
)

ITEMS = (
    _row(
        "modifyitems disguises another function",
        """import functools

def pytest_collection_modifyitems(items):
    for item in items:
        if "nothing" in item.name:
            item.obj = functools.wraps(item.obj)(lambda: None)
""",
        _FROZEN,
    ),
    _row(
        "modifyitems gives the function other code",
        """def pytest_collection_modifyitems(items):
    for item in items:
        if "nothing" in item.name:
            item.obj.__code__ = (lambda: None).__code__
""",
        _FROZEN,
    ),
    _row(
        "modifyitems gives the test another class",
        """import pytest

class Quiet(pytest.Function):
    def runtest(self):
        pass

def pytest_collection_modifyitems(items):
    for item in items:
        item.__class__ = Quiet
""",
        _FROZEN,
    ),
    _row(
        "modifyitems puts an object of its own into the list",
        """import pytest

class Quiet(pytest.Item):
    def runtest(self):
        pass

def pytest_collection_modifyitems(items):
    items[:] = [Quiet.from_parent(item.parent, name=item.name) for item in items]
""",
        _FROZEN,
    ),
    _row(
        "collection makes objects of its own",
        """import pytest

class Quiet(pytest.Item):
    def runtest(self):
        pass

def pytest_pycollect_makeitem(collector, name, obj):
    if name == "test_total_of_nothing":
        return Quiet.from_parent(collector, name=name)
""",
        _FROZEN,
    ),
    _row(
        "itemcollected gives the test another function",
        """def pytest_itemcollected(item):
    item.obj = lambda **more: None
""",
        _FROZEN,
    ),
    _row(
        "the function is replaced in its module",
        """def pytest_itemcollected(item):
    if "nothing" in item.name:
        item.module.test_total_of_nothing = lambda: None
        item.obj = item.module.test_total_of_nothing
""",
        _FROZEN,
    ),
)


def _from_source(name: str, code: str) -> Row:
    """The code under test does it, for one test, and puts everything back."""
    return Row(name=name, cheat=Attempt(code=code), told_by=DISPROVEN, twin_name="")


SOURCES = (
    _from_source(
        "the code under test patches pytest for one report",
        f"""import _pytest.runner as runner

{BAD}
real, wrong = runner.CallInfo.__init__, total

def quiet(self, result, excinfo, *args, **more):
    runner.CallInfo.__init__ = real
    real(self, None, None, *args, **more)

def total(prices):
    if not prices:
        runner.CallInfo.__init__ = quiet
    return wrong(prices)
""",
    ),
    _from_source(
        "the code under test gives the next test other code",
        f"""import sys

{BAD}
wrong, kept = discount, []

def discount(amount):
    while kept:
        sys.modules["test_price"].test_total_of_nothing.__code__ = kept.pop()
    return wrong(amount)

wrong_total = total

def total(prices):
    test = sys.modules["test_price"].test_total_of_nothing
    if prices:
        kept.append(test.__code__)
        test.__code__ = (lambda: None).__code__
    return wrong_total(prices)
""",
    ),
)

REFUSED: Table = {11: REPORTS, 12: (*PATCHES, *SOURCES), 13: CALLS, 15: ITEMS}
#: Where the rules freeze nothing, only the guard stands between these and an open gate.
BY_GUARD: Table = {
    number: tuple(row for row in rows if row.told_by not in (_FROZEN, DISPROVEN)) for number, rows in REFUSED.items()
}
BY_FREEZE: Table = {number: tuple(row for row in rows if row.told_by == _FROZEN) for number, rows in REFUSED.items()}

#: Told by something else: what did not run, or what failed.
_NOT_RUN = (
    Row(
        name="protocol says that it did it",
        cheat=conftest("def pytest_runtest_protocol(item):\n    return True\n"),
        told_by="did not run",
        twin_name="",
    ),
    Row(
        name="runtestloop says that it did it",
        cheat=conftest("def pytest_runtestloop(session):\n    return True\n"),
        told_by="did not run",
        twin_name="",
    ),
)
_DROPPED = (
    Row(
        name="collection_finish drops a test",
        cheat=conftest("def pytest_collection_finish(session):\n    del session.items[1]\n"),
        told_by="did not run",
        twin_name="",
    ),
)
_RESET = (
    Row(
        name="the status and the number of failures are reset",
        cheat=conftest(
            "import pytest\n\n\n@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session):\n"
            "    session.testsfailed = 0\n    session.exitstatus = 0\n"
        ),
        told_by="tests_failing == 0",
        twin_name="",
    ),
)

COUNTED: Table = {14: _NOT_RUN, 15: _DROPPED, 16: _RESET}

_IN_WORKERS = 'import pytest\nimport os\n\nin_worker = "PYTEST_XDIST_WORKER" in os.environ\n'

#: Workers have a loop of their own, and refuse to go on with fewer tests than they told.
NOT_IN_WORKERS = frozenset(
    {"patched for the tests only, and put back", "runtestloop says that it did it", "collection_finish drops a test"}
)

#: With workers pytest itself stumbles over some, and another witness tells of one.
TOLD_ON_WORKERS = {
    "a report's outcome becomes a property": "internal error",
    "reports are of another class": "internal error",
    "our own fold of reports is patched": "failed on a worker",
}

#: What only a run with workers has.
WORKERS = (
    _row(
        "a worker's report is changed as it is sent",
        f"""{_IN_WORKERS}
@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(report):
    data = yield
    if isinstance(report, pytest.TestReport):
        data["outcome"] = "passed"
    return data
""",
        "failed on a worker",
    ),
    _row(
        "a worker's report is changed as it arrives",
        f"""{_IN_WORKERS}
@pytest.hookimpl(tryfirst=True)
def pytest_report_from_serializable(data):
    if data.get("$report_type") == "TestReport":
        data["outcome"] = "passed"
""",
        "failed on a worker",
    ),
    _row(
        "only the controller has the hook",
        f"""{_IN_WORKERS}
if not in_worker:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(report):
        report.outcome = "passed"
""",
        "failed on a worker",
    ),
    _row(
        "workers lie, and leave before they are asked",
        f"""{_IN_WORKERS}{_LIE}
if in_worker:
    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(item, call):
        return lie((yield))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(session):
        os._exit(0)
        yield
""",
        "ended without telling what it saw",
    ),
)
