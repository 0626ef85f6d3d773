"""`python -m tests.strangers`: the suite, or the tests that are named, in each of the surroundings; ends with 1 if one
of them fails.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.strangers.rows import BUSY, ROWS, Row, UnfitError, identity, load

ROOT = Path(__file__).parent.parent.parent

#: Some of each kind, a minute or two.
SAMPLE = (
    "tests/storage",
    "tests/plugin/test_session.py",
    "tests/plugin/test_options.py",
    "tests/cli/test_check.py",
    "tests/cli/test_status.py",
    "tests/cli/test_watch.py",
    "tests/docs/test_ci_templates.py",
    "tests/conformance/test_design_card.py",
)
#: No test may wait so long; the machine may be slow.
TIMEOUT = 900


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.strangers", description=__doc__)
    parser.add_argument("tests", nargs="*", help="instead of the whole suite")
    parser.add_argument("--sample", action="store_true", help="a few tests of each kind")
    parser.add_argument("--only", metavar="ROW", action="append", default=[], help="may be repeated")
    given = parser.parse_args()
    tests = given.tests or (SAMPLE if given.sample else ())
    found = [_try(row, tuple(tests)) for row in ROWS if not given.only or row.name in given.only]
    return 1 if False in found else 0


def _try(row: Row, tests: tuple[str, ...]) -> bool | None:
    before = _spent()
    with tempfile.TemporaryDirectory(prefix="strangers-") as name, contextlib.ExitStack() as stack:
        folder = Path(name).resolve()
        try:
            who = identity(row, folder, ROOT)
        except (UnfitError, KeyError) as error:
            print(f"{row.name:28} not here: {error}", flush=True)
            return None
        if row.prepare is not None:
            row.prepare(folder)
        if row.is_busy:
            stack.enter_context(load(BUSY))
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", f"--timeout={TIMEOUT}"]
        done = subprocess.run(  # type: ignore[call-overload]
            [*command, f"--basetemp={folder / 'base'}", *tests],
            cwd=ROOT,
            env=_environment(row, folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **who,
        )
        spent = _spent() - before  # without the busy ones, which nobody has waited for yet
    said = re.findall(r"^\d+ (?:passed|failed).*", done.stdout, re.MULTILINE)
    verdict = "passes" if done.returncode == 0 else "FAILS"
    print(f"{row.name:28} {verdict}: {said[-1] if said else '-'}; {spent:.0f} s of CPU", flush=True)
    if done.returncode != 0:
        print("\n".join(re.findall(r"^(?:FAILED|ERROR) .*", done.stdout, re.MULTILINE)) or done.stdout[-3000:])
    return bool(done.returncode == 0)


def _environment(row: Row, folder: Path) -> dict[str, str]:
    home = folder / "home"
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    kept = {name: value for name, value in os.environ.items() if not (row.drops and name.startswith(row.drops))}
    # A home without anything in it: what lies in ours is nobody's business.
    mine = {"HOME": str(home), **row.sets}
    if row.user:
        # Not the folders that only we may look into.
        mine["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.defpath))
    return {**kept, **mine}


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
