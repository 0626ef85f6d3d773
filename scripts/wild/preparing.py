"""Get a project's sources and make an environment in which its suite runs. Downloads."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Mapping
from pathlib import Path

from scripts.wild.projects import Project
from scripts.wild.running import Tools

ROOT = Path(__file__).parent.parent.parent


#: Seconds for one call of pip; the slowest builds a package from its sources.
TIMEOUT = 600

#: Names of the environment that would change how a suite, or the gate, behaves: it is the user's first day.
_OURS = ("PHASE_GATE_", "PYTEST_", "PYTHON", "COV_", "COVERAGE_", "TOX_", "GIT_", "GITHUB_")
_ALSO = frozenset({"CI", "NO_COLOR", "FORCE_COLOR", "VIRTUAL_ENV", "COLUMNS"})


def build_wheels(folder: Path) -> tuple[Path, ...]:
    """Return the wheels of this checkout: the code, and the plugin's entry point."""
    _pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT), str(ROOT / "plugin"))
    return tuple(sorted(folder.glob("*phase_gate-*.whl")))


def download(project: Project, folder: Path) -> Path:
    """Return the project's source distribution."""
    # Only itself from source: what builds it may come as a wheel.
    only = ("--no-deps", "--no-binary", project.name)
    _pip("download", *only, "--dest", str(folder), project.requirement)
    (archive,) = folder.glob("*.tar.gz")
    return archive


def unpack(archive: Path, folder: Path) -> Path:
    """Return the folder with the sources, fresh from the archive."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (sources,) = folder.iterdir()
    return sources


def install(project: Project, archive: Path, wheels: tuple[Path, ...], folder: Path) -> Tools:
    """Make an environment with the project, pytest, and this checkout; return how to call what is in it."""
    wanted = (str(archive), *map(str, wheels), "pytest-xdist", *project.requires)
    venv.create(folder, symlinks=os.name != "nt")
    scripts = Path(sysconfig.get_path("scripts", scheme="venv", vars={"base": str(folder)}))
    python = scripts / Path("python").with_suffix(".exe" if os.name == "nt" else "")
    _pip("--python", str(python), "install", *wanted)
    return Tools(
        pytest=(str(scripts / "pytest"),),
        gate=(str(scripts / "phase-gate"),),
        environment=make_environment(os.environ, scripts),
    )


def make_environment(outer: Mapping[str, str], scripts: Path) -> dict[str, str]:
    """Return the environment of a user who has just installed the plugin."""
    kept = {name: value for name, value in outer.items() if not name.startswith(_OURS) and name not in _ALSO}
    return {**kept, "PATH": os.pathsep.join((str(scripts), outer.get("PATH", os.defpath)))}


def _pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"pip {arguments[0]} ended with {done.returncode}:\n{done.stdout}")
