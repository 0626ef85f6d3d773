"""`tox -e release -- test [--wheels FOLDER] [TESTS]`: the suite on both wheels as built, in a fresh environment."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.releases.building import NAMES, ROOT, build, find_version

#: Says where the package comes from and what its version is, as the package, the metadata of both, and the command say.
_ASKED = """\
import pathlib, subprocess, sys
from importlib.metadata import version
import phase_gate
home = pathlib.Path(phase_gate.__file__).resolve()
assert home.is_relative_to(pathlib.Path(sys.prefix).resolve()), f"{home} is not the installed package"
command = pathlib.Path(sys.executable).parent / "phase-gate"
said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
found = {phase_gate.__version__, version("phase-gate"), version("pytest-phase-gate"), said}
assert found == {sys.argv[1]}, f"{found} instead of {sys.argv[1]}"
"""


def install(wheels: Path, version: str, folder: Path) -> str:
    """Return the interpreter of a fresh environment with both wheels and what the suite needs."""
    venv.create(folder, with_pip=True)
    python = str(folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
    code, plugin = (wheels / f"{name}-{version}-py3-none-any.whl" for name in NAMES)
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"{code}[test]", str(plugin)], check=True)
    subprocess.run([python, "-m", "pip", "check"], check=True)
    # From the top of the checkout, as the suite is run: its sources must not be what is imported.
    subprocess.run([python, "-c", _ASKED, version], check=True, cwd=ROOT)
    return python


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tox -e release -- test", description=__doc__)
    parser.add_argument("--wheels", type=Path, metavar="FOLDER", help="built already; default: build them")
    asked, chosen = parser.parse_known_args(arguments)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        wheels = asked.wheels
        if wheels is None:
            wheels = Path(temporary, "dist")
            build(wheels)
        version = find_version(wheels)
        python = install(wheels.resolve(), version, Path(temporary, "environment"))
        print(f"both wheels are installed: {version}", flush=True)
        words = [python, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2", *chosen]
        return subprocess.run(words, cwd=ROOT, check=False).returncode
