"""Ask Mermaid itself about every diagram of the table, record what it says, and compare it with what we say.

`tox -e mermaid` calls this. It takes Mermaid from npm into a temporary folder, and needs Node 20 or newer.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.diagrams.mutations import mutate
from tests.diagrams.table import rows
from tests.diagrams.verdicts import DISAGREEMENTS, RECORDED, check

PACKAGES = ("mermaid@12.3.0", "jsdom@26", "@mermaid-js/examples@1.4.0")
ORACLE = Path(__file__).parent / "oracle.mjs"
EXAMPLES = "import { diagramData } from '@mermaid-js/examples'; console.log(JSON.stringify(diagramData));"


class Mermaid:
    """The real one, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "package.json").write_text("{}", encoding="utf-8")
        shutil.copy(ORACLE, folder / ORACLE.name)
        self._run("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *PACKAGES)
        package = json.loads((folder / "node_modules" / "mermaid" / "package.json").read_text(encoding="utf-8"))
        self.version: str = package["version"]

    def examples(self) -> list[str]:
        """Return the examples that Mermaid's own site shows, of every kind."""
        (self._folder / "examples.mjs").write_text(EXAMPLES, encoding="utf-8")
        kinds = json.loads(self._run("node", "examples.mjs"))
        return [example["code"] for kind in kinds for example in kind["examples"]]

    def ask(self, texts: list[str]) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = json.loads(self._run("node", ORACLE.name, given=json.dumps(texts)))
        return answers

    def _run(self, *command: str, given: str = "") -> str:
        done = subprocess.run(command, cwd=self._folder, input=given, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout


def compare(mermaid: Mermaid, name: str, texts: list[str]) -> dict[str, int]:
    """Return how often we and Mermaid agree."""
    counted: Counter[str] = Counter()
    for text, answer in zip(texts, mermaid.ask(texts), strict=True):
        ours = check(text).is_valid
        counted["both accept" if ours else "both refuse"] += answer["valid"] is ours
        counted["we alone refuse"] += answer["valid"] and not ours
        counted["we alone accept"] += ours and not answer["valid"]
    print(f"{name}: {', '.join(f'{number} {word}' for word, number in sorted(counted.items()))}")
    return dict(sorted(counted.items()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.diagrams", description=__doc__)
    parser.add_argument("--mutations", type=int, default=4000, help="damaged diagrams to compare")
    parser.add_argument("--check", action="store_true", help="record nothing; fail if Mermaid says something else now")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mermaid = Mermaid(Path(folder))
        print(f"mermaid {mermaid.version}")
        answers = dict(zip(rows(), mermaid.ask(list(rows().values())), strict=True))
        examples = mermaid.examples()
        good = [*examples, *(text for name, text in rows().items() if answers[name]["valid"])]
        compared = {
            "examples": compare(mermaid, "examples of mermaid.js.org", examples),
            "mutations": compare(mermaid, "damaged diagrams", list(mutate(good, options.mutations))),
        }
    odd = [name for name, text in rows().items() if check(text).is_valid is not answers[name]["valid"]]
    for name in odd:
        print(f"disagreement: {name}: {answers[name]['said']} ({DISAGREEMENTS.get(name, 'not known')})")
    document = {"mermaid": mermaid.version, "verdicts": answers, "compared": compared}
    if options.check:
        recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["verdicts"]
        other = sorted(name for name in answers if recorded.get(name, {}).get("valid") is not answers[name]["valid"])
        print(f"other than recorded: {', '.join(other) or 'none'}")
        return 1 if other or set(odd) != set(DISAGREEMENTS) else 0
    RECORDED.write_text(json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    return 1 if set(odd) != set(DISAGREEMENTS) else 0


if __name__ == "__main__":
    sys.exit(main())
