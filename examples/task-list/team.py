"""A team without people: what its executor and its reviewer do and say is written down in `work/`.

It looks at exit codes only: 0 goes on, 10 is another attempt with the gate's feedback, 12 is for a person.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

WORK = Path("work")


def gate(*words: str) -> int:
    """Call the gate, and say how it ended."""
    code = subprocess.run(["phase-gate", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    print(f"  phase-gate {' '.join(words)}: {code}")
    return code


def feedback(task: str) -> str:
    """Return what a real executor would find in front of its next prompt."""
    words = ["phase-gate", "verify", "feedback", "--prompt", "--task", task]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def attempt(task: str, folder: Path) -> int:
    """Let the executor work and report, have it verified, let the reviewer look at it, and commit it."""
    gate("verify", "start", "--task", task)
    for file in folder.glob("*.py"):
        shutil.copy(file, file.name)
    if code := gate("verify", "executor", f"{folder}/result.yaml", "--by", "executor"):
        return code
    if code := gate("verify", "run", "--task", task):
        return code
    # A verdict is written after the evidence that it is about.
    Path("verdict.yaml").write_text((folder / "verdict.yaml").read_text())
    if code := gate("verify", "review", "verdict.yaml", "--by", "reviewer"):
        return code
    return gate("verify", "commit", "--task", task)


def main() -> int:
    gate("verify", "start", "--task-file", "tasks.xml")
    for folder in sorted(WORK.iterdir()):
        print(folder.name)
        for number in sorted(folder.iterdir()):
            if attempt(folder.name, number) == 0:
                break
            print("  " + feedback(folder.name).splitlines()[0])
    reason = "the vendor's sandbox is down until Monday, ticket 4711"
    gate("verify", "skip", "--task", "Task 6", "--kind", "unavailable", "--reason", reason, "--by", "mara")
    stats = subprocess.run(["phase-gate", "verify", "stats", "--json"], capture_output=True, text=True, check=True)
    print(json.dumps(json.loads(stats.stdout)["gate_stats"], indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
