"""An agent without a model: it plays a script, one turn a start. A program of its own: it imports nothing of ours.

`python fake_agent.py SCRIPT` reads its prompt from standard input (or `--prompt-file FILE`). The script is a JSON list
of turns; the last one is played again and again. A turn may have:

    write    {path: text}: files that it writes
    run      list of command lines that it runs, whatever they end with
    vote     {key: value} for the file of a vote
    answer   {key: value} for the answer file that the prompt names
    say      what it prints; `err`: on standard error
    spawn    starts a child that outlives it and appends to `spawned.txt`
    sleep    seconds
    until    a file: it waits until that is there
    exit     what it ends with
    expect   texts that its prompt has to have: it ends with 99 where one is missing
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path


def main() -> int:
    script = Path(sys.argv[1])
    prompt = Path(sys.argv[3]).read_text(encoding="utf-8") if len(sys.argv) > 2 else sys.stdin.read()
    turns = json.loads(script.read_text(encoding="utf-8"))
    counter = script.with_suffix(".count")
    played = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(played + 1))
    script.with_suffix(f".prompt-{played + 1}").write_text(prompt, encoding="utf-8")
    turn = turns[min(played, len(turns) - 1)]
    for path, text in turn.get("write", {}).items():
        Path(path).write_text(text, encoding="utf-8")
    for command in turn.get("run", ()):
        subprocess.run(command, shell=True, check=False, stdout=sys.stderr)
    if "vote" in turn:
        file = re.search(r"^`(.*vote-.*\.yaml)`:$", prompt, re.MULTILINE)
        assert file, prompt
        Path(file[1]).write_text(json.dumps({"by": "me", **turn["vote"]}), encoding="utf-8")
    if "answer" in turn:
        answer_in(prompt, turn["answer"])
    if turn.get("spawn"):
        code = "import time\nwhile True:\n    open('spawned.txt', 'a').write('x')\n    time.sleep(0.05)"
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    print(turn.get("err", ""), file=sys.stderr, end="", flush=True)
    print(turn.get("say", ""), end="", flush=True)
    if turn.get("sleep"):
        script.with_suffix(".sleeps").write_text(str(os.getpid()))
        time.sleep(turn["sleep"])
    while "until" in turn and not Path(turn["until"]).exists():
        time.sleep(0.02)
    missing = [text for text in turn.get("expect", ()) if text not in prompt]
    if missing:
        print(f"not in the prompt: {missing}\n{prompt}", file=sys.stderr)
        return 99
    return int(turn.get("exit", 0))


def answer_in(prompt: str, rows: dict[str, str]) -> None:
    file = re.search(r"^`(.*signal-.*\.yaml)`:$", prompt, re.MULTILINE)
    path = Path(file[1] if file else os.environ["PHASE_GATE_ANSWER"])
    path.write_text("".join(f"{key}: {value}\n" for key, value in rows.items()), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
