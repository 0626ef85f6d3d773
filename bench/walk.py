"""`python -m bench.walk`: how much of us one run, and some commands, walk through. Prints a Markdown table.

Counted by a profiler in a process of its own, so nothing is replaced and nothing depends on the machine.
"""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import phase_gate

_OURS = str(Path(phase_gate.__file__).parent)

#: What is counted: the end of a file's path, and the function in it.
COUNTED = {
    "state openings": ("/storage/opening.py", "open"),
    "state parsings": ("/gate/codec.py", "state_from_json"),
    "entries decided": ("/gate/order.py", "decide_entry"),
    "rules read from JSON": ("/workflow/model_json.py", "workflow_from_json"),
    "trees taken": ("/storage/tree/fingerprint.py", "take_tree"),
    "processes": ("/subprocess.py", "_execute_child"),
}
_TEST = "from total import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="phase-gate-walk-") as name:
        print(render(walk(Path(name))))
    return 0


def walk(folder: Path) -> dict[str, dict[str, int]]:
    """Return what was counted for a run in RED, one in GREEN that opens the gate, and commands after it."""
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / ".gitignore").write_text(".phase-gate/\n.user-state/\nwalked\n__pycache__/\n", encoding="utf-8")
    (folder / "test_add.py").write_text(_TEST, encoding="utf-8")
    identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)
    found = {"red run": count(folder, "pytest", "-q", "--phase=red", "--exit-signal=tests are written")}
    (folder / "total.py").write_text("def add(one, two):\n    return one + two\n", encoding="utf-8")
    count(folder, "pytest", "-q", "--phase=green")
    found["green run"] = count(folder, "pytest", "-q", "--phase=green")
    commands = (["check"], ["status"], ["explain"], ["signal", "--reason=all is there"])
    return found | {words[0]: count(folder, "phase_gate.cli", *words) for words in commands}


def count(folder: Path, *words: str) -> dict[str, int]:
    """Run a module with these arguments and return how often each function was called, and our modules."""
    profile = folder / "walked"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PHASE_GATE", "PYTEST"))}
    environment = {
        **kept,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "XDG_STATE_HOME": str(folder / ".user-state"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    plugin = ["-p", "phase_gate.plugin"] if words[0] == "pytest" else []
    subprocess.run(
        [sys.executable, "-m", "cProfile", "-o", str(profile), "-m", *words, *plugin],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    calls: Mapping[tuple[str, int, str], tuple[int, int]] = marshal.loads(profile.read_bytes())
    profile.unlink()
    modules = sum(name == "<module>" and file.startswith(_OURS) for file, _, name in calls)
    return {"our modules": modules} | {
        what: sum(row[1] for (path, _, name), row in calls.items() if name == function and path.endswith(file))
        for what, (file, function) in COUNTED.items()
    }


def render(found: Mapping[str, Mapping[str, int]]) -> str:
    names = list(next(iter(found.values())))
    rows = [f"| | {' | '.join(found)} |", f"| --- |{' --- |' * len(found)}"]
    rows += [f"| {name} | {' | '.join(str(column[name]) for column in found.values())} |" for name in names]
    return "\n".join(rows)


if __name__ == "__main__":
    raise SystemExit(main())
