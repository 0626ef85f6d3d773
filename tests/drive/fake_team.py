"""An executor or a reviewer without a model: it plays what its script has for the task of its prompt.

`python fake_team.py SCRIPT ROLE` reads its prompt from standard input. The script is a JSON object: task name ->
{role: list of turns}; the last turn is played again and again, and without one an honest turn is. A turn may have:

    write    {path: text}; `append`: {path: text}
    run      command lines
    report   the answer, laid over an honest one; null: none is written
    text     the answer as it is
    say      what it prints; `err`: on standard error
    sleep    seconds; `exit`: what it ends with
    expect   texts that its prompt has to have: it ends with 99, and without an answer, where one is missing
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def main() -> int:
    script, role = Path(sys.argv[1]), sys.argv[2]
    prompt = sys.stdin.read()
    name = re.search(r"^name: (.*)$", prompt, re.MULTILINE)
    assert name, prompt
    task = name[1].strip("'\"")
    turns = json.loads(script.read_text(encoding="utf-8")).get(task, {}).get(role, [])
    mark = script.with_suffix(f".{re.sub('[^a-z0-9]', '-', task.lower())}.{role}")
    played = int(mark.read_text()) if mark.exists() else 0
    mark.write_text(str(played + 1))
    mark.with_name(f"{mark.name}.prompt-{played + 1}").write_text(prompt, encoding="utf-8")
    turn = turns[min(played, len(turns) - 1)] if turns else {}
    missing = [text for text in turn.get("expect", ()) if text not in prompt]
    if missing:
        print(f"not in the prompt: {missing}\n{prompt}", file=sys.stderr)
        return 99
    for path, text in turn.get("write", {}).items():
        Path(path).write_text(text, encoding="utf-8")
    for path, text in turn.get("append", {}).items():
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(text)
    for command in turn.get("run", ()):
        subprocess.run(command, shell=True, check=False, stdout=sys.stderr)
    print(turn.get("err", ""), file=sys.stderr, end="", flush=True)
    print(turn.get("say", ""), end="", flush=True)
    if turn.get("sleep"):
        script.with_suffix(f".sleeps-{role}").write_text(str(os.getpid()))
        time.sleep(turn["sleep"])
    if turn.get("report", {}) is not None:
        answer(prompt, task, role, turn)
    return int(turn.get("exit", 0))


def answer(prompt: str, task: str, role: str, turn: dict[str, Any]) -> None:
    file = re.search(r"^`(.*\.yaml)`:$", prompt, re.MULTILINE)
    assert file, prompt
    if "text" in turn:
        Path(file[1]).write_text(turn["text"], encoding="utf-8")
        return
    command = re.search(r"^verify command: (.*)$", prompt, re.MULTILINE)
    forms: dict[str, dict[str, Any]] = {
        "executor": {
            "status": "success",
            "task_name": task,
            "files_modified": [],
            "verification": {"command": command[1] if command else "", "exit_code": 0, "output_summary": "1 passed"},
            "done_criteria_met": True,
            "evidence": "it is there",
        },
        "reviewer": {
            "verdict": "APPROVED",
            "task_name": task,
            "confidence": "HIGH",
            "findings": ["it is there"],
            "recommendation": "commit",
        },
    }
    said = {key: value for key, value in {**forms[role], **turn.get("report", {})}.items() if value is not None}
    Path(file[1]).write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
