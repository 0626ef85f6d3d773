"""What all commands have in common: help, JSON, exit codes, where they may be called, what they need, how they end."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from phase_gate.cli import main
from phase_gate.cli._table import COMMANDS
from tests.cli.calls import ACTS, typed
from tests.cli.calls import CALLS as ALL_CALLS
from tests.cli.conftest import Begin
from tests.support import Project

#: Decisions of a person about a phase.
DECISIONS = ("breaker reset", "breaker skip", "force")

#: Commands that wait for a run to end.
LOCKED_OUT = ("signal", "declare", "advance", "rewind", "waive", *DECISIONS)
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


@pytest.mark.parametrize("words", typed({name: ACTS[name] for name in LOCKED_OUT}), ids=" ".join)
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_in_json_and_works_in_a_subfolder(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    gated = begin(STORIES.get(name, "green"))
    below = gated.root / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    code, arguments = CALLS[name]
    ran = gated.gate(*arguments, "--json")
    assert (ran.code, ran.err) == (code, "")
    assert ran.document
    assert ran.document.get("root", str(gated.root)) == str(gated.root)
    assert os.listdir(below) == []


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in NEVER_REFUSED])
def test_every_command_says_errors_in_json(begin: Begin, name: str) -> None:
    gated = begin("green")
    gated.project.write({"phase-gate.yaml": "workflow: [\n"})
    ran = gated.gate(*CALLS[name][1], "--json")
    assert (ran.code, ran.err) == (2, "")
    assert set(ran.document["error"]) == {"slug", "problem", "remedy"}
    assert ran.document["error"]["problem"].startswith("phase-gate.yaml:1:")


@pytest.mark.parametrize("words", [("--json",), ("...", "REV")], ids=["an-option", "a-placeholder"])
def test_what_follows_two_dashes_is_not_ours(begin: Begin, words: tuple[str, ...]) -> None:
    ran = begin("green").gate("baseline", "--", *words)
    assert (ran.code, ran.out) == (13, "")


@pytest.mark.parametrize("name", WITHOUT_STATE)
def test_a_folder_without_state(begin: Begin, name: str) -> None:
    gated = begin("")
    code, said = WITHOUT_STATE[name]
    ran = gated.gate(*CALLS[name][1])
    assert (ran.code, ran.has(said)) == (code, True)
    ran = gated.gate(*CALLS[name][1], "--json")
    assert (ran.code, bool(ran.document), ran.err) == (code, True, "")
    assert gated.files() == {}, "nothing is written"
    assert not gated.folder.exists()


def test_the_installed_command_is_this_one(project: Project) -> None:
    script = os.path.join(os.path.dirname(sys.executable), "phase-gate")
    ran = project.process(script, "status", "--json")
    assert (ran.code, ran.document["next_command"]) == (0, "pytest --phase=red")


def test_a_terminal_that_can_not_show_it_costs_no_answer(begin: Begin) -> None:
    gated = begin("green")
    ran = gated.project.gate("signal", "--reason", "done \U0001f389", "-v", PYTHONIOENCODING="ascii")
    assert (ran.code, ran.err) == (0, "")
    assert "\\U0001f389" in ran.out


# --- without the plugin, or without pytest


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("importlib.metadata.entry_points", "the command is installed, the pytest plugin is not"),
        ("importlib.util.find_spec", "pytest is not installed in this command's environment"),
    ],
)
def test_the_command_alone_says_how_to_get_the_rest(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, asked: str, problem: str
) -> None:
    monkeypatch.setattr(asked, lambda *wanted, **more: None)
    said = begin("").gate("baseline")
    assert (said.code, said.err) == (2, f"phase-gate: {problem} [bad-usage]\n  try: pip install pytest-phase-gate\n")


# --- a process that is watched comes to its ordinary end: a profiler has something to write there


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How the process left early, in a plain one that nothing looks at."""
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr("atexit._ncallbacks", lambda: 0)
    monkeypatch.delitem(sys.modules, "threading")
    monkeypatch.setattr("phase_gate.cli._call.dispatch", lambda given: 0)
    monkeypatch.setattr("gc.set_threshold", lambda number: None)
    for name in ("gettrace", "getprofile"):
        monkeypatch.setattr(sys, name, lambda: None)
    monkeypatch.setattr(sys, "monitoring", SimpleNamespace(get_tool=lambda number: None), raising=False)
    return codes


def test_a_plain_one_leaves_early(left: list[int]) -> None:
    main()
    assert left == [0]


@pytest.mark.parametrize("name", ["gettrace", "getprofile", "monitoring"])
def test_one_that_is_watched_does_not(left: list[int], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    # As by cProfile since Python 3.12.
    found = SimpleNamespace(get_tool={2: "cProfile"}.get) if name == "monitoring" else lambda: print
    monkeypatch.setattr(sys, name, found)
    assert main() == 0
    assert left == []
