"""Tasks of the verification gate: both forms, and what is wrong with others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from phase_gate.codec import from_json, to_json
from phase_gate.errors import NotAllowedError
from phase_gate.storage.root import task_folder
from phase_gate.tasks.task_files import (
    TaskFileError,
    is_same_command,
    lint_command,
    lint_done,
    parse_tasks,
    read_task_file,
)
from phase_gate.tasks.work import TaskSpec, task_slug
from phase_gate.workflow.sections import DEFAULT_TIMEOUTS, MAX_TIMEOUTS
from tests.e2e.sessions import faults, load_schema
from tests.tasks.verifying import NAME, Gate, python

XML = """\
<task type="auto">
  <name>Task 3: Create PlannerId</name>
  <files>src/domain/PlannerId.ts, src/domain/index.ts</files>
  <action>
    Create the class.
      - with an id
  </action>
  <verify>tsc --noEmit && npm test -- PlannerId</verify>
  <done>PlannerId exists; all 5 tests pass</done>
  <depends_on>Task 1: Set up, and tidy</depends_on>
  <flaky>accepted</flaky>
  <flaky_reason>the clock</flaky_reason>
  <wave>w1</wave>
</task>
"""
YAML = """\
name: "Task 3: Create PlannerId"
files: [src/domain/PlannerId.ts, ./src/domain/index.ts]
action: |
  Create the class.
    - with an id
verify: tsc --noEmit && npm test -- PlannerId
done: PlannerId exists; all 5 tests pass
depends_on: "Task 1: Set up, and tidy"
flaky: accepted
flaky_reason: the clock
wave: w1
"""
SPEC = TaskSpec(
    name="Task 3: Create PlannerId",
    files=("src/domain/PlannerId.ts", "src/domain/index.ts"),
    action="Create the class.\n  - with an id",
    verify="tsc --noEmit && npm test -- PlannerId",
    done="PlannerId exists; all 5 tests pass",
    depends_on=("Task 1: Set up, and tidy",),
    flaky="the clock",
    wave="w1",
)


def xml(name: str = "a", **more: str) -> str:
    parts = {"name": name, "files": "a.py", "action": "do", "verify": "pytest a", "done": "5 pass", **more}
    return "<task>" + "".join(f"<{key}>{value}</{key}>" for key, value in parts.items()) + "</task>"


def yaml(**more: str) -> str:
    parts = {"name": "a", "files": "[a.py]", "action": "do", "verify": "pytest a", "done": "5 pass", **more}
    return "".join(f"{key}: {value}\n" for key, value in parts.items())


@pytest.mark.parametrize("text", [XML, YAML], ids=["xml", "yaml"])
def test_both_forms_say_the_same(tmp_path: Path, text: str) -> None:
    path = tmp_path / "task"
    path.write_text(text, encoding="utf-8")
    assert read_task_file(path) == (SPEC,)
    assert from_json(TaskSpec, to_json(SPEC)) == SPEC


def test_a_short_one_needs_nothing_else() -> None:
    expected = TaskSpec(name="a", files=("a.py",), action="do", verify="pytest a", done="5 pass")
    assert parse_tasks(xml(), "a.xml") == parse_tasks(yaml(), "a.yaml") == (expected,)


def test_several_without_a_root() -> None:
    assert [each.name for each in parse_tasks(f"<!-- two -->\n{xml('a')}\n{xml('b')}\n", "t.xml")] == ["a", "b"]


def test_a_list_in_yaml() -> None:
    one, two = (
        "- {name: a, files: [], action: x, verify: x, done: x}",
        "- {name: b, files: c, action: x, verify: x, done: x}",
    )
    assert [each.name for each in parse_tasks(f"{one}\n{two}\n", "t.yaml")] == ["a", "b"]


@pytest.mark.parametrize(
    ("verify", "expected"),
    [
        ("a && b", "a && b"),
        ("a &amp;&amp; b", "a && b"),
        ("<![CDATA[a && b < c]]>", "a && b < c"),
        ("a 2>&1", "a 2>&1"),
        ("test 1 < 2", "test 1 < 2"),
        ("a &lt; b", "a < b"),
        ("a &#38; b", "a & b"),
        ("a<!-- no --> && b", "a            && b"),
    ],
)
def test_signs_of_a_shell_in_xml(verify: str, expected: str) -> None:
    assert parse_tasks(xml(verify=verify), "t.xml")[0].verify == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a.py", ("a.py",)),
        ("\n  a.py\n  b c.py\n", ("a.py", "b c.py")),
        ("a.py,b.py , ./c.py", ("a.py", "b.py", "c.py")),
        ("src/", ("src/**",)),
        ("src/**/*.py, src//a.py", ("src/**/*.py", "src/a.py")),
        ("a.py, ./a.py", ("a.py",)),
        ("", ()),
    ],
)
def test_files(given: str, expected: tuple[str, ...]) -> None:
    assert parse_tasks(xml(files=given), "t.xml")[0].files == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("<task></task>", "t:1:1: <name> is missing in <task>", id="nothing-in-it"),
        pytest.param("<tasks></tasks>", "t:1:1: no <task> in it", id="no-task"),
        pytest.param("\n\n" + xml(done="").replace("<done></done>", ""), "t:3:1: <done> is missing", id="no-done"),
        pytest.param(xml(owner="me"), "unknown key 'owner'", id="another-element"),
        pytest.param(xml().replace("<task>", "<task cwd='x'>"), "unknown key 'cwd'", id="another-attribute"),
        pytest.param(xml().replace("<task>", "<task type='checkpoint'>"), "type can't be 'checkpoint'", id="a-person"),
        pytest.param(xml().replace("<task>", "<task name='b'>"), "name occurs twice", id="two-names"),
        pytest.param("<task>hello</task>", "text between the elements of <task>", id="loose-text"),
        pytest.param(xml() + "\n" + xml(name="A"), "'A' is stored in a/, like 'a' of line 1", id="one-folder"),
        pytest.param("<task><name>a</task>", "t:1:1: text between the elements of <task>", id="not-closed"),
        pytest.param("\n<task><name>a</name>", "t:2:1: <task> is never closed", id="never-closed"),
        pytest.param("<task>" + "x" * 1024 * 1024, "bigger than 1048576 bytes", id="too-big"),
        pytest.param(b"<task>\xff", "not UTF-8 text", id="not-utf-8"),
        pytest.param("", "the file is empty", id="empty"),
        pytest.param("name: a\nname: b", "key 'name' again", id="a-key-twice"),
        pytest.param("name: &a b", "anchor &a", id="an-anchor"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str | bytes, problem: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        parse_tasks(text, "t")
    assert problem in caught.value.problem
    assert caught.value.problem.startswith("t:")
    assert caught.value.remedy


TASK = {"name": "a", "files": ["a.py"], "action": "do", "verify": "pytest a", "done": "5 pass"}
GOOD: list[Any] = [
    TASK,
    [TASK, {**TASK, "name": "b"}],
    {**TASK, "wave": "w1", "phase": "3", "plan": "03-01"},
    {**TASK, "files": "a.py"},
    {**TASK, "files": []},
    {**TASK, "files": ["src/", "./a", "**/*.py", ".env", "..a", "a.."]},
    {**TASK, "depends_on": ["b"], "flaky": "accepted", "flaky_reason": "the clock", "type": "auto"},
    {**TASK, "depends_on": "b", "timeouts": {"executor": 900, "verify": 0x1, "review": 1.5}},
]
#: What is wrong, and what is said of it.
BAD: list[tuple[Any, str]] = [
    ({}, "the key 'name' is missing"),
    ([], "no task in it"),
    ([TASK, "b"], "a task is expected here"),
    ("a", "a task is expected here"),
    *(
        ({key: value for key, value in TASK.items() if key != left_out}, f"'{left_out}' is missing")
        for left_out in TASK
    ),
    *(({**TASK, key: value}, key) for key in TASK for value in (" ", None)),
    *(({**TASK, "files": [path]}, "relative to the project") for path in ("/a", "../a", "a/..", "a/../b", "~")),
    *(({**TASK, "files": [path]}, "relative to the project") for path in ("a\\b", ".", "./")),
    ({**TASK, "files": [""]}, "files"),
    ({"tasks": [TASK]}, "tasks"),
    ({**TASK, "flaky": "accepted"}, "flaky: accepted needs a reason"),
    ({**TASK, "flaky": True, "flaky_reason": "the clock"}, "flaky can't be"),
    ({**TASK, "flaky_reason": "the clock"}, "unknown key 'flaky_reason'"),
    ({**TASK, "timeouts": {"verify": 301}}, "timeouts.verify can't be 301"),
    ({**TASK, "timeouts": {"verify": 0}}, "timeouts.verify can't be 0"),
    ({**TASK, "timeouts": {"build": 1}}, "unknown key 'build' in timeouts"),
    ({**TASK, "timeouts": 60}, "timeouts"),
    ({**TASK, "type": "checkpoint"}, "type can't be 'checkpoint'"),
    ({**TASK, "name": "x" * 201}, "more than 200 characters"),
    ({**TASK, "owner": "me"}, "unknown key 'owner'"),
]


@pytest.mark.parametrize(("document", "problem"), [*((each, "") for each in GOOD), *BAD])
def test_schema_and_reader_agree(document: Any, problem: str) -> None:
    text = json.dumps(document)
    assert (faults("task", document) == []) is (not problem)
    if not problem:
        assert parse_tasks(text, "t")
        return
    with pytest.raises(TaskFileError) as caught:
        parse_tasks(text, "t")
    assert problem in caught.value.problem


def test_the_schema_has_the_limits_of_the_code() -> None:
    steps = load_schema("task")["definitions"]["task"]["properties"]["timeouts"]["properties"]
    assert {name: (each["default"], each["maximum"]) for name, each in steps.items()} == {
        name: (DEFAULT_TIMEOUTS[name], MAX_TIMEOUTS[name]) for name in MAX_TIMEOUTS
    }


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match=r"task\.xml: there is no such file"):
        read_task_file(tmp_path / "task.xml", "task.xml")


def test_a_block_is_text_and_no_document() -> None:
    """Neither a document type nor an entity of its own is read, so that nothing grows; and markup is text."""
    (task,) = parse_tasks(f"<!DOCTYPE a [<!ENTITY l 'ha'>]><x>{xml(action='&l; List<int>')}</x>", "t")
    assert task.action == "&l; List<int>"
    assert [each.name for each in parse_tasks(f"<!-- {xml('a')} -->{xml('b')}", "t.xml")] == ["b"]


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Task 3: Create PlannerId", "task-3-create-plannerid"),
        ("a", "a"),
        ("--A__b--", "a-b"),
    ],
)
def test_a_task_s_folder(name: str, slug: str) -> None:
    assert task_slug(name) == slug


def test_folders_of_odd_names_are_told_apart() -> None:
    names = ["default", "Default", "…", "Задача 1", "Задача 2", "Aufgabe ä", "Aufgabe ö", "x" * 80, "x" * 81, ""]
    slugs = [task_slug(name) for name in names]
    assert len(set(slugs)) == len(names)
    for slug in slugs:
        assert task_folder(Path(), slug).name == slug


@pytest.mark.processes
@pytest.mark.criterion("VG-24")
@pytest.mark.parametrize("command", ["echo done", "true", "cat planner.py", "pytest test_x.py || true"])
def test_a_command_that_proves_nothing_is_refused(gate: Gate, command: str) -> None:
    ran = gate.start(verify=command)
    assert ran.code == 13
    assert not (gate.root / ".phase-gate").exists(), "nothing was taken"


@pytest.mark.processes
@pytest.mark.criterion("VG-24")
def test_what_is_too_broad_or_vague_is_flagged(gate: Gate) -> None:
    ran = gate.start(verify="npm test", done="It works")
    assert ran.code == 0
    assert ran.has("Flagged  ")
    assert len(gate.status()["flags"]) == 2


@pytest.mark.processes
@pytest.mark.criterion("VG-29")
def test_a_task_is_read_from_the_documents_xml(gate: Gate) -> None:
    task = gate.task()
    xml = (
        f'<task type="auto"><name>{task["name"]}</name><files>planner.py</files><action>{task["action"]}</action>'
        f"<verify>{task['verify']}</verify><done>{task['done']}</done></task>"
    )
    gate.paper("task.xml", xml)
    assert gate.call("verify", "start", "--task-file", "task.xml").code == 0
    assert gate.state == "EXECUTING"
    assert gate.work().code == 0


PLAN = """\
# Plan

Each `<task>` block is one task, and
<tasks> may stand around them.

{task}

## Then

```xml
{other}
```
"""


BLOCK = """\
<task type="auto">
  <name>{name}</name>
  <files>{file}</files>
  <action>Create it: a && b</action>
  <verify>{verify}</verify>
  <done>planner_id() returns 42; 5 tests pass</done>
</task>"""


@pytest.mark.processes
@pytest.mark.criterion("VG-35")
def test_a_plan_is_a_list_of_tasks(gate: Gate) -> None:
    first = BLOCK.format(name=NAME, file="planner.py", verify=python("check.py"))
    other = BLOCK.format(name="Task 4: Other", file="other.py", verify=f"{python('check.py')} && {python('check.py')}")
    gate.project.write({"PLAN.md": PLAN.format(task=first, other=other)})
    assert gate.call("verify", "start", "--task-file", "PLAN.md").code == 0
    found = gate.json("verify", "status")["tasks"]
    assert [(row["name"], row["files"]) for row in found] == [
        (NAME, ["planner.py"]),
        ("Task 4: Other", ["other.py"]),
    ]
    assert gate.call("verify", "start").code == 0
    assert gate.work().code == 0


PROVE_NOTHING = [
    *("echo done", "printf ok", "true", ":", "/bin/true", "sleep 5", "cat src/a.ts", "ls -la src", "git status"),
    *("touch done", "cd src", "A=1", "A=1 echo x", "set -e", "echo a && echo b", "true && cat x"),
]


RUN_NO_TEST = ["pytest --co tests/a.py", "python -m pytest --collect-only", "jest --listTests", "cargo test --no-run"]


TOO_BROAD = [
    *("pytest", "pytest -q", "python -m pytest", "uv run pytest", "pytest .", "pytest tests/", "python -m unittest"),
    *("npm test", "npm run test", "make test", "tox", "npx vitest run", "go test ./...", "cargo test"),
    *("./gradlew test", "bundle exec rspec", "cd app && npm test", "CI=1 npm test"),
]


#: Whether a failure gets lost in them or not: nobody has to find out.
NEED_A_SCRIPT = [
    f"pytest tests/a.py -k {'x' * 10_000}",
    *("exit 0", "eval true", "sh -c true", "bash -lc 'pytest tests/a.py'", "pytest tests/a.py # || true", "(exit 0)"),
    *("echo $(pytest tests/a.py)", "echo a; echo b", "cat a | wc -l", "echo x > done.txt", "[[ a == a ]]"),
    *("if true; then echo ok; fi", "pytest tests/a.py || true", "pytest tests/a.py\nexit 0", "pytest a &"),
    *("npm test -- x & echo started", "pytest tests/a.py 2>&1 | tee log", 'test "$(wc -l < a)" -gt 3', "x=$(./check)"),
]


HONEST = [
    *("npm test -- PlannerId", 'grep -c "export class Foo" src/Foo.ts', "tsc --noEmit && npm test -- a"),
    *("pytest tests/x.py -k foo", "pytest -k planner", "python -m pytest tests/x.py -q", "env A=1 pytest tests/x.py"),
    *("! grep -q TODO src/a.py", "test -f src/a.py", "[ -f src/a.py ]", "make lint", "mypy src", "go test ./planner"),
    *("./check.sh", "sh check.sh", "python -c 'import a; assert a.b() == 1'", "$CHECK", "git diff --exit-code"),
    *("cd app && npm test -- planner", "pytest tests/a.py && echo ok", "grep -q '|| true' a", 'grep -q "; a" b'),
    *("A=1 pytest tests/a.py", "! grep -q TODO a", "grep -q '&&' a", "pytest 'tests/a b.py'", r"grep \; a"),
]


UNREADABLE = ["pytest 'a", 'pytest "a', "pytest &&", "&& a", "a && && b", ""]


@pytest.mark.parametrize(
    ("verify", "slug"),
    [
        *((each, "proves-nothing") for each in PROVE_NOTHING),
        *((each, "needs-script") for each in NEED_A_SCRIPT),
        *((each, "runs-no-test") for each in RUN_NO_TEST),
        *((each, "not-readable") for each in UNREADABLE),
    ],
)
def test_what_can_t_fail_is_refused(verify: str, slug: str) -> None:
    with pytest.raises(NotAllowedError, match=rf"\({slug}\)") as refused:
        lint_command(verify)
    assert refused.value.remedy


@pytest.mark.parametrize("verify", TOO_BROAD)
def test_what_runs_everything_is_flagged(verify: str) -> None:
    assert lint_command(verify) == f"`{verify}` runs all tests: name those of this task (too-broad)"


@pytest.mark.parametrize("verify", HONEST)
def test_honest_commands_are_left_alone(verify: str) -> None:
    assert lint_command(verify) == ""


def test_the_messages_name_what_to_do() -> None:
    with pytest.raises(NotAllowedError, match="is more than one command or an && list, and a failure") as refused:
        lint_command("pytest tests/a.py || true")
    assert "sh check.sh" in refused.value.remedy
    with pytest.raises(NotAllowedError, match="the verify command chooses a phase"):
        lint_command("pytest tests/a.py --phase=green")


VAGUE = [
    *("Task complete", "It works", "Done", "done.", "Everything works as expected", "All good", "Feature implemented"),
    *("The implementation is complete and correct", "All tests pass", "Tests pass", "It is finished", "Works fine!"),
    *("It works on my machine", "Looks good to me", "Bug fixed", "All requirements are met", "Code is clean and ready"),
]


CLEAR = [
    "PlannerId class exists with id, createdAt, version properties; all 5 tests pass",
    *("all 5 tests pass", "`make` passes", "planner.py exports parse", "Users can log in", "Login answers with 401"),
    *("README explains the install", "parse() rejects null", "no import of requests is left in src", "100 % covered"),
    *("Anmeldung funktioniert mit leerem Passwort nicht", "docs/index.md links the page", "Lint reports zero warnings"),
]


@pytest.mark.parametrize("done", VAGUE)
def test_vague_done_criteria_are_flagged(done: str) -> None:
    assert "can't be checked" in lint_done(done)


@pytest.mark.parametrize("done", CLEAR)
def test_clear_ones_are_left_alone(done: str) -> None:
    assert lint_done(done) == ""


# --- the claim about it


@pytest.mark.parametrize(
    ("claimed", "command", "same"),
    [
        pytest.param(" pytest  -q a.py\n", "pytest -q a.py", True, id="spaces"),
        pytest.param("pytest -k 'a or b'", 'pytest -k "a or b"', True, id="other-quotes"),
        pytest.param("`pytest a.py`", "pytest a.py", True, id="marks-of-code"),
        pytest.param("$ pytest a.py", "pytest a.py", True, id="a-prompt"),
        pytest.param("tsc && \\\n  npm test", "tsc && npm test", True, id="two-lines"),
        pytest.param("pytest", "pytest a.py", False, id="less-of-it"),
        pytest.param("pytest a.py || true", "pytest a.py", False, id="more-of-it"),
        pytest.param("echo it's", "echo its", False, id="another-text"),
    ],
)
def test_which_commands_are_one(claimed: str, command: str, same: bool) -> None:
    assert is_same_command(claimed, command) is same
