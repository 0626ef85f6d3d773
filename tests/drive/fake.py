"""An agent without a model: it plays a script, one turn a start. A program of its own: it imports nothing of ours.

`python fake.py SCRIPT [ROLE]` reads its prompt from standard input, or with `--prompt-file FILE` from there. The script
is a JSON list of turns; for a ROLE, an object: task name -> {role: list of turns}. The last turn is played again and
again, and without one an honest report or verdict is written. A turn may have:

    write    {path: text}; `append`: {path: text}
    run      list of command lines that it runs, whatever they end with
    vote     {key: value} for the file of a vote; `answer`: for the signal; `report`: over an honest one, null: none
    text     the answer as it is
    say      what it prints; `err`: on standard error
    spawn    starts a child that outlives it; its pid is in `spawned.txt`
    sleep    seconds; `until`: a file that it waits for; `exit`: what it ends with
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
    script, *rest = sys.argv[1:]
    prompt = Path(rest[1]).read_text(encoding="utf-8") if len(rest) == 2 else sys.stdin.read()
    role = rest[0] if len(rest) == 1 else ""
    turns, task, mark = json.loads(Path(script).read_text(encoding="utf-8")), "", Path(script).with_suffix("")
    if role:
        found = re.search(r"^name: (.*)$", prompt, re.MULTILINE)
        assert found, prompt
        task = found[1].strip("'\"")
        turns = turns.get(task, {}).get(role) or [{}]
        mark = mark.with_name(f"{mark.name}.{re.sub('[^a-z0-9]', '-', task.lower())}.{role}")
    counter = mark.with_name(f"{mark.name}.count")
    played = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(played + 1))
    mark.with_name(f"{mark.name}.prompt-{played + 1}").write_text(prompt, encoding="utf-8")
    turn = turns[min(played, len(turns) - 1)]
    missing = [text for text in turn.get("expect", ()) if text not in prompt]
    if missing:
        print(f"not in the prompt: {missing}\n{prompt}", file=sys.stderr)
        return 99
    work(turn)
    if turn.get("sleep"):
        Path(script).with_suffix(f".sleeps{role and f'-{role}'}").write_text(str(os.getpid()))
        time.sleep(turn["sleep"])
    while "until" in turn and not Path(turn["until"]).exists():
        time.sleep(0.02)
    said = answer(prompt, task, role, turn)
    if said is not None:
        file = re.search(r"^`(.*\.yaml)`:$", prompt, re.MULTILINE)
        Path(file[1] if file else os.environ["PHASE_GATE_ANSWER"]).write_text(said, encoding="utf-8")
    return int(turn.get("exit", 0))


def work(turn: dict[str, Any]) -> None:
    for path, text in turn.get("write", {}).items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    for path, text in turn.get("append", {}).items():
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(text)
    for command in turn.get("run", ()):
        subprocess.run(command, shell=True, check=False, stdout=sys.stderr)
    if turn.get("spawn"):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
        Path("spawned.txt").write_text(str(child.pid))
    print(turn.get("err", ""), file=sys.stderr, end="", flush=True)
    print(turn.get("say", ""), end="", flush=True)


def answer(prompt: str, task: str, role: str, turn: dict[str, Any]) -> str | None:
    if "text" in turn:
        return str(turn["text"])
    if "vote" in turn:
        return json.dumps({"by": "me", **turn["vote"]})
    if "answer" in turn:
        return "".join(f"{key}: {value}\n" for key, value in turn["answer"].items())
    if not role or turn.get("report", {}) is None:
        return None
    command = re.search(r"^verify command: (.*)$", prompt, re.MULTILINE)
    forms: dict[str, dict[str, Any]] = {
        "executor": {
            "status": "success",
            "files_modified": [],
            "verification": {"command": command[1] if command else "", "exit_code": 0, "output_summary": "1 passed"},
            "done_criteria_met": True,
            "evidence": "it is there",
        },
        "reviewer": {
            "verdict": "APPROVED",
            "confidence": "HIGH",
            "findings": ["it is there"],
            "recommendation": "commit",
        },
    }
    said = {"task_name": task, **forms[role], **turn.get("report", {})}
    return json.dumps({key: value for key, value in said.items() if value is not None})


if __name__ == "__main__":
    sys.exit(main())
