"""Build the documentation site: one folder a version, a list of them, and a page that leads to the newest.

`python -m scripts.publish [--into FOLDER] [--version NAME]`. A folder that holds older versions keeps them.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
#: What is built from a checkout that is no release.
UNRELEASED = "dev"
_RELEASE = re.compile(r"\d+\.\d+")
_LEAD_ON = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>pytest-phase-gate</title>
<meta http-equiv="refresh" content="0; url=./{name}/"><a href="./{name}/">pytest-phase-gate {name}</a></html>
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.publish", description="Build the documentation site.")
    parser.add_argument("--into", type=Path, default=DOCS.parent / "site", help="the site's folder")
    parser.add_argument("--version", default=UNRELEASED, help="a released version, as 1.2; without it: dev")
    given = parser.parse_args(arguments)
    name = folder_name(given.version)
    # Strict: a link or an anchor that leads nowhere ends it.
    call = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-b", "html", DOCS, given.into / name]
    ended = subprocess.run([*map(str, call), "-D", f"release={name}", "-D", f"html_title=pytest-phase-gate {name}"])
    if ended.returncode:
        return ended.returncode
    names = versions_in(given.into)
    (given.into / "versions.json").write_text(json.dumps(names) + "\n", encoding="utf-8")
    (given.into / "index.html").write_text(_LEAD_ON.format(name=newest(names)), encoding="utf-8")
    print(f"{given.into / name}: open index.html")
    return 0


def folder_name(version: str) -> str:
    """Return the folder of a version: patches of a release share one."""
    found = _RELEASE.match(version)
    return found[0] if found else UNRELEASED


def versions_in(folder: Path) -> list[str]:
    """Return the versions that a site has, newest first; what is not released comes last."""
    names = [path.parent.name for path in folder.glob("*/index.html")]
    released = [name for name in names if _RELEASE.fullmatch(name)]
    released.sort(key=lambda name: tuple(map(int, name.split("."))), reverse=True)
    return [*released, *(name for name in names if name == UNRELEASED)]


def newest(names: list[str]) -> str:
    return names[0]


if __name__ == "__main__":
    raise SystemExit(main())
