"""Call git for a bare repository of our own, and let it ask a server: with the user's settings and credentials.

No setting, hook or command of the user's project counts here: git is told which repository to take, and what stands in
that one's settings is written by us. Which server is asked is the caller's business; by which protocols is decided
here, so that no address runs a command.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

# By name: a test that puts another `subprocess.Popen` in its place must not be called here.
from subprocess import DEVNULL, Popen, TimeoutExpired

from phase_gate.storage.tree.git import GIT_SETTINGS, NO_HOOKS, NoGitError, find_git
from phase_gate.values import Value

#: Seconds that a server may take for one answer, and those that git may take for a look at its own files.
SERVER_LIMIT = LOCAL_LIMIT = 30.0
#: Bytes of an answer: more than the refs of a large server, or the objects of a long ledger.
_MAX_ANSWER = 1 << 30
_MAX_COMPLAINT = 1 << 16

#: What else the user's environment says of a connection. The rest of GIT_* may speak of another repository.
_CONNECTIONS = ("GIT_SSH", "GIT_ASKPASS", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_")
_PROTOCOLS = ("file", "ssh", "https")
#: As the names say. What git writes is read by us: in its own language.
_ENVIRONMENT = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
}
#: Whatever the user's settings say of their own repositories: nothing more is sent, fetched, signed or tidied up.
_SETTINGS = (
    *NO_HOOKS,
    *("-c", "core.fsmonitor=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "fetch.recurseSubmodules=false"),
    *("-c", "fetch.writeCommitGraph=false"),
    *("-c", "fetch.output=full"),
    *("-c", "push.recurseSubmodules=no"),
    *("-c", "push.followTags=false"),
    *("-c", "push.gpgSign=false"),
    *("-c", "push.useForceIfIncludes=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "protocol.version=2"),
)


class Answer(Value):
    """What git said."""

    #: 0 where it did what was asked; None where it took too long and was ended.
    status: int | None
    said: bytes
    #: For a reader's eyes only: nothing is decided by it.
    complaint: str
    #: The seconds that it had.
    limit: float = 0.0


def call_git(
    repository: Path,
    *words: str,
    environment: Mapping[str, str],
    protocols: Iterable[str] = (),
    given: bytes = b"",
    limit: float = LOCAL_LIMIT,
) -> Answer:
    """Call git for that bare repository. Raises NoGitError where it can't be started, or says more than it may.

    :param protocols: by which it may ask a server; none: it may not.
    """
    is_at_terminal = bool(protocols) and _is_at_terminal()
    command = [find_git(), *_SETTINGS, f"--git-dir={repository}", *words]
    variables = _variables(environment, protocols, is_at_terminal=is_at_terminal)
    with contextlib.ExitStack() as files:
        try:
            out, complaints, source = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            source.write(given)
            source.seek(0)
            process = Popen(
                command,
                cwd=repository,
                env=variables,
                stdin=source if given else DEVNULL,
                stdout=out,
                stderr=complaints,
                # A session of its own: ssh asks no question that no one sees, and all of it can be ended at once.
                start_new_session=not is_at_terminal,
            )
        except OSError as error:
            raise NoGitError(str(error)) from error
        try:
            # A user at a terminal may have to type a password.
            status: int | None = _wait(process, limit * 4 if is_at_terminal else limit)
        except BaseException as error:
            _end(process, whole=not is_at_terminal)
            if not isinstance(error, TimeoutExpired):
                raise
            status = None
        out.seek(0)
        complaints.seek(0)
        said = out.read(_MAX_ANSWER + 1)
        if len(said) > _MAX_ANSWER:
            raise NoGitError("git says more than it may")
        complaint = complaints.read(_MAX_COMPLAINT).decode("utf-8", "replace")
        return Answer(status=status, said=said, complaint=complaint, limit=limit)


def protocols_for(remote: str) -> tuple[str, ...]:
    """Return by which protocols a remote may be asked: http only on this machine, where no line can be tapped."""
    return (*_PROTOCOLS, "http") if _is_on_loopback(remote) else _PROTOCOLS


def _is_on_loopback(remote: str) -> bool:
    if not remote.startswith("http://"):
        return False
    host = remote.removeprefix("http://").partition("/")[0].rpartition("@")[2]
    name = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    parts = name.split(".")
    is_numeric = len(parts) == 4 and all(part.isdigit() for part in parts)
    return name in ("localhost", "::1") or (is_numeric and parts[0] == "127")


def _variables(environment: Mapping[str, str], protocols: Iterable[str], *, is_at_terminal: bool) -> dict[str, str]:
    kept = (*GIT_SETTINGS, *_CONNECTIONS)
    own = {name: value for name, value in environment.items() if not name.startswith("GIT_") or name.startswith(kept)}
    own |= _ENVIRONMENT
    own["GIT_ALLOW_PROTOCOL"] = ":".join(protocols) or "none"
    if not is_at_terminal:
        own["GIT_TERMINAL_PROMPT"] = "0"
    return own


def _is_at_terminal() -> bool:
    try:
        return os.isatty(0) and os.isatty(2) and sys.stdin is not None
    except (OSError, ValueError):
        return False


def _wait(process: Popen[bytes], limit: float) -> int:
    """Return a process's status as soon as it has ended: `Popen.wait` with a limit looks in growing intervals."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        return process.wait(limit)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(limit * 1000):
            raise TimeoutExpired(process.args, limit)
    finally:
        os.close(descriptor)
    return process.wait()


def _end(process: Popen[bytes], *, whole: bool) -> None:
    """End git, and what it has started."""
    with contextlib.suppress(OSError):
        if whole and hasattr(os, "killpg"):
            os.killpg(process.pid, 9)
        else:
            process.kill()
    with contextlib.suppress(OSError, TimeoutExpired):
        process.wait(10)
