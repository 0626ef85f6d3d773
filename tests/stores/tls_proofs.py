"""Stores behind TLS: what an authority of our own vouches for is used, and nothing else is.

Certificates are made by `openssl`; nothing leaves this machine.
"""

from __future__ import annotations

import os
import pwd
import shutil
import ssl
import subprocess
from pathlib import Path

from phase_gate.errors import StoreUnreachableError
from phase_gate.stores import choosing
from phase_gate.stores.shared import Head
from tests.stores import postgresql_proofs
from tests.stores.database import FAST, ORDINARY, Database
from tests.stores.http_git import serve
from tests.stores.kinds import make_bare
from tests.stores.proofs import Place, writers_at_once

_NAMES = "subjectAltName=IP:127.0.0.1,DNS:localhost"


class Authority:
    """An authority, and what it vouches for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.file = folder / "authority.pem"
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=an authority",
                      "-keyout", "authority.key", "-out", "authority.pem")  # fmt: skip

    def vouch(self, names: str = _NAMES) -> tuple[Path, Path]:
        """Return the certificate of a server on this machine, and its key."""
        (self.folder / "names").write_text(names, encoding="utf-8")
        self._openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=a server",
                      "-keyout", "server.key", "-out", "server.request")  # fmt: skip
        self._openssl("x509", "-req", "-days", "2", "-CA", "authority.pem", "-CAkey", "authority.key",
                      "-CAcreateserial", "-extfile", "names", "-in", "server.request",
                      "-out", "server.pem")  # fmt: skip
        return self.folder / "server.pem", self.folder / "server.key"

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)


def is_installed() -> bool:
    return shutil.which("openssl") is not None


def _is_refused(place: Place, folder: Path) -> bool:
    """Tell whether a store can't be asked, because of its certificate or because it does without TLS."""
    choosing._opened.clear()
    before = dict(os.environ)
    os.environ.update(place.environment)
    try:
        place.open(folder).read("default", Head())
    except StoreUnreachableError as error:
        return any(word in error.problem for word in ("certificate", "encryption"))
    finally:
        choosing._opened.clear()
        os.environ.clear()
        os.environ.update(before)
    return False


def git_by_https(folder: Path, *, writers: int, changes: int) -> str:
    """Machines that write to a git server by https, whose authority their users have named to git."""
    good, other = Authority(folder / "good"), Authority(folder / "other")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*good.vouch())
    make_bare(folder / "remote.git")
    with serve(folder, context) as address:
        store = f"git:{address}/remote.git#shop"
        for environment in ({}, {"GIT_SSL_CAINFO": str(other.file)}):
            assert _is_refused(Place(store, environment), folder / "refused")
        place = Place(store, {"GIT_SSL_CAINFO": str(good.file)})
        return f"{_write(place, folder, writers, changes)}; by another authority, or none: refused"


def postgresql_by_tls(folder: Path, *, writers: int, changes: int) -> str:
    """Machines that write to a database by TLS alone, with `sslmode=verify-full`."""
    good, other = Authority(folder / "good"), Authority(folder / "other")
    database = Database(options=FAST)
    try:
        certificate, key = (Path(shutil.copy(file, database.data)) for file in good.vouch())
        for file in (certificate, key):
            file.chmod(0o600)
            if os.geteuid() == 0:
                user = pwd.getpwnam(ORDINARY)
                os.chown(file, user.pw_uid, user.pw_gid)
        settings = (f"ssl_cert_file='{certificate.name}'", f"ssl_key_file='{key.name}'", "ssl=on")
        with (database.data / "postgresql.auto.conf").open("a", encoding="utf-8") as configuration:
            configuration.write("".join(f"{each}\n" for each in settings))
        rules = database.data / "pg_hba.conf"
        plain = rules.read_text(encoding="utf-8")
        with postgresql_proofs.serve(database) as places:
            # Not before: the tables are made by who may do all.
            rules.write_text(plain.replace("\nhost ", "\nhostssl "), encoding="utf-8")
            database.stop()
            database.start()
            base, password = places("tls"), {"PGPASSFILE": os.environ["PGPASSFILE"]}
            address, _, project = base.store.partition("#")

            def place(words: str) -> Place:
                return Place(f"{address}?{words}#{project}", password)

            refused = ("sslmode=disable", f"sslmode=verify-full&sslrootcert={other.file}")
            for words in refused:
                assert _is_refused(place(words), folder / "refused"), words
            verified = place(f"sslmode=verify-full&sslrootcert={good.file}")
            os.environ["PHASE_GATE_STORE"] = verified.store
            said = _write(verified, folder, writers, changes)
    finally:
        database.remove()
    return f"{said}; without TLS, or by another authority: refused"


def _write(place: Place, folder: Path, writers: int, changes: int) -> str:
    before = dict(os.environ)
    os.environ.update(place.environment, PHASE_GATE_STORE=place.store)
    try:
        return writers_at_once(place, folder, writers=writers, changes=changes)
    finally:
        choosing._opened.clear()
        os.environ.clear()
        os.environ.update(before)
