"""`python -m bench [MEASURE ...]`: what the plugin costs, in instructions, as a Markdown table. Needs valgrind.

`python -m bench honesty --help`: gates against gaming, side by side.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path


def main() -> int:
    if sys.argv[1:2] == ["honesty"]:
        from bench.honesty.command import main as judge

        return judge(sys.argv[2:])
    from bench.cost import MEASURES, Kit, Row, render

    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=f"of: {', '.join(MEASURES)} (default: all)")
    names = parser.parse_args().measures or list(MEASURES)
    if unknown := sorted({*names} - {*MEASURES}):
        parser.error(f"no such measure: {unknown[0]}")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="phase-gate-bench-") as folder:
        kit = Kit(Path(folder))
        for name in names:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows += MEASURES[name](kit)
    print(render(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
