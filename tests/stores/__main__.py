"""`python -m tests.stores`: many machines, kills and failures on real servers; ends with 1 at what does not hold.

Says what is missing where a server is not installed.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.stores import kinds
from tests.stores.database import Database
from tests.stores.handing_out import workers_at_once
from tests.stores.proofs import (
    failing_at_every_step,
    killed_at_every_step,
    runs_at_once,
    server_killed,
    writers_at_once,
)

#: The proofs of each kind of store, by their names.
_FAILURES = {"clients killed at every step": killed_at_every_step, "answers lost at every step": failing_at_every_step}
_HANDED = {"1,000 tasks to 20 workers": partial(workers_at_once, tasks=1000, workers=20, kills=20)}
_CROWD = {
    "12 writers x 20 changes": partial(writers_at_once, writers=12, changes=20),
    "12 runs at once": partial(runs_at_once, runs=12),
}
_MANY = {"50 writers x 20 changes": partial(writers_at_once, writers=50, changes=20)}
_KILLED = {"server killed": partial(server_killed, times=10, writers=8, changes=20)}
PROOFS: dict[str, dict[str, Any]] = {
    "folder": _HANDED,
    "git-file": {**_CROWD, **_MANY, **_FAILURES, **_HANDED},
    "git-ssh": _CROWD,
    "postgresql": {**_CROWD, **_MANY, **_FAILURES, **_KILLED, **_HANDED},
}


@contextlib.contextmanager
def _open(kind: str, folder: Path) -> Iterator[kinds.Server | None]:
    if kind == "folder":
        yield None
    elif kind == "postgresql":
        # As people run it: it waits for its disk.
        database = Database(options=("-c", "max_connections=150"))
        try:
            with kinds.postgresql(folder, database) as server:
                yield server
        finally:
            database.remove()
    else:
        with kinds.KINDS[kind](folder) as found:
            yield found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stores", description=__doc__)
    parser.add_argument("--only", metavar="WORD", default="", help="only the proofs with this word in their names")
    only = parser.parse_args().only
    for kind, proofs in PROOFS.items():
        if kind != "folder" and kind not in kinds.KINDS:
            print(f"{kind}: not tried: its server is not installed (Debian: git, openssh-server, postgresql)")
            continue
        for name, proof in proofs.items():
            if only in f"{kind}: {name}":
                with (
                    tempfile.TemporaryDirectory(prefix="phase-gate-stores-") as folder,
                    _open(kind, Path(folder)) as server,
                ):
                    began = time.perf_counter()
                    said = proof(server, Path(folder) / "machines")
                    print(f"{kind}: {name}: {said} ({time.perf_counter() - began:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
