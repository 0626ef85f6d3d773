"""Where the work is done, and where its result goes."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.wild.table import put_into


def show(table: str, output: Path | None, marks: tuple[str, str]) -> None:
    """Print a table, and put it into its page."""
    print(table, end="")
    if output is not None:
        page = output.read_text(encoding="utf-8") if output.exists() else ""
        output.write_text(put_into(page, table, marks), encoding="utf-8")


@contextlib.contextmanager
def work_in(wanted: Path | None) -> Iterator[Path]:
    """Give a folder to work in; a temporary one unless one is wanted."""
    if wanted is not None:
        yield wanted.resolve()
        return
    # Read-only files and the like are the suites' own business: what can't be removed may stay.
    with tempfile.TemporaryDirectory(prefix="phase-gate-wild-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
