"""Where golden files lie, and how a test gets a project back from them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

GOLDEN = Path(__file__).parent.parent / "data" / "golden"


def versions() -> list[str]:
    return sorted(path.name for path in GOLDEN.iterdir())


def states() -> list[Path]:
    return sorted(GOLDEN.glob("*/state-*"))


def restore(state: Path, root: Path) -> None:
    """Write a kept project, with its state folder, into a folder."""
    for name, text in json.loads((state / "project.json").read_text(encoding="utf-8")).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copytree(state / "state", root / ".phase-gate")
