"""`python -m tests.fuzz`: each target under atheris for a while, one process a target; ends with 1 if one broke.

With `--grown`, each target's inputs grown to a megabyte instead, which needs no atheris; with `--known`, those that
were slow once.

libFuzzer ends its process with the run, so every target gets one of its own. What was found lies in the folder that
is named at the end, one file an input.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=30, help="for each target")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="this target; may be repeated")
    parser.add_argument("--child", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help="keep inputs here, for the next time")
    parser.add_argument("--grown", action="store_true", help="inputs of a megabyte instead")
    parser.add_argument("--known", action="store_true", help="inputs that were slow once instead")
    arguments = parser.parse_args()
    if arguments.grown or arguments.known:
        return _grow(arguments.only, known=arguments.known)
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="phase-gate-atheris-"))
    if arguments.child:
        return _fuzz(arguments.child, folder, arguments.seconds)
    from tests.fuzz.targets import all_targets

    broken = []
    for name in arguments.only or all_targets():
        words = ["-m", "tests.fuzz", "--child", name, "--seconds", str(arguments.seconds), "--folder", str(folder)]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, errors="replace", check=False)
        rows = done.stderr.splitlines()
        print(f"{name:14} {'broke' if done.returncode else 'holds'}: {_last_count(rows)}", flush=True)
        if done.returncode:
            broken.append(name)
            print(done.stdout[-3000:] + "\n".join(rows[-40:]))
    print(f"{len(broken)} broke; inputs: {folder}")
    return 1 if broken else 0


def _grow(only: list[str], *, known: bool) -> int:
    from tests.fuzz.growth import grow, known_rows
    from tests.fuzz.targets import all_targets

    rows = known_rows() if known else (row for name in only or all_targets() for row in grow(name))
    slow = 0
    for row in rows:
        is_soon, seconds = row.read()
        slow += not is_soon
        if known or not is_soon or seconds > 2:
            print(f"{row.target:18} {seconds:5.1f} s  {'soon' if is_soon else 'slow'}: {row.name}", flush=True)
    print(f"{slow} broke, or took too long")
    return 1 if slow else 0


def _last_count(rows: list[str]) -> str:
    return next((row for row in reversed(rows) if row.startswith(("Done", "stat::number"))), "no count")


def _fuzz(name: str, folder: Path, seconds: int) -> int:
    import atheris

    with atheris.instrument_imports(include=["phase_gate", "json", "yaml"]):
        from tests.fuzz.targets import all_targets

    target = all_targets()[name]
    corpus = folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [f"-max_total_time={seconds}", "-max_len=20000", f"-artifact_prefix={folder}/{name}-", "-timeout=20"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], target)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
