"""Take the clients from npm, into a folder of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

PACKAGE = Path(__file__).parent / "package.json"


def install(folder: Path, wanted: Sequence[str] = ()) -> Path:
    """Return the folder with the clients' programs.

    :param wanted: packages with a version each, instead of those that `package.json` names.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not there: install Node 20 or newer")
    folder.mkdir(parents=True, exist_ok=True)
    document = json.loads(PACKAGE.read_text(encoding="utf-8"))
    for each in wanted:
        name, _, version = each.rpartition("@")
        document["dependencies"][name] = version
    text, place = json.dumps(document, indent=1), folder / "package.json"
    programs = folder / "node_modules" / ".bin"
    if place.exists() and place.read_text(encoding="utf-8") == text and programs.is_dir():
        return programs
    place.write_text(text, encoding="utf-8")
    command = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        place.unlink()
        raise SystemExit(f"npm install ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return programs


def version_of(programs: Path, package: str) -> str:
    document = json.loads((programs.parent / package / "package.json").read_text(encoding="utf-8"))
    return str(document["version"])
