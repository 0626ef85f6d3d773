"""The real clients: how each is pointed at a server on loopback, how it is started, and what its tools are called."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.agents.agent_table import fill
from phase_gate.values import Value
from tests.clients.model import Call, Edit, Say, Shell, Step, Write, words_of

#: What stands where a key is wanted: no server here looks at it.
KEY = "none"

Command = tuple[str, ...]


class Client(Value):
    #: As `phase-gate init --agent` calls it; the program is called the same.
    name: str
    package: str
    #: How it is started, with every permission: it is for our hooks to refuse. The prompt comes on standard input.
    command: Command
    #: Writes its settings into a home folder, and returns the environment that points it at a server.
    settle: Callable[[Path, str], Mapping[str, str]]
    #: Its tools, with places for what a step says.
    tools: Mapping[type[Step], Call]
    #: Trusts a project, given home and root, as its user would; returns what its environment has to have for that.
    trust: Callable[[Path, Path, Mapping[str, str]], Mapping[str, str]]
    #: What the doctor says of its hooks, which answer: a client that has to trust them first gets a note.
    doctor: str = "note"

    def translate(self, step: Step, root: Path) -> Say | Call:
        """Return a step in the client's own terms; words stay words."""
        if isinstance(step, Say):
            return step
        call = self.tools[type(step)]
        return Call(call.tool, fill(call.given, words_of(step, root)))


def _write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


# --- Claude Code


def _settle_claude(home: Path, url: str) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


CLAUDE = Client(
    name="claude",
    package="@anthropic-ai/claude-code",
    command=("claude", "-p", "--permission-mode", "acceptEdits", "--allowedTools", "Bash"),
    settle=_settle_claude,
    tools={
        Write: Call("Write", {"file_path": "{path}", "content": "{text}"}),
        Edit: Call("Edit", {"file_path": "{path}", "old_string": "{old}", "new_string": "{new}"}),
        Shell: Call("Bash", {"command": "{command}", "description": "go on"}),
    },
    trust=lambda home, root, environment: {},
    doctor="good",
)


# --- Codex CLI

_CODEX = """\
model = "gpt-5.5"
model_provider = "loopback"

[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "LOOPBACK_KEY"
request_max_retries = 2
stream_max_retries = 2
stream_idle_timeout_ms = 600000
"""


def _settle_codex(home: Path, url: str) -> Mapping[str, str]:
    _write(home / ".codex" / "config.toml", _CODEX.format(url=url))
    return {"LOOPBACK_KEY": KEY}


def _list_codex_hooks(root: Path, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the hooks that Codex has read in a folder, as its server lists them."""
    questions: tuple[dict[str, Any], ...] = (
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "tests", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(root)]}},
    )
    program = shutil.which("codex", path=environment["PATH"])
    assert program is not None, "it is installed"
    with subprocess.Popen(
        (program, "app-server"),
        cwd=root,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.writelines(f"{json.dumps(question)}\n" for question in questions)
        server.stdin.flush()
        answers = (answer for answer in map(json.loads, server.stdout) if answer.get("id") == 2)
        found = [hook for folder in next(answers)["result"]["data"] for hook in folder["hooks"]]
        server.kill()
    return found


def _trust_codex(home: Path, root: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Trust the folder and then each hook by its hash, as `/hooks` does it."""
    with open(home / ".codex" / "config.toml", "a", encoding="utf-8") as stream:
        stream.write(f'\n[projects."{root}"]\ntrust_level = "trusted"\n')
    hooks = _list_codex_hooks(root, environment)
    assert hooks, "it lists the hooks of a folder that it trusts"
    with open(home / ".codex" / "config.toml", "a", encoding="utf-8") as stream:
        for hook in hooks:
            stream.write(f'\n[hooks.state."{hook["key"]}"]\ntrusted_hash = "{hook["currentHash"]}"\n')
    return {}


CODEX = Client(
    name="codex",
    package="@openai/codex",
    command=("codex", "exec", "--sandbox", "workspace-write", "-"),
    settle=_settle_codex,
    tools={
        Write: Call("apply_patch", "{patch}"),
        Edit: Call("apply_patch", "{patch}"),
        # As long as it can be made to wait: on a busy machine it goes on with a command that still runs.
        Shell: Call("exec_command", {"cmd": "{command}", "yield_time_ms": 30_000}),
    },
    trust=_trust_codex,
)


# --- Gemini CLI


def _settle_gemini(home: Path, url: str) -> Mapping[str, str]:
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"maxAttempts": 2},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    # Without a model of the user's choice it asks another one which to take.
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": KEY, "GEMINI_MODEL": "gemini-2.5-pro"}


GEMINI = Client(
    name="gemini",
    package="@google/gemini-cli",
    command=("gemini", "--approval-mode", "yolo"),
    settle=_settle_gemini,
    tools={
        Write: Call("write_file", {"file_path": "{path}", "content": "{text}"}),
        Edit: Call(
            "replace",
            {"file_path": "{path}", "old_string": "{old}", "new_string": "{new}", "instruction": "change it"},
        ),
        Shell: Call("run_shell_command", {"command": "{command}", "description": "go on"}),
    },
    trust=lambda home, root, environment: {"GEMINI_CLI_TRUST_WORKSPACE": "true"},
)


# --- GitHub Copilot CLI


def _settle_copilot(home: Path, url: str) -> Mapping[str, str]:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "scripted",
        "COPILOT_AUTO_UPDATE": "false",
    }


def _trust_copilot(home: Path, root: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
    _write(home / ".copilot" / "config.json", json.dumps({"trustedFolders": [str(root)]}))
    return {}


COPILOT = Client(
    name="copilot",
    package="@github/copilot",
    command=("copilot", "--allow-all-tools", "--silent", "--no-color"),
    settle=_settle_copilot,
    tools={
        Write: Call("create", {"path": "{path}", "file_text": "{text}"}),
        Edit: Call("edit", {"path": "{path}", "old_str": "{old}", "new_str": "{new}"}),
        # In seconds: otherwise it goes on with a command that still runs, on a busy machine.
        Shell: Call("bash", {"command": "{command}", "description": "go on", "mode": "sync", "initial_wait": 180}),
    },
    trust=_trust_copilot,
)

CLIENTS = (CLAUDE, CODEX, GEMINI, COPILOT)
