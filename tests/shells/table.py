"""What the tab key has to offer, the same in every shell."""

from __future__ import annotations

from phase_gate.agents.agent import AGENT_NAMES
from phase_gate.cli import COMMANDS
from phase_gate.cli.workflow_schema import schema_names
from phase_gate.values import Value


class Row(Value):
    typed: str
    #: Has to be offered.
    offered: tuple[str, ...]
    #: Must not be.
    withheld: tuple[str, ...] = ()
    #: What the shell may ask us for: nothing, or one kind of live values.
    asks: str = ""


#: The project has a task `login` beside the default one, a folder `notes` and a file `claim.txt`.
ROWS: dict[str, Row] = {
    "every-command": Row(
        typed="", offered=tuple(dict.fromkeys(name.split()[0] for name in COMMANDS)), withheld=("--gate1", "claim.txt")
    ),
    "commands-of-a-feature": Row(typed="pipeline re", offered=("recover", "request"), withheld=("vote", "rewind")),
    "a-command-that-is-begun": Row(typed="che", offered=("check",), withheld=("status", "history")),
    "options-of-a-command": Row(
        typed="check --", offered=("--gate1", "--json", "--task", "--dir", "--help"), withheld=("--criteria",)
    ),
    "options-behind-others": Row(typed="signal --blocked --rea", offered=("--reason",), withheld=("--remaining-work",)),
    "words-of-a-place": Row(typed="hook ", offered=("stop", "pre-tool"), withheld=("claim.txt", "status")),
    "words-of-an-option": Row(
        typed="hook stop --agent c", offered=("claude", "codex", "cursor", "copilot"), withheld=("gemini",)
    ),
    "several-words-of-an-option": Row(typed="init --agent ", offered=AGENT_NAMES),
    "styles": Row(typed="agent prompt --style ", offered=("exit", "prp")),
    "schemas": Row(typed="workflow schema ", offered=schema_names()),
    "shells": Row(typed="completion ", offered=("bash", "zsh", "fish")),
    "files": Row(typed="claim cl", offered=("claim.txt",), withheld=("notes",)),
    "folders": Row(typed="status --dir no", offered=("notes",), withheld=("claim.txt",)),
    "tasks": Row(typed="status --task l", offered=("login",), asks="tasks"),
    "phases": Row(
        typed="rewind ", offered=("red", "green", "refactor", "document"), withheld=("claim.txt",), asks="phases"
    ),
    "phases-of-an-option": Row(
        typed="agent prompt --phase re", offered=("red", "refactor"), withheld=("green",), asks="phases"
    ),
    "guards": Row(
        typed="waive tests-", offered=("tests-kept", "tests-unchanged"), withheld=("complete-run",), asks="guards"
    ),
    "facts": Row(typed="declare ref", offered=("refactoring_complete=true",), asks="facts"),
    "names": Row(typed="explain tests_", offered=("tests_total",), withheld=("tests-kept",), asks="names"),
}
