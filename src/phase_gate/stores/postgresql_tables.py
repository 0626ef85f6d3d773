"""The tables of a store in PostgreSQL: append-only, each line bound to the one before it; and who may do what.

The database itself keeps the order: a line's number is a primary key, and a foreign key asks that the line before it
is there with the hash that this one follows. So no writer can leave a gap, fork a ledger or put a line in between.
"""

from __future__ import annotations

from collections.abc import Iterable

from phase_gate.storage.ledger import GENESIS
from phase_gate.stores.postgresql_session import Refused, Session
from phase_gate.values import Value

#: A role that others are made members of: it may read and add, and nothing else.
WRITER = "phase_gate_writer"

_SCHEMA = f"""
CREATE SCHEMA IF NOT EXISTS phase_gate;

CREATE TABLE IF NOT EXISTS phase_gate.lines (
  project text NOT NULL,
  task text NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  prev text NOT NULL,
  hash text NOT NULL CHECK (length(hash) = 64),
  content bytea NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  before bigint GENERATED ALWAYS AS (nullif(seq - 1, 0)) STORED,
  PRIMARY KEY (project, task, seq),
  UNIQUE (project, task, seq, hash),
  CHECK (seq > 1 OR prev = '{GENESIS}'),
  FOREIGN KEY (project, task, before, prev) REFERENCES phase_gate.lines (project, task, seq, hash)
);
CREATE INDEX IF NOT EXISTS lines_first ON phase_gate.lines (project, task) WHERE seq = 1;

CREATE TABLE IF NOT EXISTS phase_gate.objects (
  project text NOT NULL,
  task text NOT NULL,
  digest text NOT NULL CHECK (length(digest) = 64),
  seq bigint NOT NULL,
  content bytea NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (project, task, digest),
  FOREIGN KEY (project, task, seq) REFERENCES phase_gate.lines (project, task, seq)
);
CREATE INDEX IF NOT EXISTS objects_brought ON phase_gate.objects (project, task, seq);

CREATE OR REPLACE FUNCTION phase_gate.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'phase_gate.% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON phase_gate.lines
  FOR EACH STATEMENT EXECUTE FUNCTION phase_gate.refuse_change();
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON phase_gate.objects
  FOR EACH STATEMENT EXECUTE FUNCTION phase_gate.refuse_change();

REVOKE ALL ON SCHEMA phase_gate FROM PUBLIC;
REVOKE ALL ON phase_gate.lines, phase_gate.objects FROM PUBLIC;
"""

#: By columns: the server's clock says when, not the writer's.
_GRANTS = f"""
GRANT USAGE ON SCHEMA phase_gate TO {WRITER};
GRANT SELECT ON phase_gate.lines, phase_gate.objects TO {WRITER};
GRANT INSERT (project, task, seq, prev, hash, content) ON phase_gate.lines TO {WRITER};
GRANT INSERT (project, task, digest, seq, content) ON phase_gate.objects TO {WRITER};
"""

#: An order for those who run it at once: CREATE ... IF NOT EXISTS may still clash.
_IN_TURN = "SELECT pg_advisory_xact_lock(8100411650013);"

_FIND_ROLE = "SELECT 1 FROM pg_roles WHERE rolname = $1"

_RIGHTS = """
SELECT current_user, exists (SELECT 1 FROM pg_namespace WHERE nspname = 'phase_gate'),
  current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on',
  to_regclass('phase_gate.lines') IS NOT NULL AND to_regclass('phase_gate.objects') IS NOT NULL
"""

_TABLE_RIGHTS = """
SELECT bool_and(has_any_column_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'SELECT')),
  bool_or(has_table_privilege(oid, 'UPDATE') OR has_table_privilege(oid, 'DELETE')
    OR has_table_privilege(oid, 'TRUNCATE') OR has_table_privilege(oid, 'TRIGGER')
    OR pg_has_role(relowner, 'MEMBER'))
FROM pg_class WHERE oid IN ('phase_gate.lines'::regclass, 'phase_gate.objects'::regclass)
"""


class StoreRights(Value):
    """What the user that connects may do in a store."""

    user: str
    has_tables: bool = False
    may_write: bool = False
    #: It owns the tables, or is a superuser, or was given more than it needs: history is not safe from it.
    may_rewrite: bool = False
    #: What is acknowledged survives the death of the server's machine.
    is_durable: bool = True

    @property
    def said(self) -> tuple[str, ...]:
        """Return what a user should know, a line each."""
        if not self.has_tables:
            return ("it has no tables yet: phase-gate store init",)
        rows = []
        if not self.may_write:
            rows.append(f"{self.user} may not add to it: GRANT {WRITER} TO {quote_name(self.user)}")
        elif self.may_rewrite:
            rows.append(f"{self.user} may rewrite its history: write as a user that is only a member of {WRITER}")
        else:
            rows.append(f"{self.user} may read and add, and change nothing that is there")
        if not self.is_durable:
            rows.append("its server does not wait for its disk (fsync, full_page_writes): a crash may lose lines")
        return tuple(rows)


class Initialised(Value):
    """What `store init` has done in a database."""

    #: False: they were there.
    made_tables: bool
    #: The role to give to those who write; empty where this user may not make roles.
    role: str
    #: Who was made a member of it now.
    writers: tuple[str, ...]
    #: Of the user that connected.
    rights: StoreRights


def read_rights(session: Session) -> StoreRights:
    user, has_schema, is_durable, has_tables = session.ask(_RIGHTS)[0]
    found = StoreRights(user=user, is_durable=is_durable)
    if not (has_schema and has_tables):
        return found
    may_write, may_rewrite = session.ask(_TABLE_RIGHTS)[0]
    return StoreRights(
        user=found.user,
        has_tables=True,
        may_write=bool(may_write),
        may_rewrite=bool(may_rewrite),
        is_durable=found.is_durable,
    )


def make_tables(session: Session, writers: Iterable[str]) -> Initialised:
    """Make what is missing, in one transaction. Raises Refused, Lost."""
    before = read_rights(session)
    script = _IN_TURN + _SCHEMA
    role = WRITER if session.ask(_FIND_ROLE, WRITER) else _make_role(session)
    if role:
        script += _GRANTS
    writers = tuple(writers) if role else ()
    for name in writers:
        script += f"GRANT {WRITER} TO {quote_name(name)};\n"
    session.run(script)
    return Initialised(made_tables=not before.has_tables, role=role, writers=writers, rights=read_rights(session))


def quote_name(name: str) -> str:
    """Return a name as SQL writes one that may hold anything."""
    return '"' + name.replace('"', '""') + '"'


def _make_role(session: Session) -> str:
    try:
        session.ask(f"CREATE ROLE {WRITER} NOLOGIN")
    except Refused as error:
        if error.code in ("42710", "23505"):  # another `init` was faster
            return WRITER
        if error.code == "42501":  # may not make roles: tables without it are a store too
            return ""
        raise
    return WRITER
