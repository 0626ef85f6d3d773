"""`phase-gate doctor`: every look, good and bad."""

from __future__ import annotations

from pathlib import Path

import pytest

import phase_gate
from tests.cli.conftest import Begin, CommandProject


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
def test_a_configuration_that_can_not_be_read(begin: Begin) -> None:
    gated = begin("")
    gated.project.write({"phase-gate.yaml": "nonsense: 1\n"})
    looks = look(gated)
    assert looks["configuration"][0] == "bad"
    assert "nonsense" in looks["configuration"][1]
    assert "ledger" not in looks, "without it nobody knows where to look"


@pytest.mark.usefixtures("unasked")
def test_a_ledger_that_was_changed(begin: Begin) -> None:
    gated = begin("green")
    gated.tamper()
    assert look(gated)["ledger"][0] == "bad"
