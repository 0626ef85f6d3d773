"""`tox -e release -- build|test|check`: what a release is made of.

`build` makes both distributions, `test` runs the suite on the wheels, `check` holds `.github` against linters.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence

from tests.releases import building, built, checking

COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "build": building.main,
    "test": built.main,
    "check": checking.main,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="tox -e release --", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    return COMMANDS[parser.parse_args(sys.argv[1:2]).command](sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
