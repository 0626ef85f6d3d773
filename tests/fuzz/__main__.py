"""`python -m tests.fuzz`: each target's inputs grown to a megabyte; ends with 1 if one breaks, or takes too long.

With `--known`, only those that were slow once.
"""

from __future__ import annotations

import argparse

from tests.fuzz.growth import grow, known_rows
from tests.fuzz.targets import all_targets


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="this target; may be repeated")
    parser.add_argument("--known", action="store_true", help="inputs that were slow once instead")
    arguments = parser.parse_args()
    known = arguments.known
    rows = known_rows() if known else (row for name in arguments.only or all_targets() for row in grow(name))
    slow = 0
    for row in rows:
        is_soon, seconds = row.read()
        slow += not is_soon
        if known or not is_soon or seconds > 2:
            print(f"{row.target:18} {seconds:5.1f} s  {'soon' if is_soon else 'slow'}: {row.name}", flush=True)
    print(f"{slow} broke, or took too long")
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
