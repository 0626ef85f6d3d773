"""Make what a store needs, whatever its kind, and say what was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from phase_gate.errors import UsageError
from phase_gate.stores.address import POSTGRESQL, StoreAddress
from phase_gate.visible import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.stores.postgresql_tables import Initialised


def init_store(
    address: StoreAddress, cache: Path, environment: Mapping[str, str], *, writers: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Make what the store needs, and return what was done, a line each. Raises PhaseGateError where it can't be.

    :param writers: users of a database that may add to it.
    """
    if writers and address.kind != POSTGRESQL:
        raise UsageError("only a database has users that are writers", remedy="leave --writer out")
    if address.kind == POSTGRESQL:
        from phase_gate.stores import postgresql

        return tuple(_say(postgresql.init_store(address, cache / "store", environment, writers=writers)))
    from phase_gate.stores import git

    found = git.init_store(address, cache / "store", environment)
    return (
        "the remote takes refs/phase-gate",
        f"it has {count(found, 'task')} of {address.project}",
    )


def _say(done: Initialised) -> Iterator[str]:
    yield "tables: made" if done.made_tables else "tables: there already"
    if done.role:
        members = f", and now also {', '.join(done.writers)}" if done.writers else ""
        yield f"role {done.role}: may read and add, never change or remove{members}"
    else:
        yield "no role: this user may not make one; ask the database's owner for users that may only SELECT and INSERT"
    yield from done.rights.said
