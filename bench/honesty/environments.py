"""An environment for each gate, with what the package index has for it, and its versions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from bench.honesty.gates import Gate

#: What cases ask for, beside pytest.
EVERYWHERE = ("pytest", "pytest-rerunfailures", "pytest-xdist")
_VERSIONS = """\
import importlib.metadata as metadata, json
print(json.dumps({each.metadata["Name"]: each.version for each in metadata.distributions()}))
"""
#: What is shown: what is installed because of another one is not.
_QUIET = ("execnet", "iniconfig", "packaging", "pip", "pluggy", "pygments", "pyyaml", "setuptools", "wheel")


class Environments:
    """Makes the environment of a gate when it is asked for, and keeps it in a folder for the next time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self, gates: Iterable[Gate]) -> dict[str, str]:
        """Return the interpreter of each gate, by its name."""
        return {gate.name: self._make(gate) for gate in gates}

    def _make(self, gate: Gate) -> str:
        place = self._folder / (gate.family or gate.name)
        python = place / "bin" / "python"
        mark = place / "complete"
        if not mark.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(place)], check=True)
            install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-qq"]
            subprocess.run([*install, *EVERYWHERE, *gate.packages], check=True)
            mark.write_text("", encoding="utf-8")
        return str(python)


def versions(python: str) -> dict[str, str]:
    """Return what an environment has, without what comes along with other things."""
    done = subprocess.run([python, "-c", _VERSIONS], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return {name.lower(): found[name] for name in sorted(found, key=str.lower) if name.lower() not in _QUIET}
