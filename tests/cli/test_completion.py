"""`phase-gate completion`: scripts, and the values that they ask for. In shells: tests/shells."""

from __future__ import annotations

import json
import re
import sys

import pytest

from phase_gate.cli import COMMANDS, FEATURES
from phase_gate.cli._parser import build_full_parser
from phase_gate.cli.completion import FOLDER, KINDS, SHELLS
from scripts.shell_files import kind_of, subparsers
from tests.cli.conftest import Begin, Desk

METRICS_OF_EXPLAIN = ("red", "tests-kept", "refactoring_complete", "tests_total", "bad-usage")


def values(desk: Desk, kind: str) -> list[str]:
    ran = desk.gate("completion", "--values", kind)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.split("\n")[:-1] if ran.out != "\n" else []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_has_every_command_and_option(begin: Begin, shell: str) -> None:
    ran = begin("").gate("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (FOLDER / SHELLS[shell]).read_text(encoding="utf-8")
    words = set(re.findall(r"[\w-]+", ran.out))
    for name, parser in subparsers(build_full_parser()).items():
        assert name in words
        for action in parser._actions:
            for option in action.option_strings:
                assert option.lstrip("-") in words or option in words, f"{name} {option}: run scripts.generate"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_asks_for_every_kind_of_value(shell: str) -> None:
    script = (FOLDER / SHELLS[shell]).read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"_phase_gate_values {kind}" not in script] == []
    used = {
        kind_of(name, action) for name, parser in subparsers(build_full_parser()).items() for action in parser._actions
    }
    assert used - {None} == set(KINDS)


@pytest.mark.parametrize("arguments", [(), ("tcsh",), ("--values", "secrets")], ids=["none", "unknown", "unknown-kind"])
def test_another_shell_or_kind_is_refused(begin: Begin, arguments: tuple[str, ...]) -> None:
    code, slug, _ = begin("").error("completion", *arguments)
    assert (code, slug) == (2, "bad-usage")


# --- live values


def test_phases_are_the_workflow_s(begin: Begin) -> None:
    assert values(begin(""), "phases") == ["red", "green", "refactor", "document"]


def test_phases_are_those_of_the_rules_that_the_task_is_judged_by(begin: Begin) -> None:
    assert values(begin("short-green"), "phases") == ["green", "notes"]


def test_tasks_are_those_with_a_ledger(begin: Begin) -> None:
    desk = begin("green")
    for name, file in (("login", "ledger.jsonl"), ("empty", "other")):
        (desk.folder / "tasks" / name).mkdir(parents=True)
        (desk.folder / "tasks" / name / file).write_text("", encoding="utf-8")
    assert values(desk, "tasks") == ["default", "login"]


def test_guards_are_those_that_the_last_verdict_names(begin: Begin) -> None:
    desk = begin("green")
    assert "tests-kept" in values(desk, "guards")
    (desk.root / "test_calc.py").write_text("def test_add():\n    pass\n", encoding="utf-8")
    assert desk.sample.pytest_process("-q", "--phase=green").code == 10
    named = [row["name"] for row in desk.json("explain")["evaluation"]["gate_1"]["guards"] if not row["met"]]
    assert values(desk, "guards") == named
    assert "tests-kept" in named


def test_facts_and_what_was_declared(begin: Begin) -> None:
    desk = begin("refactor")
    assert "refactoring_complete=true" in values(desk, "facts")
    assert values(desk, "declared") == []
    desk.gate("declare", "refactoring_complete=true", "--reason", "so")
    assert values(desk, "declared") == ["refactoring_complete"]


def test_names_can_all_be_explained(begin: Begin) -> None:
    desk = begin("")
    found = values(desk, "names")
    assert set(METRICS_OF_EXPLAIN) <= set(found)
    assert len(found) == len(set(found))
    assert {desk.gate("explain", name).code for name in found} == {10}


@pytest.mark.parametrize("kind", KINDS)
def test_a_project_that_can_not_be_read_has_none(begin: Begin, kind: str) -> None:
    desk = begin("green")
    desk.sample.write({"phase-gate.yaml": "workflow: [\n"})
    before = desk.files()
    assert values(desk, kind) == []
    assert desk.json("completion", "--values", kind) == {"kind": kind, "values": []}
    assert desk.files() == before


@pytest.mark.parametrize("name", ["$(touch pwned)", "`id`", "a b", "x;y", "-rf", "*", "a'b", "ä"])
def test_what_a_shell_could_expand_is_left_out(begin: Begin, name: str) -> None:
    desk = begin("")
    folder = desk.folder / "tasks" / name
    folder.mkdir(parents=True)
    (folder / "ledger.jsonl").write_text("", encoding="utf-8")
    assert values(desk, "tasks") == []


def test_the_tab_key_imports_nothing_heavy(begin: Begin) -> None:
    desk = begin("green")
    code = (
        "import json, sys\nfrom phase_gate.cli import main\n"
        "main(['completion', '--values', 'phases'])\nprint(json.dumps(sorted(sys.modules)))"
    )
    modules = json.loads(desk.sample.process(sys.executable, "-c", code).out.splitlines()[-1])
    heavy = ("pytest", "_pytest", "yaml", "filelock", "shtab", "phase_gate.cli._help")
    assert [each for each in heavy if each in modules] == []


def test_every_command_is_completed() -> None:
    top = subparsers(build_full_parser())
    assert {name for name in top if name not in FEATURES} | {
        f"{feature} {name}" for feature in FEATURES for name in subparsers(top[feature])
    } == set(COMMANDS)
