"""What tests leave behind: a function of Python that stays replaced, a closed stream, a removed folder.

The table of functions is not written down: a run's end is traced, and each function that it calls is replaced by a
mock, by None, and by one that raises. The user's result has to be what it is without us, and the run recorded whole; or
it is said that it is not recorded, and the gate stays closed.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from phase_gate.values import Value
from tests.faults.behind import BEHIND, TWINS, Case
from tests.faults.bounded import HUNG, BoundedChildren
from tests.faults.children import Ended
from tests.faults.invariants import assert_chain_holds, assert_life_goes_on
from tests.faults.operations import GATE, Project, must, red
from tests.support import CALC

#: pytest's faulthandler would take our watchdog for its own.
BARE = ("pytest", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:terminalprogress", "-q")
RUN = (*BARE, "-p", "phase_gate.plugin")
WORKERS = ("-p", "xdist.plugin", "-n", "2")
KINDS = ("mock", "none", "raises")

#: The last test runs it.
LEAVING = """\
def leave():
    import os

    if "LEAVE" in os.environ:
        with open(os.environ["LEAVE"], encoding="utf-8") as file:
            code = file.read()
        os.unlink(os.environ["LEAVE"])
        exec(code, {})


"""
REPLACE = """\
import importlib
from unittest import mock


def fail(*arguments, **options):
    raise RuntimeError("left by a test")


replacement = {{"mock": mock.MagicMock(), "none": None, "raises": fail}}[{kind!r}]
owner = importlib.import_module({module!r})
*outer, name = {path!r}.split(".")
for part in outer:
    owner = getattr(owner, part)
(type.__setattr__ if isinstance(owner, type) else setattr)(owner, name, replacement)
"""
TRACE = """\
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("listener", {tracer!r})
listener = module_from_spec(spec)
spec.loader.exec_module(listener)
listener.start({log!r})
"""
#: What pytest writes where it could not go on.
CRASHED = ("INTERNALERROR", "Traceback (most recent call last)", "node down: ", HUNG)


#: The language's own parts: pytest itself does not get as far as its summary without them.
LANGUAGE = ("abc", "collections.abc", "enum", "types", "typing", "_weakref", "warnings:catch_warnings")


def is_private(name: str) -> bool:
    """Tell whether a name is nobody's business but Python's: no test has a reason to replace it."""
    parts = _public(name).split(".")
    return any(part.startswith("_") and not part.endswith("__") for part in parts)


def _public(name: str) -> str:
    """Return a name as it stands in programs: where `pathlib` keeps its classes is nobody's business."""
    return re.sub(r"^pathlib\._\w+", "pathlib", name).replace(":", ".")


class LeftProject(Project):
    """A project in GREEN whose last test leaves something behind."""

    def __init__(self, place: Path) -> None:
        self._more: dict[str, str] = {}
        self._bounded = BoundedChildren(place / "children")
        super().__init__(place, self._bounded)  # type: ignore[arg-type]
        self._script, self._log = place / "leave.txt", place / "trace.txt"
        red(self)
        must(self, 0, GATE, "signal", "--reason", "both fail")
        self.write({"calc.py": LEAVING + CALC.replace("return a - b", "leave()\n    return a - b")})
        for words in (("init", "-q"), ("add", "-A")):
            subprocess.run(["git", *words], cwd=self.root, env=self._environment, check=True)
        must(self, 10, *RUN, "--phase=green")
        self.keep()

    @property
    def _environment(self) -> dict[str, str]:
        return {**super()._environment, **self._more}

    def close(self) -> None:
        self._bounded.close()

    def run_leaving(self, script: str, *words: str) -> Ended:
        """Run a command of pytest on this project; its last test runs the script."""
        self._script.write_text(script, encoding="utf-8")
        self._more = {"LEAVE": str(self._script)}
        try:
            ended = self.run(*words)
        finally:
            self._more = {}
        assert not self._script.exists(), f"the last test did not get as far as leaving something:\n{ended.text}"
        return ended

    def trace(self, *words: str) -> list[str]:
        """Return what the end of such a run calls, in all its processes, as `module:name` or `module:class.name`."""
        self.restore()
        self._log.unlink(missing_ok=True)
        tracer = str(Path(__file__).with_name("tracer.py"))
        ended = self.run_leaving(TRACE.format(tracer=tracer, log=str(self._log)), *RUN, *words)
        assert ended.code in (0, 10), ended.text
        heard = sorted(set(self._log.read_text(encoding="ascii").splitlines()))
        return [name for name in heard if not is_private(name) and not name.startswith(LANGUAGE)]


def replacing(name: str, kind: str) -> str:
    """Return the script that leaves a name of the table replaced."""
    module, _, path = name.partition(":")
    return REPLACE.format(module=module, path=path, kind=kind)


class Leftovers:
    """Runs pytest with and without us, and compares."""

    def __init__(self, place: Path) -> None:
        self.project = LeftProject(place)
        self._gone_on: set[tuple[object, ...]] = set()
        #: How often a run was recorded whole, how often it was said that it is not, how often pytest itself gave up.
        self.ended = Counter[str]()

    def close(self) -> None:
        self.project.close()

    def check(self, script: str, *words: str, ours: tuple[str, ...] = ()) -> Ended:
        """Leave something behind in a run without us and in one with us. Returns the latter."""
        project = self.project
        project.restore()
        bare = project.run_leaving(script, *BARE, *words)
        project.restore()
        before = _ended_runs(project)
        gated = project.run_leaving(script, *RUN, *words, "--phase=green", "--phase-exit=tests", *ours)
        assert HUNG not in gated.err or HUNG in bare.err, gated.text
        assert_same_result(bare, gated)
        opened = project.store.look()
        project.store.check_objects(opened.state)
        is_recorded = _ended_runs(project) == before + 1
        if has_crashed(bare):
            self.ended["crashed"] += 1  # pytest itself can't do without: nobody gets as far as the panel
        elif is_recorded:
            self.ended["recorded"] += 1
        else:
            self.ended["refused"] += 1
            assert "nothing recorded, the gate is closed" in gated.flat, gated.text
        self._go_on(gated, is_lost=bool(opened.state.open_runs))
        return gated

    def check_case(self, case: Case) -> None:
        """Leave something else behind: the run is recorded all the same, or it is said why it is not."""
        refused = self.ended["refused"]
        ended = self.check(case.script, *case.words, ours=case.ours)
        assert case.may_be_refused or self.ended["refused"] == refused + bool(case.problem), ended.text
        assert case.problem in ended.flat, ended.text

    def _go_on(self, gated: Ended, *, is_lost: bool) -> None:
        """In a fresh process the ledger is whole, and the next run is fine: once for each way to end."""
        key = (gated.code, is_lost, _ended_runs(self.project))
        if key not in self._gone_on:
            self._gone_on.add(key)
            assert_chain_holds(self.project)
            assert_life_goes_on(self.project, is_damaged=False, is_lost=is_lost)


class Row(Value, kw_only=False):
    """One thing that a test leaves behind, and the words of the run."""

    name: str
    case: Case


REPORTS = tuple(f"--phase-report=verdict.{suffix}" for suffix in ("json", "md", "xml", "env", "html"))
#: Workers are slow: of what they call, every ninth.
_PART_OF_WORKERS = 9


def find_rows() -> list[Row]:
    """Return the table."""
    rows = [Row(name, case) for name, case in BEHIND.items()]
    rows += [Row(name, Case(script)) for name, script in TWINS.items()]
    with tempfile.TemporaryDirectory(prefix="left-") as place:
        project = LeftProject(Path(place))
        try:
            plain = project.trace("--phase=green")
            with_reports = project.trace("--phase=green", *REPORTS)
            on_workers = project.trace("--phase=green", *WORKERS)
        finally:
            project.close()
    for how in KINDS:
        rows += [Row(f"{name}, {how}", _left(name, how)) for name in plain]
        rows += [
            Row(f"with reports: {name}, {how}", _left(name, how, ours=REPORTS))
            for name in with_reports
            if name not in plain
        ]
        rows += [
            Row(f"on workers: {name}, {how}", _left(name, how, WORKERS)) for name in on_workers[::_PART_OF_WORKERS]
        ]
    return rows


def _left(name: str, how: str, words: tuple[str, ...] = (), *, ours: tuple[str, ...] = ()) -> Case:
    return Case(replacing(name, how), words, may_be_refused=True, ours=ours)


def leave_rows(rows: list[Row]) -> tuple[Counter[str], list[str]]:
    """Return how the runs ended, and what is wrong."""
    problems = []
    with tempfile.TemporaryDirectory(prefix="left-") as place:
        leftovers = Leftovers(Path(place))
        try:
            for row in rows:
                try:
                    leftovers.check_case(row.case)
                except Exception as problem:
                    problems.append(f"{row.name}: {type(problem).__name__}: {problem}")
        finally:
            leftovers.close()
    return leftovers.ended, problems


def has_crashed(ended: Ended) -> bool:
    return any(text in ended.text for text in CRASHED)


def assert_same_result(bare: Ended, ours: Ended) -> None:
    """The exit status, the outcomes and the summary are those that pytest alone gives."""
    # 120 is the interpreter's: it could not write what was left, and what pytest ended with before that is not known.
    same = bare.code == ours.code or (bare.code == 120 and ours.code != 0)
    assert same, f"{bare.code} without us:\n{bare.text}\n{ours.code} with us:\n{ours.text}"
    if has_crashed(bare):
        for each in ours.text.split("Traceback (most recent call last)")[1:]:
            files = re.findall(r'File "(.*?)", line', each)
            assert not files or "phase_gate" not in files[-1], ours.text
        return
    assert not has_crashed(ours), ours.text
    assert _plain(ours.out).startswith(_plain(bare.out)), f"{bare.out}\nis not the beginning of\n{ours.out}"


def _plain(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"in [\d.]+s", "in 0s", text)).rstrip()


def _ended_runs(project: Project) -> int:
    return sum(line.event.kind == "run-ended" for line in project.store.lines())
