"""A client without a model of its own: what Claude Code does with its hooks and a server, in a hundred lines.

A program of its own: it imports nothing of ours. It asks the server of `ANTHROPIC_BASE_URL`, uses the tools that it is
told to use, asks the project's hooks before each and before it stops, and says so where the server refuses it.
"""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

#: As often as Claude Code lets itself be sent on.
MOST_BLOCKS = 8
#: What it says where the server refuses it; else it names the status.
REFUSED = {401: "Invalid API key · Please run /login", 402: "Credit balance is too low"}


def main() -> int:
    messages: list[dict[str, Any]] = [{"role": "user", "content": sys.stdin.read()}]
    blocks = 0
    while True:
        try:
            (part,) = ask(messages)
        except urllib.error.HTTPError as error:
            print(REFUSED.get(error.code) or f"API Error: {error.code} {json.load(error)['error']['message']}")
            return 1
        messages.append({"role": "assistant", "content": [part]})
        if part["type"] == "tool_use":
            result = {"type": "tool_result", "tool_use_id": part["id"], "content": use(part["name"], part["input"])}
            messages.append({"role": "user", "content": [result]})
            continue
        answer = run_hooks("Stop", {"hook_event_name": "Stop", "session_id": "fake", "stop_hook_active": blocks > 0})
        if answer.get("decision") != "block" or blocks == MOST_BLOCKS:
            print(part["text"])
            return 0
        blocks += 1
        messages.append({"role": "user", "content": f"Stop hook feedback:\n{answer['reason']}"})


def ask(messages: list[dict[str, Any]]) -> Any:
    tools = [{"name": name} for name in ("Write", "Edit", "Bash")]
    body = json.dumps({"model": "fake", "tools": tools, "messages": messages}).encode()
    request = urllib.request.Request(f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages", data=body)
    left = int(os.environ["CLAUDE_CODE_MAX_RETRIES"])
    while True:
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["content"]
        except urllib.error.HTTPError as error:
            if not left or error.code < 429:
                raise
            left -= 1


def use(name: str, given: dict[str, Any]) -> Any:
    event = {"hook_event_name": "PreToolUse", "session_id": "fake", "tool_name": name, "tool_input": given}
    answer = run_hooks("PreToolUse", event).get("hookSpecificOutput", {})
    if answer.get("permissionDecision") in ("deny", "ask"):
        return answer["permissionDecisionReason"]
    if name == "Bash":
        done = subprocess.run(given["command"], shell=True, capture_output=True, text=True)
        return done.stdout + done.stderr
    place = Path(given["file_path"])
    text = given["content"] if name == "Write" else place.read_text().replace(given["old_string"], given["new_string"])
    place.write_text(text)
    return "written"


def run_hooks(event: str, document: dict[str, Any]) -> Any:
    user = Path.home() / ".claude" / "settings.json"
    if user.exists() and json.loads(user.read_text()).get("disableAllHooks"):
        return {}
    settings = json.loads(Path(".claude/settings.json").read_text())
    for row in settings["hooks"].get(event, ()):
        for hook in row["hooks"]:
            given = json.dumps({**document, "cwd": os.getcwd()})
            done = subprocess.run(hook["command"], shell=True, input=given, capture_output=True, text=True)
            if done.returncode == 0 and (answer := json.loads(done.stdout)):
                return answer
    return {}


if __name__ == "__main__":
    raise SystemExit(main())
