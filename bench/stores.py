"""What a shared store costs beside the state folder alone: `python -m bench.stores`.

Processor time of whole commands with all that they start, rounds interleaved, as ratios to the same command on the
folder; and how often the server is asked. A server by http or of a database is another process, whose time is not
counted; by file it is.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

BASE, POSTGRESQL = "folder", "PostgreSQL"
COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("-m", "phase_gate.cli", "check"),
    "rewind": ("-m", "phase_gate.cli", "rewind", "red", "--reason", "once more"),
    "run of one test": ("-m", "pytest", "-q", "-p", "phase_gate.plugin", "--phase=red"),
}
#: What asks a server, among git's commands.
_ASKING = {"ls-remote": "reads", "fetch": "reads", "push": "writes"}


def serve_all(folder: Path, stack: ExitStack) -> dict[str, str]:
    """Return the stores by their names."""
    from tests.stores.database import is_installed
    from tests.stores.http_git import serve
    from tests.stores.kinds import make_bare

    address = stack.enter_context(serve(folder))
    database = {POSTGRESQL: _serve_database(folder, stack)} if is_installed() else {}
    return {
        BASE: "folder",
        **database,
        "git by file": f"git:{make_bare(folder / 'file.git')}#shop",
        "git by http": f"git:{address}/{make_bare(folder / 'http.git').name}#shop",
    }


def _serve_database(folder: Path, stack: ExitStack) -> str:
    """Start a server that writes down what it is asked."""
    from tests.stores import postgresql_proofs
    from tests.stores.database import Database

    database = Database(options=(*postgresql_proofs.DURABLE, "-c", "log_statement=all"))
    stack.callback(database.remove)
    stack.enter_context(postgresql_proofs.serve(database))
    (folder / "database.log").symlink_to(database.folder / "log")
    return f"{database.place()}#shop"


def make_machine(folder: Path) -> Path:
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "test_one.py").write_text("def test_one():\n    assert True\n", encoding="utf-8")
    return folder


def measure(machine: Path, store: str, words: tuple[str, ...]) -> float:
    """Return the seconds of processor time that a command takes."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("PHASE_GATE_", "PYTEST_", "GIT_"))}
    own = {"PHASE_GATE_STORE": store, "XDG_STATE_HOME": str(machine / "user"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], cwd=machine, env={**kept, **own}, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def count_questions(machine: Path, store: str, words: tuple[str, ...]) -> dict[str, int]:
    """Return how often a command asks for what a task has, and how often it adds to it."""
    return (_count_in_log if store.startswith("postgresql:") else _count_git)(machine, store, words)


def _count_in_log(machine: Path, store: str, words: tuple[str, ...]) -> dict[str, int]:
    log = machine.parent / "database.log"
    before = log.stat().st_size
    measure(machine, store, words)
    added = log.read_bytes()[before:]
    return {"reads": added.count(b": WITH asked"), "writes": added.count(b": WITH added")}


def _count_git(machine: Path, store: str, words: tuple[str, ...]) -> dict[str, int]:
    """Count by a git that writes down what it is called with."""
    real, calls = shutil.which("git"), machine.parent / "calls.txt"
    fake = machine.parent / "bin" / "git"
    fake.parent.mkdir(exist_ok=True)
    fake.write_text(f'#!/bin/sh\necho "$@" >> "{calls}"\nexec "{real}" "$@"\n', encoding="utf-8")
    fake.chmod(0o755)
    calls.write_text("", encoding="utf-8")
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{fake.parent}{os.pathsep}{path}"
    try:
        measure(machine, store, words)
    finally:
        os.environ["PATH"] = path
    found: dict[str, int] = defaultdict(int)
    for row in calls.read_text(encoding="utf-8").splitlines():
        for word in row.split():
            if word in _ASKING:
                found[_ASKING[word]] += 1
    return found


def compare(folder: Path, rounds: int) -> Iterator[str]:
    """Yield the rows of a table."""
    with ExitStack() as stack:
        stores = serve_all(folder, stack)
        machines = {name: make_machine(folder / name.replace(" ", "-")) for name in stores}
        times: dict[tuple[str, str], list[float]] = defaultdict(list)
        for number in range(rounds + 1):
            for command, words in COMMANDS.items():
                for name, store in stores.items():
                    seconds = measure(machines[name], store, words)
                    if number:  # the first one makes the task
                        times[command, name].append(seconds)
        for command, words in COMMANDS.items():
            for name, store in stores.items():
                if name == BASE:
                    continue
                asked = count_questions(machines[name], store, words)
                pairs = zip(times[command, name], times[command, BASE], strict=True)
                ratio = statistics.median(ours / base for ours, base in pairs)
                yield f"| `{command}` | {name} | {asked['reads']} | {asked['writes']} | {ratio:.2f} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.stores", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print(
        "| command | store | reads | writes | processor time, the folder's being 1 |\n| --- | --- | --- | --- | --- |"
    )
    with tempfile.TemporaryDirectory(prefix="phase-gate-bench-") as folder:
        for row in compare(Path(folder), arguments.rounds):
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
