"""`phase-gate doctor`: every look, good and bad."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

import phase_gate
from phase_gate.agents.agent_table import AGENT_NAMES, load_agent
from tests.cli.conftest import Begin, CommandProject

PROGRAM = f"{shlex.quote(sys.executable)} -m phase_gate.cli"


@pytest.fixture(autouse=True)
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pytest that has the plugin, as an installed one has."""
    monkeypatch.setenv("PYTEST_PLUGINS", "phase_gate.plugin")


def look(gated: CommandProject, *arguments: str) -> dict[str, tuple[str, str]]:
    """Return what doctor says of each thing, with its mark."""
    ran = gated.gate("doctor", "--json", *arguments)
    looks = {row["what"]: (row["mark"], row["says"]) for row in ran.document["looks"]}
    assert ran.code == int(any(mark == "bad" for mark, _ in looks.values()))
    return looks


# --- all is well


def test_all_is_well(begin: Begin) -> None:
    gated = begin("green")
    gated.project.commit_all()
    before = gated.files()
    looks = look(gated)
    assert gated.files() == before, "it only looks"
    home = Path(phase_gate.__file__).parent
    assert {what: mark for what, (mark, _) in looks.items()} == {
        "package": "good",
        "plugin": "good",
        "root": "good",
        "ledger": "good",
    }
    assert looks["package"][1].endswith(f" in {home}")
    assert looks["plugin"][1] == "loaded by pytest"
    assert looks["root"][1] == str(gated.root)
    assert looks["ledger"][1].endswith("events, intact")


def test_evidence_that_is_gone(begin: Begin, unasked: None) -> None:
    gated = begin("green")
    for path in (gated.folder / "objects").glob("*.z"):
        path.unlink()
    mark, says = look(gated)["ledger"]
    assert (mark, "is gone" in says) == ("bad", True)


# --- the plugin


def test_autoload_is_off(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_PLUGINS")
    says = "not loaded: pip install pytest-phase-gate, or look for -p no:phase_gate and PYTEST_DISABLE_PLUGIN_AUTOLOAD"
    assert look(begin(""))["plugin"] == ("bad", says)


@pytest.mark.parametrize(
    ("addopts", "says"),
    [("-p no:phase_gate.plugin", "not loaded: "), ("--no-such-option", "pytest does not start here: ")],
)
def test_the_settings_keep_it_out(begin: Begin, addopts: str, says: str) -> None:
    gated = begin("")
    gated.project.write({"pytest.ini": f"[pytest]\naddopts = {addopts}\n"})
    mark, said = look(gated)["plugin"]
    assert (mark, said.startswith(says)) == ("bad", True)


# --- settings, ledger


@pytest.mark.usefixtures("unasked")
def test_a_ledger_that_was_changed_and_a_configuration_that_can_not_be_read(begin: Begin) -> None:
    gated = begin("green")
    gated.tamper()
    assert look(gated)["ledger"][0] == "bad"
    gated.project.write({"phase-gate.yaml": "nonsense: 1\n"})
    looks = look(gated)
    assert looks["configuration"][0] == "bad"
    assert "nonsense" in looks["configuration"][1]
    assert "ledger" not in looks, "without it, where it is can't be known"


# --- the hooks of agents


@pytest.mark.sampled(6)
@pytest.mark.usefixtures("unasked")
@pytest.mark.parametrize("agent", AGENT_NAMES)
def test_the_doctor_runs_the_hooks(begin: Begin, agent: str) -> None:
    gated = begin("green-once")
    assert agent not in look(gated, "--program", PROGRAM), "nobody told it to ask"
    gated.gate("init", "--agent", agent, "--program", PROGRAM)
    before = gated.files()
    mark, says = look(gated, "--program", PROGRAM)[agent]
    client = load_agent(agent)
    assert mark == ("note" if client.trust_step else "good"), "that they answer is not all that it takes"
    assert says.startswith(f"its hooks in {client.settings} answer")
    assert says.endswith(f"; to have them run, {client.trust_step}" if client.trust_step else "answer")
    assert gated.files() == before


def silent(folder: Path, answer: str) -> str:
    script = folder / "odd.py"
    script.write_text(f"import sys\nsys.stdin.read()\nprint({answer!r})\n")
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"


@pytest.mark.usefixtures("unasked")
def test_the_doctor_says_what_is_wrong(begin: Begin, tmp_path_factory: pytest.TempPathFactory) -> None:
    gated = begin("")
    folder = tmp_path_factory.mktemp("programs")

    def say(program: str) -> tuple[str, str]:
        gated.gate("init", "--agent", "claude", "--program", program)
        return look(gated, "--program", program)["claude"]

    mark, says = say("no-such-program")
    assert mark == "bad"
    assert ", so the agent continues unasked; " in says
    assert says.startswith("Stop: 'no-such-program hook stop --agent claude' ends with ")
    assert says.endswith("phase-gate init --agent claude --program PATH")
    assert say(silent(folder, "hello"))[1].endswith("does not answer in JSON")
    assert say(silent(folder, "{}"))[1].endswith("does not protect the state folder")
