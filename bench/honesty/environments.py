"""An environment for each gate, with what the package index has for it, and its versions."""

from __future__ import annotations

import json
import subprocess
import sys
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


def make_environment(gate: Gate, folder: Path) -> str:
    """Return the interpreter of a gate, in an environment that gates of its family share."""
    place = folder / (gate.family or gate.name)
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
        install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-qq"]
        subprocess.run([*install, *EVERYWHERE, *gate.packages], check=True)
    return str(python)


def versions(python: str) -> dict[str, str]:
    """Return what an environment has, without what comes along with other things."""
    done = subprocess.run([python, "-c", _VERSIONS], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return {name.lower(): found[name] for name in sorted(found, key=str.lower) if name.lower() not in _QUIET}
