"""What right code, right tests and right documents of the small project look like, and what wrong ones do.

`plus3` adds 3 to a number; a test of it calls it with 4 and expects 7. Tests are in `tests/`, the code is `calc.py`.
"""

from __future__ import annotations

import re

from phase_gate.values import Value, replace
from tests.scenarios import load_projects
from tests.stateful import papers
from tests.stateful.session import Session

CODE, CONFIGURATION, INI, TESTS = "calc.py", "phase-gate.yaml", "pytest.ini", "tests/**/test_*.py"

#: Test files may have one name in two folders.
SETTINGS = "[pytest]\npythonpath = .\ntestpaths = tests\naddopts = --import-mode=importlib\n"

_TEST = re.compile(
    r"^(@pytest\.mark\.passes_already\([^\n]*\n)?def (test_\w+)\(.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL
)
_FEATURE = re.compile(r"plus(\d+)\( ?4 ?\)")
_FUNCTION = re.compile(r"^def plus(\d+)", re.MULTILINE)


#: Three documents, a decision and a C4 diagram among them.
_DOCUMENTS: dict[str, str] = load_projects()["documents"]["good"]


class Test(Value):
    """A test function: its name, and the feature that it is about."""

    __test__ = False

    name: str
    number: int
    #: It is marked as passing already.
    is_marked: bool = False


def write_code(numbers: set[int], wrong: frozenset[int] = frozenset()) -> str:
    """Return `calc.py` with these functions; the wrong ones give their argument back."""
    functions = (f"def plus{n}(x):\n    return x{'' if n in wrong else f' + {n}'}\n" for n in sorted(numbers))
    return "\n\n".join(functions) or "# nothing yet\n"


def write_test(test: Test, *, expected: int = 0) -> str:
    """Return a test function, a right one unless it expects something else."""
    call = f"plus{test.number}"
    mark = '@pytest.mark.passes_already("it works")\n' if test.is_marked else ""
    check = f"assert {call}(4) == {expected or test.number + 4}"
    return f"{mark}def {test.name}():\n    from calc import {call}\n\n    {check}\n"


def read_tests(text: str) -> list[Test]:
    """Return the tests in a file."""
    found = ((match, _FEATURE.search(match[0])) for match in _TEST.finditer(text))
    return [
        Test(name=match[2], number=int(feature[1]), is_marked=bool(match[1])) for match, feature in found if feature
    ]


def read_code(text: str) -> set[int]:
    return {int(number) for number in _FUNCTION.findall(text)}


class Craft:
    """A developer who knows what is right, at work in a session."""

    def __init__(self, session: Session, configuration: str = "", workflow: str = "tdd") -> None:
        self.session, self.configuration, self.workflow = session, configuration, workflow

    @property
    def phases(self) -> tuple[str, ...]:
        """Some phases of the workflow."""
        return _PHASES.get(self.workflow, ("red", "green", "refactor"))

    def begin(self) -> None:
        """Make the project: two features that work, on two branches."""
        session = self.session
        session.type("git init -q -b main")
        session.write(INI, SETTINGS)
        session.write(".gitignore", "\n".join(("__pycache__/", ".pytest_cache/", *_FILES, "")))
        if self.configuration:
            session.write(CONFIGURATION, self.configuration)
        session.write(CODE, write_code({1, 2}))
        session.write("tests/test_first.py", write_test(Test(name="test_plus1", number=1)))
        session.write("tests/test_second.py", write_test(Test(name="test_plus2", number=2)))
        session.type("git add -A")
        session.type("git commit -q -m begin")
        session.type("git branch other")
        if self.workflow == "verification":
            session.asks = ("--task", papers.TASK)
            self.start_task()

    # --- what is there -------------------------------------------------------------------------------------------

    @property
    def test_files(self) -> list[str]:
        return self.session.find(TESTS)

    def tests(self) -> dict[str, list[Test]]:
        return {name: read_tests(self.session.read(name)) for name in self.test_files}

    @property
    def numbers(self) -> set[int]:
        """The features that tests speak of."""
        return {test.number for tests in self.tests().values() for test in tests}

    @property
    def written(self) -> set[int]:
        """The features that the code has."""
        return read_code(self.session.read(CODE))

    @property
    def committed(self) -> set[int]:
        """The features that committed tests speak of."""
        names = self.session.ask_git("ls-tree", "-r", "--name-only", "HEAD", "tests").split()
        texts = [self.session.ask_git("show", f"HEAD:{name}") for name in names]
        return {test.number for text in texts for test in read_tests(text)}

    @property
    def fresh(self) -> int:
        """A feature that neither code nor tests speak of."""
        return max({0, *self.numbers, *self.written, *self.committed}) + 1

    # --- honest edits: each returns whether it changed anything --------------------------------------------------

    def fix_code(self) -> bool:
        """Write the code that the tests ask for."""
        return self.session.write(CODE, write_code(self.numbers | self.written))

    def fix_old_code(self) -> bool:
        """Write the code that committed tests ask for."""
        return self.session.write(CODE, write_code(self.written | self.committed))

    def take_out_code(self) -> bool:
        """Take out the code that was written before its test had failed."""
        early = self.numbers - self.committed
        return bool(early & self.written) and self.session.write(CODE, write_code(self.written - early))

    def fix_tests(self) -> bool:
        """Let every test expect what is right, and nothing else stand in the test files."""
        changed = [self.session.write(name, _tests_text(tests)) for name, tests in self.tests().items()]
        return any(changed)

    def mark_tests(self, ids: list[str]) -> bool:
        """Mark tests that guard what works already."""
        wanted = {tuple(test.split("[")[0].split("::")) for test in ids}
        changed = [
            self.session.write(
                name,
                _tests_text([replace(each, is_marked=each.is_marked or (name, each.name) in wanted) for each in tests]),
            )
            for name, tests in self.tests().items()
            if any((name, each.name) in wanted for each in tests)
        ]
        return any(changed)

    def fix_settings(self) -> bool:
        """Take back what was changed about how tests run."""
        changed = [self.session.remove(name) for name in self.session.find("**/conftest.py")]
        changed.append(self.session.write(INI, SETTINGS))
        if self.configuration:
            changed.append(self.session.write(CONFIGURATION, self.configuration))
        else:
            changed.append(self.session.remove(CONFIGURATION))
        return any(changed)

    def tests_are_wrong(self) -> bool:
        return any(self.session.read(name) != _tests_text(tests) for name, tests in self.tests().items())

    def take_back(self, names: set[str]) -> bool:
        """Take back what was changed in these files since they were frozen."""
        frozen = self.session.frozen
        changed = [
            self.session.write(name, frozen[name]) if name in frozen else self.session.remove(name)
            for name in sorted(names)
            if frozen
        ]
        return any(changed)

    def put_back(self, ids: list[str]) -> bool:
        """Put tests back that are gone, by their ids; return whether any was."""
        changed = [self._put_back(*test.split("::", 1)) for test in ids if "::" in test]
        return any(changed)

    def _put_back(self, name: str, function: str) -> bool:
        function = function.split("[")[0]
        tests = read_tests(self.session.read(name))
        number = int("".join(re.findall(r"\d+", function)) or 0)
        if not number or any(test.name == function for test in tests):
            return False
        return self.session.write(name, _tests_text([*tests, Test(name=function, number=number)]))

    def add_test(self) -> bool:
        """Write a test for a feature that is not there yet."""
        number = self.fresh
        return self.session.write(f"tests/test_{number}.py", write_test(Test(name=f"test_plus{number}", number=number)))

    def commit(self) -> bool:
        self.session.type("git add -A")
        return self.session.type("git commit -q -m step").code == 0

    def start_task(self) -> bool:
        self.session.write(papers.TASK_FILE, papers.VERIFY_TASK)
        return self.session.type(f"phase-gate verify start --task-file {papers.TASK_FILE} --untimed").code == 0

    def do_the_task(self) -> bool:
        """Do what the verify task asks for."""
        test = write_test(Test(name="test_plus3", number=3))
        changed = [self.session.write("tests/test_3.py", test), self.session.write(CODE, write_code({1, 2, 3}))]
        return any(changed)

    # --- papers --------------------------------------------------------------------------------------------------

    @property
    def _revision(self) -> int:
        """Something new each time."""
        return len(self.session.typed)

    def prepare(self, command: str) -> None:
        """Write the file that a command reads."""
        if "executor" in command.split():
            self.do_the_task()
        for name, text in _FILES.items():
            if name in command.split():
                self.session.write(name, text)
                self.session.touch(name)  # a verdict has to be younger than what it is about

    def write_documents(self) -> bool:
        """Document the cycle: three documents, a decision and a C4 diagram."""
        written = [
            self.session.write(name, f"{text}\nRevision {self._revision}.\n") for name, text in _DOCUMENTS.items()
        ]
        return any(written)


_PHASES = {
    "exit-gate": ("work",),
    "confidence": ("work",),
    "verification": ("verification",),
}
_FILES = {
    "said.txt": papers.CLAIM,
    "result.yaml": papers.REPORT,
    "verdict.yaml": papers.APPROVAL,
    "task.yaml": papers.VERIFY_TASK,
}


def _tests_text(tests: list[Test]) -> str:
    lead = "import pytest\n\n\n" if any(test.is_marked for test in tests) else ""
    return lead + "\n\n".join(write_test(test) for test in tests) or "# no test yet\n"
