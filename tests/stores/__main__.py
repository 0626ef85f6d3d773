"""`python -m tests.stores`: many machines, kills and faults on real servers; ends with 1 at what does not hold.

Says what is missing where a server is not installed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.stores import git_proofs, proofs, tls_proofs
from tests.stores import postgresql_proofs as on_postgresql
from tests.stores.database import Database, is_installed
from tests.stores.handing_out import run_workers
from tests.stores.kinds import make_bare

Part = Callable[[Path], str]

_HANDED = "1,000 tasks for 20 workers"

_NO_SERVER = "not tried: it needs the server's own programs and the package psycopg (Debian: apt install postgresql)"
_NO_OPENSSL = "not tried: openssl is not installed"
_NO_DISK = "not tried: only root can make a disk in a namespace"


def postgresql_parts(stack: contextlib.ExitStack) -> dict[str, Part]:
    database = Database(options=on_postgresql.DURABLE)
    stack.callback(database.remove)
    places = stack.enter_context(on_postgresql.serve(database))

    def server(how: signal.Signals) -> Part:
        return lambda folder: on_postgresql.server_killed(
            places, database, folder, how=how, times=10, writers=8, changes=20
        )

    return {
        "50 machines x 20 changes": lambda folder: proofs.writers_at_once(
            places("writers"), folder, writers=50, changes=20
        ),
        "12 runs at once": lambda folder: proofs.runs_at_once(places("runs"), folder, runs=12),
        "clocks": lambda folder: proofs.clocks_apart(places("clocks"), folder, changes=20),
        "clients killed at every message": lambda folder: on_postgresql.clients_killed(places, database, folder),
        "runs killed at every message": lambda folder: on_postgresql.runs_killed(places, database, folder),
        "server killed": server(signal.SIGKILL),
        "server stopped at once": server(signal.SIGQUIT),
        "a bad line": lambda folder: on_postgresql.bad_line(places, database, folder, writers=8, changes=20),
        _HANDED: lambda folder: tell_handed(folder, places("handed").names(folder), is_shared=True),
        "TLS": _with_openssl(tls_proofs.postgresql_by_tls),
        "a full disk": on_postgresql.disk_full if os.geteuid() == 0 else lambda folder: _NO_DISK,
    }


def _with_openssl(part: Callable[..., str]) -> Part:
    return lambda folder: part(folder, writers=4, changes=10) if tls_proofs.is_installed() else _NO_OPENSSL


def _hand_out_over_git(folder: Path) -> str:
    store = f"git:{make_bare(folder / 'remote.git')}#shop"
    return tell_handed(folder, {**os.environ, "PHASE_GATE_STORE": store}, is_shared=True)


def tell_handed(folder: Path, environment: Mapping[str, str], *, is_shared: bool, tasks: int = 1000) -> str:
    """Hand out tasks to 20 workers, as many of which are killed."""
    handed = run_workers(folder, tasks=tasks, workers=20, kills=20, environment=environment, is_shared=is_shared)
    assert [handed.twice, handed.never, handed.mistaken] == [[], [], []]
    return (
        f"{handed.tasks} tasks handed out in {handed.seconds:.0f} s, {len(handed.twice)} twice;"
        f" {handed.killed} workers killed, {handed.tasks - len(handed.told)} of them with a task in hand"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stores", description=__doc__)
    parser.add_argument("--only", metavar="WORD", default="", help="only the parts with this word in their names")
    arguments = parser.parse_args()
    _take("folder", {_HANDED: lambda folder: tell_handed(folder, os.environ, is_shared=False)}, arguments.only)
    if shutil.which("git"):
        _take(
            "git",
            {**git_proofs.PARTS, "TLS": _with_openssl(tls_proofs.git_by_https), _HANDED: _hand_out_over_git},
            arguments.only,
        )
    else:
        print("git: not tried: it is not installed")
    if arguments.only.startswith("git"):
        return 0
    with contextlib.ExitStack() as stack:
        if is_installed():
            _take("postgresql", postgresql_parts(stack), arguments.only)
        else:
            print(f"postgresql: {_NO_SERVER}")
    return 0


def _take(kind: str, parts: dict[str, Part], only: str) -> None:
    for name, part in parts.items():
        title = f"{kind}: {name}"
        if only in title:
            with tempfile.TemporaryDirectory(prefix="phase-gate-stores-") as folder:
                began = time.perf_counter()
                print(f"{title}: {part(Path(folder))} ({time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
