"""`python -m tests.newcomers`: let each newcomer begin; ends with 1 if one of them gets no verdict."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from tests.newcomers.index import build, serve
from tests.newcomers.model import Went
from tests.newcomers.people import NEWCOMERS
from tests.newcomers.typing_in import begin


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.newcomers", description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="may be repeated")
    parser.add_argument("--fresh-root", metavar="DIR", type=Path, help="a Debian made by debootstrap; wants root")
    parser.add_argument("--simple", metavar="ADDRESS", help="of an index for poetry, where the usual one has no JSON")
    given = parser.parse_args()
    if given.simple:
        os.environ["SIMPLE"] = given.simple
    found = []
    with tempfile.TemporaryDirectory(prefix="newcomers-") as name:
        build(Path(name, "index"))
        with serve(Path(name, "index")) as index:
            for number, each in enumerate(NEWCOMERS):
                if not given.only or each.name in given.only:
                    found.append(begin(each, Path(name, str(number)), index, given.fresh_root))
                    print(row(found[-1]), flush=True)
    return 1 if any(each.problem for each in found) else 0


def row(went: Went) -> str:
    """Return a row of the table in docs/explanation/newcomers.md."""
    if went.missing:
        return f"| {went.newcomer} | not here: {went.missing} | | |"
    if went.problem:
        return f"| {went.newcomer} | no verdict: {went.problem} | | |"
    return f"| {went.newcomer} | {went.commands} | {went.seconds:.0f} | {went.verdict_seconds:.1f} |"


if __name__ == "__main__":
    raise SystemExit(main())
