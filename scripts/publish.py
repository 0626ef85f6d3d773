"""Build the documentation site: a folder for this version, and a page that leads to it.

`python -m scripts.publish [--into FOLDER] [--version NAME]`. A folder that holds older versions keeps them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
_LEAD_ON = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>pytest-phase-gate</title>
<meta http-equiv="refresh" content="0; url=./{name}/"><a href="./{name}/">pytest-phase-gate {name}</a></html>
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.publish", description="Build the documentation site.")
    parser.add_argument("--into", type=Path, default=DOCS.parent / "site", help="the site's folder")
    parser.add_argument("--version", default="dev", help="a released version; without it: dev")
    given = parser.parse_args(arguments)
    name = given.version
    # Strict: a link or an anchor that leads nowhere ends it.
    call = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-b", "html", DOCS, given.into / name]
    ended = subprocess.run([*map(str, call), "-D", f"release={name}", "-D", f"html_title=pytest-phase-gate {name}"])
    if ended.returncode:
        return ended.returncode
    (given.into / "index.html").write_text(_LEAD_ON.format(name=name), encoding="utf-8")
    print(f"{given.into / name}: open index.html")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
