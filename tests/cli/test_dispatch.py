"""What all commands have in common: help, JSON, exit codes, where they may be called, what they import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phase_gate.cli._call import call_in
from phase_gate.cli._table import COMMANDS
from phase_gate.errors import PhaseGateError
from tests.cli.calls import ACTS
from tests.cli.calls import CALLS as ALL_CALLS
from tests.cli.conftest import Begin
from tests.support import Project

#: Decisions of a person about a phase.
DECISIONS = ("breaker reset", "breaker skip", "force")
#: What a call of each command ends with in `green`, where it is not 0.
CODES = {
    **dict.fromkeys(("status", "check", "explain", "claim", "verify status"), 10),
    **dict.fromkeys(("drive", "verify skip", "verify force"), 2),
    **dict.fromkeys(("advance", "waive", "baseline", *DECISIONS), 13),
    **dict.fromkeys(("store init", "pipeline vote", "pipeline request", "pipeline recover"), 13),
    **dict.fromkeys((name for name in ACTS if name.startswith("verify ") and name[7:] not in ("skip", "force")), 13),
    **dict.fromkeys(("verify show",), 13),
    "ci combine": 11,
}
#: A call of every command that is fine in `green`, and its exit code.
CALLS: dict[str, tuple[int, tuple[str, ...]]] = {
    name: (CODES.get(name, 0), (*name.split(), *calls[0])) for name, calls in ALL_CALLS.items()
}
VERIFY = {name: call for name, call in CALLS.items() if name.startswith("verify ")}

#: Where a command is not called in GREEN: no fact is asked for there.
STORIES = {"declare": "refactor", "withdraw": "declared"}

#: What each says in a folder without state.
WITHOUT_STATE: dict[str, tuple[int, str]] = {
    **dict.fromkeys(("status", "history"), (0, "no run is recorded yet")),
    **dict.fromkeys(("check", "explain"), (10, "no run is recorded yet")),
    "report": (0, "No run is recorded yet."),
    **dict.fromkeys(
        (
            *("signal", "withdraw", "declare", "advance", "rewind", "waive"),
            "breaker reset",
            "breaker skip",
            "force",
            "claim",
            "prove",
        ),
        (13, "task default has no run yet [not-allowed]\n  try: pytest --phase=red"),
    ),
    **dict.fromkeys(
        tuple(name for name in COMMANDS if name.startswith("pipeline ")),
        (13, "task default has not begun [not-allowed]\n  try: pytest --phase=red"),
    ),
    "drive": (2, "no agent is named [bad-usage]\n  try: phase-gate drive -- claude -p"),
    "hook": (0, "{}\n"),
    "agent uninstall": (0, "nothing to remove from the settings of agents"),
    **{name: (code, "no task") for name, (code, _) in VERIFY.items() if code == 13},
    "verify status": (10, "there is no task yet\n  next: phase-gate verify start --task-file FILE"),
    "verify resume": (13, "is not halted"),
    **dict.fromkeys(("verify skip", "verify force"), (2, "which task?")),
    "agent prompt": (0, "# RED: Tests generated and failing"),
    "ci combine": (11, "no record of a shard is in phase-gate-shards [shards-refused]"),
    "audit": (0, "intact: 0 events"),
    "store status": (0, "no shared store is named"),
    "store init": (13, "no shared store is named"),
    "doctor": (0, "0 events, intact"),
}

#: Commands that read nothing of a project; and those that say what is wrong with it instead of refusing, one to people
#: and one to agents, for whom an error would be an open gate.
NEVER_REFUSED = ("workflow schema", "demo", "doctor", "hook", "completion")


@pytest.fixture(autouse=True)
def short_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo has a test of its own; here it has nothing to tell."""
    monkeypatch.setattr("phase_gate.cli.demo.STEPS", ())


@pytest.fixture(autouse=True)
def plugin_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor asks a pytest of its own, which loads nothing by itself here."""
    monkeypatch.setenv("PYTEST_PLUGINS", "phase_gate.plugin")


def test_options_may_come_before_the_command(begin: Begin) -> None:
    gated = begin("green")
    for words in (("check", "--json"), ("history", "--task", "default"), ("verify", "status", "-q")):
        name = words[: 2 if words[0] == "verify" else 1]
        assert gated.gate(*words[len(name) :], *name) == gated.gate(*words)


@pytest.mark.parametrize("options", [(), ("--json",), ("--task", "default", "--block")], ids=" ".join)
def test_without_a_command_it_says_where_the_task_stands(begin: Begin, options: tuple[str, ...]) -> None:
    gated = begin("green")
    ran, asked = gated.gate(*options), gated.gate("status", *options)
    assert (ran.code, ran.out, ran.err) == (asked.code, asked.out, asked.err) == (10, asked.out, "")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        pytest.param("recover", "pipeline recover", id="it-stands-below-a-feature"),
        pytest.param("review", "verify review", id="an-action-of-a-command"),
        pytest.param("reset", "breaker reset", id="one-of-several"),
        pytest.param("stauts", "status", id="misspelled"),
        pytest.param("hlep", "help", id="help-itself"),
    ],
)
def test_a_name_that_is_no_command_leads_to_the_one_that_is_like_it(begin: Begin, typed: str, meant: str) -> None:
    ran = begin("").gate(typed)
    assert (ran.code, ran.err) == (
        2,
        f"phase-gate: there is no command {typed!r}: did you mean {meant}? [bad-usage]\n"
        f"  try: phase-gate {meant} --help\n".replace("help --help", "--help"),
    )


# --- usage errors


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("nonsense",), id="an-unknown-command"),
        pytest.param(("",), id="no-name"),
        pytest.param(("pipeline",), id="a-feature-without-a-command"),
    ],
)
def test_a_usage_error_is_2_with_a_way_to_help(begin: Begin, arguments: tuple[str, ...]) -> None:
    gated = begin("")
    ran = gated.gate(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("phase-gate: ")
    assert ran.err.endswith(" --help\n")
    assert "[bad-usage]\n  try: phase-gate " in ran.err
    assert gated.error(*arguments)[:2] == (2, "bad-usage")


@pytest.mark.parametrize(
    ("words", "placeholder"),
    [
        pytest.param(("signal", "--reason", "..."), "...", id="a-reason"),
        pytest.param(("signal", "--reason=..."), "...", id="a-reason-behind-a-sign"),
        pytest.param(("waive", "tests-kept", "--reason", "agreed", "--by", "NAME"), "NAME", id="a-name"),
        pytest.param(("waive", "GUARD", "--reason", "agreed", "--by", "ann"), "GUARD", id="a-guard"),
        pytest.param(("declare", "NAME=VALUE", "--reason", "so"), "NAME=VALUE", id="a-fact"),
        pytest.param(("rewind", "PHASE", "--reason", "so"), "PHASE", id="a-phase"),
        pytest.param(("verify", "start", "--task-file", "FILE"), "FILE", id="a-file"),
        pytest.param(("force", "--reason", "so", "--by", "ann", "--word", "WORD"), "WORD", id="a-word"),
        pytest.param(("status", "--task", "NAME"), "NAME", id="a-task"),
    ],
)
def test_what_a_message_leaves_to_fill_in_is_not_taken(begin: Begin, words: tuple[str, ...], placeholder: str) -> None:
    assert begin("green").error(*words) == (2, "bad-usage", f"{placeholder} is a placeholder")


def test_what_follows_two_dashes_may_be_anything(tmp_path: Path) -> None:
    with pytest.raises(PhaseGateError) as caught:
        call_in(tmp_path, ["baseline", "--", "...", "REV"], environment=dict(os.environ), interactive=False)
    assert "placeholder" not in caught.value.problem


@pytest.mark.parametrize(
    "words",
    [
        ("signal", "--reason", "done"),
        ("signal", "--next", "--reason", "done"),
        ("rewind", "red", "--reason", "so"),
        ("advance",),
        ("force", "--reason", "the vendor is down", "--by", "ann", "--word", "OVERRIDE"),
        ("waive", "tests-kept", "--reason", "so", "--by", "ann"),
    ],
    ids=" ".join,
)
def test_nothing_changes_while_a_run_is_going_on(begin: Begin, words: tuple[str, ...]) -> None:
    gated = begin("green")
    with gated.open_run():
        code, slug, problem = gated.error(*words)
    assert (code, slug) == (13, "not-allowed")
    assert problem.startswith("run feedface is in progress since ")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "task",
    [
        pytest.param("../x", id="a-path-upwards"),
        pytest.param("", id="empty"),
        pytest.param("x" * 300, id="300-characters"),
        pytest.param("aufgabe-ä", id="unicode"),
        pytest.param("a\nb", id="two-lines"),
        pytest.param("--", id="two-dashes"),
    ],
)
@pytest.mark.parametrize("way", ["option", "variable"])
def test_a_task_that_can_not_be_a_folder_is_refused(begin: Begin, task: str, way: str) -> None:
    gated = begin("green")
    if way == "variable":
        gated.project.environment.setenv("PHASE_GATE_TASK", task)
    option = (f"--task={task}",) if way == "option" else ()
    for name, (_, arguments) in CALLS.items():
        if name not in NEVER_REFUSED:
            code, slug, problem = gated.error(*arguments, *option)
            assert (name, code, slug) == (name, 2, "bad-task-name")
            assert len(problem) < 80


# --- JSON


@pytest.mark.sampled(3)
@pytest.mark.parametrize("story", ["green", ""], ids=["a-task", "no-task"])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_in_json(begin: Begin, name: str, story: str) -> None:
    gated = begin(STORIES.get(name, story) if story else "")
    code, arguments = CALLS[name]
    if not story and name == "baseline":
        arguments = ("baseline", "--rev", "HEAD")  # there is no repository: refused before pytest is started
    ran = gated.gate(*arguments, "--json")
    assert isinstance(ran.document, dict)
    assert ran.document
    assert ran.code == (code if story else WITHOUT_STATE.get(name, (13 if name == "baseline" else 0, ""))[0])
    assert ran.err == ""


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in NEVER_REFUSED])
def test_every_command_says_errors_in_json(begin: Begin, name: str) -> None:
    gated = begin("green")
    gated.project.write({"phase-gate.yaml": "workflow: [\n"})
    ran = gated.gate(*CALLS[name][1], "--json")
    assert (ran.code, ran.err) == (2, "")
    assert set(ran.document["error"]) == {"slug", "problem", "remedy"}
    assert ran.document["error"]["problem"].startswith("phase-gate.yaml:1:")


def test_what_follows_two_dashes_is_not_ours(begin: Begin) -> None:
    ran = begin("green").gate("baseline", "--", "--json")
    assert (ran.code, ran.out) == (13, "")


# --- where


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_works_in_a_subfolder(begin: Begin, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    gated = begin(STORIES.get(name, "green"))
    (gated.root / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(gated.root / "src" / "deep")
    code, arguments = CALLS[name]
    ran = gated.gate(*arguments, "--json")
    assert ran.code == code
    assert ran.document.get("root", str(gated.root)) == str(gated.root)
    assert os.listdir(gated.root / "src" / "deep") == []


@pytest.mark.parametrize("name", WITHOUT_STATE)
def test_a_folder_without_state(begin: Begin, name: str) -> None:
    gated = begin("")
    code, said = WITHOUT_STATE[name]
    ran = gated.gate(*CALLS[name][1])
    assert ran.code == code
    assert ran.has(said)
    assert gated.files() == {}, "nothing is written"
    assert not gated.folder.exists()


# --- as a process


def test_the_installed_command_is_this_one(project: Project) -> None:
    script = os.path.join(os.path.dirname(sys.executable), "phase-gate")
    ran = project.process(script, "status", "--json")
    assert (ran.code, ran.document["next_command"]) == (0, "pytest --phase=red")


@pytest.mark.parametrize(
    "arguments", [("--help",), ("history", "--events"), ("check",)], ids=["help", "a-long-answer", "a-short-answer"]
)
def test_a_reader_that_goes_away_is_no_fault(begin: Begin, arguments: tuple[str, ...]) -> None:
    gated = begin("green")
    expected = gated.gate(*arguments).code
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [sys.executable, "-m", "phase_gate.cli", *arguments],
        cwd=gated.root,
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (process.returncode, process.stderr) == (expected, b"")


def test_a_terminal_that_can_not_show_it_costs_no_answer(begin: Begin) -> None:
    gated = begin("green")
    ran = gated.project.gate("signal", "--reason", "done \U0001f389", "-v", PYTHONIOENCODING="ascii")
    assert (ran.code, ran.err) == (0, "")
    assert "\\U0001f389" in ran.out
