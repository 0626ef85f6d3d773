"""`tox -e release -- build [--into FOLDER] [--tag TAG]`: both distributions; each wheel is built from the sources."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
#: As files spell them.
NAMES = ("phase_gate", "pytest_phase_gate")


def build(folder: Path) -> None:
    """Build both into that folder."""
    for place in (ROOT, ROOT / "plugin"):
        subprocess.run([sys.executable, "-m", "build", "--outdir", str(folder), str(place)], check=True)


def find_version(folder: Path) -> str:
    """Return the version of all four files, or end with what is missing."""
    versions = {
        path.name.removeprefix(f"{NAMES[0]}-").removesuffix(".tar.gz") for path in folder.glob("phase_gate-*.gz")
    }
    if len(versions) != 1:
        raise SystemExit(f"{folder}: not one source distribution of phase-gate, but {sorted(versions)}")
    (version,) = versions
    wanted = {f"{name}-{version}{end}" for name in NAMES for end in (".tar.gz", "-py3-none-any.whl")}
    there = {path.name for path in folder.iterdir()}
    if there != wanted:
        raise SystemExit(f"{folder}: missing {sorted(wanted - there)}, not expected {sorted(there - wanted)}")
    return version


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tox -e release -- build", description=__doc__)
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="default: a temporary one")
    parser.add_argument("--tag", help="end with 1 unless the version is the one of this tag")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(asked.into or temporary)
        build(folder)
        version = find_version(folder)
    if asked.tag and asked.tag != f"v{version}":
        print(f"the tag is {asked.tag}, and what was built is {version}: is the tree clean, and the tag on its commit?")
        return 1
    print(f"built {version}")
    return 0
