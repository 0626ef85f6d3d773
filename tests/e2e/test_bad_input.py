"""Files and names that are not what they should be, through real runs and commands.

Configuration that can't be used ends a run with 4 before a test runs. State that can't be used never stands in the way
of the tests: they run, their output is complete, the run ends with 11, and no byte of what was there is changed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.gate.state import SCHEMA
from phase_gate.recording import session  # noqa: F401  (imported once, not once an inner session)
from phase_gate.storage.files import FileSystem
from tests.storage.stores import contents, edit_json
from tests.support import CALC, FAILING_TESTS, Project, Ran

#: Says whether a test ran at all.
WITNESS = f"{FAILING_TESTS}\n\nopen('ran.txt', 'w').close()\n"

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b]\n"

#: A name that can be no phase, task, workflow or file of ours.
NAMES = {"a-path-upwards": "../x", "empty": "", "300-characters": "x" * 300, "unicode": "grün\u2028"}


def flat(ran: Ran) -> str:
    """Return the output without its line breaks: a panel folds long sentences."""
    return " ".join(ran.out.split())


def place(path: Path, content: str | bytes | None) -> None:
    """Put content there; None is a folder."""
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def assert_refused_before_tests(project: Project, ran: Ran, *said: str) -> None:
    assert ran.code == 4
    assert ran.has(*said, "\n  try: ")
    assert not (project.root / "ran.txt").exists(), "no test module was imported"
    assert not (project.root / ".phase-gate").exists(), "nothing was recorded"
    assert "INTERNALERROR" not in ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err


# --- phase-gate.yaml

ANY_YAML: dict[str, tuple[str | bytes | None, str, str]] = {
    "malformed": ("workflow: [tdd\n", "1:", "bad-yaml"),
    "10-mb": (b"# " + b"x" * 10_000_000, "1:1: bigger than 1048576 bytes", "bad-yaml"),
    "a-bomb": (BOMB, "1:4: anchor &a", "bad-yaml"),
}

CONFIGURATIONS: dict[str, tuple[str | bytes | None, str, str]] = {
    **{name: (content, f":{problem}", slug) for name, (content, problem, slug) in ANY_YAML.items()},
    "an-unknown-key": ("workflows: tdd\n", ":1:1: unknown key 'workflows'", "bad-configuration"),
    "a-wrong-type": ("\nlock_timeout: soon\n", ":2:15: lock_timeout has to be a number", "bad-configuration"),
    "a-folder": (None, ": this is a folder, not a file", "bad-configuration"),
    "code-for-a-condition": ("phases:\n  GREEN:\n    condition: __import__('os')\n", ":3:16: ", "bad-configuration"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("content", "problem", "slug"), CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_a_configuration_that_can_not_be_used(
    project: Project, content: str | bytes | None, problem: str, slug: str
) -> None:
    project.write(test_calc=WITNESS)
    place(project.root / "phase-gate.yaml", content)
    before = contents(project.root)
    ran = project.run("--phase=red")
    assert_refused_before_tests(project, ran, f"phase-gate.yaml{problem}", f"[{slug}]")
    assert contents(project.root) == before


@pytest.mark.parametrize("name", ["malformed", "10-mb", "a-bomb", "a-wrong-type", "a-folder", "an-unknown-key"])
def test_the_command_says_the_same_with_2(project: Project, name: str) -> None:
    content, problem, slug = CONFIGURATIONS[name]
    place(project.root / "phase-gate.yaml", content)
    ran = project.call("status")
    assert (ran.code, ran.out) == (2, "")
    assert ran.has(f"phase-gate: phase-gate.yaml{problem}", f"[{slug}]\n  try: ")


def test_another_suffix_is_not_passed_over(project: Project) -> None:
    project.write({"phase-gate.yml": "workflow: tdd\n"}, test_calc=WITNESS)
    ran = project.run("--phase=red")
    assert_refused_before_tests(project, ran, "phase-gate.yml: a file of this name is not read", "rename it")


def test_without_the_option_a_broken_configuration_is_nobody_s_business(project: Project) -> None:
    project.write({"phase-gate.yaml": "[\n"}, test_ok="def test_ok():\n    pass\n")
    assert project.run().code == 0


# --- workflow files

WORKFLOWS: dict[str, tuple[str | bytes | None, str, str]] = {
    **{name: (content, f":{problem}", slug) for name, (content, problem, slug) in ANY_YAML.items()},
    "no-phases": ("workflow: mine\n", ":1:1: the key 'phases' is missing", "bad-workflow"),
    "a-folder": (None, ": this is a folder, not a file", "bad-workflow"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("content", "problem", "slug"), WORKFLOWS.values(), ids=WORKFLOWS)
def test_a_workflow_file_that_can_not_be_used(
    project: Project, content: str | bytes | None, problem: str, slug: str
) -> None:
    project.write(test_calc=WITNESS)
    place(project.root / "flow.yaml", content)
    before = contents(project.root)
    ran = project.run("--phase=red", "--phase-workflow=flow.yaml")
    assert_refused_before_tests(project, ran, f"flow.yaml{problem}", f"[{slug}]")
    assert contents(project.root) == before


# --- names


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        pytest.param(("--phase={name}",), "bad-usage", id="phase"),
        pytest.param(("--phase=red", "--phase-task={name}"), "bad-task-name", id="task"),
    ],
)
def test_a_name_that_can_be_none(project: Project, name: str, arguments: tuple[str, ...], slug: str) -> None:
    project.write(test_calc=WITNESS)
    ran = project.run(*(argument.format(name=name) for argument in arguments))
    assert_refused_before_tests(project, ran, f"[{slug}]")
    assert max(len(line) for line in ran.err.splitlines()) < 120
    assert not (project.root.parent / "x").exists()


@pytest.mark.parametrize("name", ["blue", "don", "RED GREEN", "../x", "x" * 300])
def test_an_unknown_phase_is_told_which_there_are(project: Project, name: str) -> None:
    project.write(test_calc=WITNESS)
    ran = project.run(f"--phase={name}")
    assert_refused_before_tests(project, ran, "unknown phase ", "in workflow tdd", "try: use one of: red, green, ")


# --- exit-signal.yaml


@pytest.fixture
def red(project: Project) -> Project:
    """A project whose RED has run once; its two tests fail."""
    project.write(test_calc=FAILING_TESTS)
    assert project.run("--phase=red").code == 0
    return project


def assert_output_is_complete(ran: Ran) -> None:
    """pytest's own report of the two failing tests is all there."""
    assert ran.has("= FAILURES =", "_ test_add _", "_ test_sub _", "ModuleNotFoundError: No module named 'calc'")
    assert ran.has("= short test summary info =", "FAILED test_calc.py::test_add", "FAILED test_calc.py::test_sub")
    assert ran.has("= 2 failed in ")
    assert "INTERNALERROR" not in ran.out
    assert "Traceback" not in ran.out + ran.err


# --- state.json and ledger.jsonl


def damage_line(folder: Path) -> None:
    path = folder / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"tests_failing":2', b'"tests_failing":0', 1))


def put(name: str, content: str | bytes | None) -> Callable[[Path], object]:
    return lambda folder: place(folder / name, content)


def edit(**changes: object) -> Callable[[Path], object]:
    return lambda folder: edit_json(folder / "state.json", lambda stored: stored.update(changes))


TROUBLE: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "state-edited": ("state.json does not match the ledger", "state-tampered", edit(lineage="0" * 32)),
    "state-of-a-newer-version": (
        f"state.json has schema {SCHEMA + 1}, but this version supports {SCHEMA}",
        "state-schema",
        edit(schema=SCHEMA + 1, of_tomorrow=True),
    ),
    "ledger-line-changed": ("ledger.jsonl:5: its hash is wrong", "state-tampered", damage_line),
    "ledger-gone": ("ledger.jsonl is missing", "state-tampered", lambda folder: (folder / "ledger.jsonl").unlink()),
    "lock-a-folder": ("state.json.lock is a folder, not a file", "state-storage", put("state.json.lock", None)),
}


def assert_not_recorded(red: Project, ran: Ran, problem: str, slug: str) -> None:
    assert ran.code == 11
    assert_output_is_complete(ran)
    text = flat(ran)
    assert f"nothing recorded, the gate is closed: {problem}" in text
    assert f"[{slug}]" in text


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("problem", "slug", "damage"), TROUBLE.values(), ids=TROUBLE)
def test_state_trouble_does_not_stand_in_the_way_of_the_tests(
    red: Project, problem: str, slug: str, damage: Callable[[Path], object]
) -> None:
    damage(red.root / ".phase-gate")
    before = contents(red.root)
    ran = red.run("--phase=red", "--phase-report=verdict.json")
    assert_not_recorded(red, ran, problem, slug)
    said = red.call("declare", "refactoring_complete=true", "--reason", "x", "--json")
    assert (said.code, said.document["error"]["slug"]) == (11, slug)
    assert contents(red.root) == before, "nothing lost, nothing overwritten, no report of a run that was not recorded"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["state-edited", "ledger-line-changed", "state-of-a-newer-version", "ledger-gone"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param((), 11, id="a-passing-suite-ends-with-11"),
        pytest.param(("--phase-exit=tests",), 0, id="who-only-observes-gets-pytest-s-own-code"),
    ],
)
def test_a_green_run_too(red: Project, name: str, arguments: tuple[str, ...], code: int) -> None:
    assert red.call("signal", "--reason", "both fail").code == 0
    red.write(calc=CALC)
    TROUBLE[name][2](red.root / ".phase-gate")
    ran = red.run("--phase=green", *arguments)
    assert ran.code == code
    assert ran.has("= 2 passed in ", "nothing recorded, the gate is closed: ")


def test_pytest_s_own_failure_is_not_hidden_by_11(red: Project) -> None:
    damage_line(red.root / ".phase-gate")
    ran = red.run("--phase=green")
    assert ran.code == 1
    assert ran.has("= 2 failed in ", "nothing recorded, the gate is closed: ")


@pytest.mark.parametrize("arguments", [(), ("--phase-shard=1/2",)], ids=["a-run", "a-shard"])
def test_an_unknown_phase_is_a_usage_error_whatever_the_state_is(red: Project, arguments: tuple[str, ...]) -> None:
    damage_line(red.root / ".phase-gate")
    ran = red.run("--phase=purple", *arguments)
    assert ran.code == 4
    assert ran.has("unknown phase 'purple' in workflow tdd", "try: use one of: red, green, ")
    assert " failed in " not in ran.out, "no test ran"


@pytest.mark.parametrize("damage", ["gone", "another"])
def test_a_stored_object_that_is_not_what_it_was(red: Project, damage: str) -> None:
    objects = red.root / ".phase-gate" / "objects"
    kept = list(objects.iterdir())
    if damage == "gone":
        shutil.rmtree(objects)
    else:
        for path in kept:
            path.write_bytes(b"another")
    ran = red.run("--phase=red")
    assert ran.code == 11
    assert_output_is_complete(ran)
    assert ran.has("[state-tampered]")


def test_a_keyed_ledger_without_its_key(project: Project) -> None:
    project.write(test_calc=FAILING_TESTS)
    project.environment.setenv("PHASE_GATE_KEY", "kept elsewhere")
    assert project.run("--phase=red").code == 0
    before = contents(project.root)
    for key in ("another", ""):
        project.environment.setenv("PHASE_GATE_KEY", key)
        ran = project.run("--phase=red")
        assert_not_recorded(project, ran, "", "state-key")
        assert "kept elsewhere" not in ran.out
        assert project.call("check").code == 11
    assert contents(project.root) == before
    project.environment.setenv("PHASE_GATE_KEY", "kept elsewhere")
    assert project.run("--phase=red").code == 0


def test_a_baseline_is_not_taken_where_the_key_does_not_fit(project: Project) -> None:
    project.write(test_calc=FAILING_TESTS)
    ran = project.run("--phase-baseline=work tree")
    assert ran.has("baseline: 2 tests")
    project.environment.setenv("PHASE_GATE_KEY", "kept elsewhere")
    before = contents(project.root / ".phase-gate")
    again = project.run("--phase-baseline=work tree")
    assert again.code == 4
    assert again.has("[state-keyless]")
    assert contents(project.root / ".phase-gate") == before


# --- nowhere to write


def test_a_file_in_the_state_folder_s_place(project: Project) -> None:
    project.write({".phase-gate": "mine"}, test_calc=FAILING_TESTS)
    ran = project.run("--phase=red")
    assert_not_recorded(project, ran, ".phase-gate is a file, not a folder", "state-storage")
    assert ran.has("move ", " out of the way")
    assert (project.root / ".phase-gate").read_text(encoding="utf-8") == "mine"
    assert project.call("signal", "--next", "--reason", "x").code == 11


FILLS_THE_DISK = """\
import errno
import os

from phase_gate.storage.files import FileSystem


def pytest_collection_finish():
    def fail(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    FileSystem.write = fail
"""


def test_the_disk_is_full_at_the_end_of_the_run(red: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    # The start is recorded, the end can't be: the next run has to say that one was lost.
    red.write(conftest=FILLS_THE_DISK)
    with monkeypatch.context() as patch:
        patch.setattr(FileSystem, "write", FileSystem.write)  # so that it is put back
        ran = red.run("--phase=red")
    assert_not_recorded(red, ran, "", "state-storage")
    assert ran.has("No space left on device")
    red.remove("conftest.py")
    again = red.run("--phase=red")
    assert again.code == 0
    assert "was lost: it never ended, so the streak starts over" in flat(again)
    kinds = [run["kind"] for run in red.call("history", "--json").document["runs"]]
    assert kinds == ["complete", "lost", "complete"]


# --- somebody else holds the lock
