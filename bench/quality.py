"""`python -m bench.quality FOLDER`: how long looking at the quality of a folder's code takes, first and later."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from phase_gate.evidence.context import EvidenceContext
from phase_gate.evidence.quality import PROVIDER
from phase_gate.workflow.settings import Configuration

T = TypeVar("T")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("folder", type=Path, help="whose Python files are copied and measured")
    parser.add_argument("--files", type=int, default=1000, help="how many of them, at most")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="phase-gate-bench-") as name:
        root = Path(name)
        (root / ".phase-gate").mkdir()
        sources = sorted(path for path in arguments.folder.rglob("*.py") if path.is_file())[: arguments.files]
        for number, source in enumerate(sources):
            (root / f"module_{number}.py").write_bytes(source.read_bytes())
        lines = sum(path.read_bytes().count(b"\n") for path in root.glob("*.py"))
        print(f"{len(sources)} files, {lines} lines")
        memory: dict[str, object] = {}
        context = EvidenceContext(
            root=root,
            folder=root / ".phase-gate",
            state_folder=root / ".phase-gate",
            configuration=Configuration(),
            wanted=frozenset(),
            list_files=lambda keep: sorted(path.name for path in root.iterdir() if keep(path.name)),
            recall=memory.get,
        )
        memory["quality"] = _timed("when the phase begins", lambda: PROVIDER.remember(context))
        _timed("a run, nothing changed", lambda: PROVIDER.measure(context))
        (root / "module_0.py").write_text("x = 1\n", encoding="utf-8")
        _timed("a run, one file changed", lambda: PROVIDER.measure(context))
    return 0


def _timed(what: str, call: Callable[[], T]) -> T:
    began = time.perf_counter()
    found = call()
    print(f"{what:25} {time.perf_counter() - began:6.2f} s")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
