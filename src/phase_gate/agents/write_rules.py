"""May an agent write this file now? What is frozen, and what is ours.

Pure. It is a courtesy to the agent, for the gate itself finds every change that is made anyway.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from phase_gate.agents.stop import ALLOW, HookAnswer
from phase_gate.gate.freeze import Frozen, Meaning, find_altered
from phase_gate.gate.inventory import Inventory, TestFile
from phase_gate.values import Literal, Value
from phase_gate.workflow.names import call_command, signal_command

#: pytest reads these and nothing else does.
PYTEST_FILES = frozenset({"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
#: These have a section for pytest among many others.
SHARED_FILES = frozenset({"pyproject.toml", "tox.ini", "setup.cfg"})


class Write(Value):
    """A file that is about to be written: a path from the root, with slashes; from a shell also a folder."""

    path: str
    #: Its present content; None if there is no such file, or it is no text.
    before: str | None = None
    #: Its content afterwards; None if that can't be told.
    after: str | None = None


class WriteContext(Value):
    """What the rules look at."""

    #: From the root.
    state_folder: str
    #: Where the agent of a drive answers, from the root; empty: nowhere.
    answer_file: str = ""
    task: str = "default"
    phase: str = ""
    #: The phase that comes first, which is the way back.
    first: str = ""
    #: What may not change now; None if nothing is frozen.
    frozen: Frozen | None = None
    #: Our own configuration, and files of workflows.
    rules: tuple[str, ...] = ()
    #: Files that agents' hooks stand in; none outside a cycle.
    hook_files: tuple[str, ...] = ()


_RANK = {"deny": 2, "ask": 1, "block": 0, "allow": 0}


def decide_writes(writes: Iterable[Write], context: WriteContext) -> HookAnswer:
    """Return the strictest answer of all."""
    return max((_decide(write, context) for write in writes), key=lambda answer: _RANK[answer.verdict], default=ALLOW)


def decide_writes_in_doubt(writes: Iterable[Write], context: WriteContext, problem: str, remedy: str) -> HookAnswer:
    """Return the answer where the state can't be trusted: nothing in the project is written until it is."""
    for write in writes:
        ours = _decide_about_state(write, context)
        if ours is not None:
            return ours
        if not write.path.startswith(("/", "../")):
            reason = f"{write.path} is not written now, for the gate's state can't be trusted: {problem}"
            return HookAnswer(verdict="deny", reason=reason, next_hint=remedy)
    return ALLOW


def _decide(write: Write, context: WriteContext) -> HookAnswer:
    ours = _decide_about_state(write, context)
    if ours is not None:
        return ours
    if any(_covers(write.path, file) for file in context.hook_files):
        reason = f"{write.path} tells the agent to ask the gate; a person decides whether it changes"
        return HookAnswer(
            verdict="ask", reason=reason, next_hint="phase-gate doctor shows whether the hook still answers"
        )
    return ALLOW if context.frozen is None else _decide_frozen(write, context, context.frozen)


def _decide_about_state(write: Write, context: WriteContext) -> HookAnswer | None:
    if context.answer_file and write.path == context.answer_file:
        return None
    is_inside = write.path == context.state_folder or write.path.startswith(f"{context.state_folder}/")
    if not is_inside and not _covers(write.path, context.state_folder):
        return None
    reason = f"{write.path} belongs to the gate's own record: only the gate writes it"
    return HookAnswer(
        verdict="deny",
        reason=reason,
        next_hint=f"{signal_command(context.task)} gives a signal; phase-gate status looks",
    )


# --- once tests are frozen


def _decide_frozen(write: Write, context: WriteContext, frozen: Frozen) -> HookAnswer:
    hit = next((file for file in context.rules if _covers(write.path, file)), None)
    if hit is None and _is_settings(write):
        hit = write.path
    if hit is not None:
        return _refuse(context, f"{hit} sets the rules of this cycle, which began with others", answer="blocked")
    if write.path in SHARED_FILES:
        return _decide_shared(write, context)
    changed = next(_changes(write, frozen), None)
    return ALLOW if changed is None else _refuse(context, changed)


#: How an agent calls a person.
_Call = Literal["blocked", "test-wrong"]


def _refuse(context: WriteContext, reason: str, *, answer: _Call = "test-wrong") -> HookAnswer:
    """Return that it is not written, and the one thing that an agent may do about it by itself: say so, and stop."""
    way_back = f'a person goes back with: phase-gate rewind {context.first.lower()} --reason "..."'
    cause = "it is wrong" if answer == "test-wrong" else "it has to change"
    return HookAnswer(
        verdict="deny",
        reason=f"{reason} ({context.phase})",
        next_command=call_command(answer, context.task),
        next_hint=f"if {cause}; then stop: {way_back}",
    )


def _is_settings(write: Write) -> bool:
    return write.path in PYTEST_FILES and write.after != write.before


def _decide_shared(write: Write, context: WriteContext) -> HookAnswer:
    if write.after is None:
        reason = f"{write.path} may set options of pytest, which must stay as they are ({context.phase})"
        return HookAnswer(verdict="ask", reason=reason, next_hint="leave pytest's section as it is")
    from phase_gate.source.pytest_settings import pytest_section

    if pytest_section(write.path, write.before or "") == pytest_section(write.path, write.after):
        return ALLOW
    reason = f"{write.path} sets options of pytest, and tests are frozen with them"
    return _refuse(context, reason, answer="blocked")


def _changes(write: Write, frozen: Frozen) -> Iterator[str]:
    """Yield what would not be as it was frozen."""
    path = write.path
    if write.after is None:
        for file in (*frozen.inventory.files, *frozen.support):
            if _covers(path, file):
                yield f"{file} is frozen: {_what(file, frozen)}"
        if path.rpartition("/")[2] == "conftest.py" and path not in frozen.support and _is_above_tests(path, frozen):
            yield f"{path} would be a new conftest.py above frozen tests"
        return
    if write.after == write.before:
        return
    if path.endswith(".py"):
        yield from _code_changes(path, write.after, frozen, frozen.inventory.files.get(path))
    elif path in frozen.inventory.files or path in frozen.support:
        yield f"{path} is frozen: {_what(path, frozen)}"


def _code_changes(path: str, after: str, frozen: Frozen, file: TestFile | None) -> Iterator[str]:
    is_support = path in frozen.support or path.rpartition("/")[2] == "conftest.py"
    if file is None and not is_support:
        return
    from phase_gate.source.module_code import module_code
    from phase_gate.source.tests import find_tests, parse_source

    try:
        tree = parse_source(after)
    except SyntaxError:
        yield f"{path} is frozen, and would not be Python any more"
        return
    bodies = {test.name: test.body for test in find_tests(tree, functions=("*",), classes=("*",))}
    now = Inventory({})
    meaning = Meaning()
    if file is not None:
        gone = [name for name in file.bodies if name not in bodies]
        if gone:
            yield f"{path}::{gone[0]} is frozen, and would be gone"
        now = Inventory({path: TestFile(content="", ids=tuple(bodies), bodies=bodies)})
        # Whatever is called a test there may come; what is none is looked at as the code around them.
        tests = {name for name in bodies if name in file.bodies or name.rpartition("::")[2].startswith("test")}
        meaning = Meaning(modules={path: module_code(tree, tests=tests)})
    if is_support:
        meaning = Meaning(modules=meaning.modules, support={path: ("", module_code(tree, tests=()))})
    for finding in find_altered(frozen, now, meaning):
        if finding.file == path and finding.change != "gone":
            is_new = file is None and path not in frozen.support
            yield f"{path} would be {finding.detail}" if is_new else f"{finding.id or path} is frozen, and would change"


def _what(file: str, frozen: Frozen) -> str:
    return "its tests were red before" if file in frozen.inventory.files else "the tests use it"


def _is_above_tests(conftest: str, frozen: Frozen) -> bool:
    home = conftest.rpartition("/")[0]
    return any(not home or file.startswith(f"{home}/") for file in frozen.inventory.files)


def _covers(written: str, file: str) -> bool:
    """Tell whether writing a path touches a file: it is the file, or a folder above it."""
    written = posixpath.normpath(written)
    return written in (".", file) or file.startswith(f"{written}/")
