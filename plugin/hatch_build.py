"""What a build of either distribution adds: the version, from the tag of the commit that is built.

Both `pyproject.toml` files name this file. Without a tag the version is `0+unknown`: such a build works, and no package
index takes it. A source distribution carries its version in `PKG-INFO`.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.version import Version

TOP = Path(__file__).resolve().parent.parent
UNKNOWN = "0+unknown"
#: What a version is in the installed package. A checkout has the same line, with the unknown version.
LINE = '__version__ = "{version}"\n'
_TAG = re.compile(r"v(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)")
#: The extras of `phase-gate`, under the name that people install.
_EXTRAS = ("quality", "documents", "mermaid", "completion", "postgresql", "report", "coverage")


def find_version(top: Path = TOP) -> str:
    """Return the version of the sources in that folder."""
    information = top / "PKG-INFO"
    if information.is_file():
        return next(
            line.removeprefix("Version: ")
            for line in information.read_text(encoding="utf-8").splitlines()
            if line.startswith("Version: ")
        )
    if not (top / ".git").exists() or _git(top, "status", "--porcelain", "--untracked-files=no") != "":
        return UNKNOWN  # a folder in another repository, or files that no commit has: the tag does not speak of them
    tags = (_git(top, "tag", "--points-at", "HEAD") or "").split()
    versions = [Version(found[1]) for tag in tags if (found := _TAG.fullmatch(tag))]
    return str(max(versions)) if versions else UNKNOWN


def _git(top: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(top), *words], capture_output=True, text=True, check=False)
    except OSError:
        return None  # no git here
    return done.stdout.strip() if done.returncode == 0 else None


class SameVersion(MetadataHookInterface):
    """Let the plugin ask for exactly its own version: the two distributions are one program in two parts."""

    def update(self, metadata: dict[str, Any]) -> None:
        version = metadata["version"]
        metadata["dependencies"] = [f"phase-gate=={version}", "pytest>=8.4"]
        metadata["optional-dependencies"] = {name: [f"phase-gate[{name}]=={version}"] for name in _EXTRAS}


class WrittenVersion(BuildHookInterface):  # type: ignore[type-arg]  # of a configuration that nothing here looks at
    """Write the version into the package, so that no start has to look up how it was installed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        written = Path(self._folder.name, "_version.py")
        written.write_text(LINE.format(version=self.metadata.version), encoding="utf-8")
        inside = "phase_gate/_version.py" if self.target_name == "wheel" else "src/phase_gate/_version.py"
        build_data["force_include"][str(written)] = inside

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._folder.cleanup()
