"""Run git. Every call of git goes through here.

A look runs no hook and no file monitor that a repository names, and asks no server: `run_git`. What the user told us to
do, as committing, is done with all of the repository's settings: `act_with_git`.

Where git can't answer there is one error for it, and the caller has another way. Nothing is decided here.
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterable
from pathlib import Path

from phase_gate.bound import os, time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import CompletedProcess

#: Longer than git takes on a cold disk with 100,000 files; a hanging network mount must not hang the run.
GIT_TIMEOUT = 10.0
NO_HOOKS = ("-c", f"core.hooksPath={os.devnull}")
#: Settings that would make git look less closely, or run something: they are set no matter what the repository says.
_LOOKS = (
    *("-c", "core.checkStat=default"),
    *("-c", "core.trustctime=true"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "submodule.recurse=false"),
    *("-c", "log.showSignature=false"),
    # `git diff` writes the index otherwise, which is work for a hook, and none of a look's business.
    *("-c", "diff.autoRefreshIndex=false"),
)
#: Settings that a person made. The rest of GIT_* comes from a hook that runs us, and speaks of its repository.
GIT_SETTINGS = ("GIT_CONFIG", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
#: As the names say; and no object is fetched, by whichever way a repository names: a look uses no network.
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
}
#: By number: the module `signal` makes enumerations of them first.
_SIGKILL, _SIGPIPE, _SIGXFSZ = 9, 13, 25


class NoGitError(Exception):
    """git is missing, refuses, hangs, or knows nothing of this folder."""


def run_git(folder: str, *arguments: str, given: bytes = b"") -> bytes:
    """Return what git writes when it looks at something in that folder.

    :param given: what git reads from its standard input.
    """
    return _look(folder, (*NO_HOOKS, *arguments), given)


def try_git(root: Path, *arguments: str) -> bytes | None:
    """Return what git writes; None if it can't answer."""
    try:
        return run_git(str(root), *arguments)
    except NoGitError:
        return None


def head_of(root: Path) -> str:
    """Return the commit that HEAD is; empty where there is none."""
    found = try_git(root, "rev-parse", "--verify", "-q", "HEAD")
    return "" if found is None else found.decode("ascii", "replace").strip()


def read_blobs(folder: Path, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
    """Return the contents that a commit has at these paths from the folder; none of what it does not have."""
    found: dict[str, bytes] = {}
    ordinary = []
    for path in paths:
        if not set(path) & {"\n", "\r"}:
            ordinary.append(path)  # git reads a name a line
        elif (alone := try_git(folder, "cat-file", "blob", f"{commit}:./{path}")) is not None:
            found[path] = alone
    if not ordinary:
        return found
    given = os.fsencode("".join(f"{commit}:./{path}\n" for path in ordinary))
    try:
        said = run_git(str(folder), "cat-file", "--batch", given=given)
    except NoGitError:
        return found
    begin = 0
    for path in ordinary:
        end = said.index(b"\n", begin)
        kind, _, size = said[begin:end].partition(b" ")[2].rpartition(b" ")
        begin = end + 1
        if not size.isdigit():
            continue  # it says what keeps it from showing it
        if kind == b"blob":
            found[path] = said[begin : begin + int(size)]
        begin += int(size) + 1
    return found


def act_with_git(
    folder: Path, *arguments: str, keep: tuple[str, ...] = (), limit: float | None = None
) -> CompletedProcess[bytes]:
    """Let git do something that the user asked for, with the hooks and filters of the repository.

    :param keep: beginnings of variables that git gets beside the settings that a person made.
    :param limit: seconds.
    """
    import subprocess

    try:
        return subprocess.run(
            [find_git(), "-C", str(folder), *arguments],
            env=_own_variables((*GIT_SETTINGS, *keep)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoGitError(str(error)) from error


def is_linked_worktree(folder: str) -> bool:
    """Say whether the folder is one more checkout of a repository whose `.git` lies elsewhere."""
    try:
        with open(os.path.join(folder, ".git"), encoding="utf-8", errors="replace") as file:
            parts = file.read(4096).strip().replace("\\", "/").split("/")
    except OSError:
        return False
    return len(parts) > 2 and parts[0].startswith("gitdir:") and parts[-2] == "worktrees"


def is_repository(folder: str) -> bool:
    """Tell whether a checkout is there. A link in its place is none: it may lead back to where we come from."""
    return os.path.lexists(os.path.join(folder, ".git")) and not os.path.islink(folder)


# --- looking


def _look(folder: str, words: tuple[str, ...], given: bytes = b"") -> bytes:
    if not _may_be_in_repository(os.path.realpath(folder)):
        raise NoGitError  # mostly: no process is started to hear it
    environment = {**_own_variables(GIT_SETTINGS), **_ENVIRONMENT}
    command = [find_git(), *_LOOKS, "-C", folder, *words]
    if not given and hasattr(os, "posix_spawnp"):
        return _read_output(command, environment)
    import subprocess

    try:
        return subprocess.run(
            command,
            env=environment,
            stdin=None if given else subprocess.DEVNULL,
            input=given or None,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=GIT_TIMEOUT,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise NoGitError from error


def _may_be_in_repository(folder: str) -> bool:
    above = os.path.dirname(folder)
    return os.path.lexists(os.path.join(folder, ".git")) or (above != folder and _may_be_in_repository(above))


def _read_output(command: list[str], environment: dict[str, str]) -> bytes:
    """Return what a command writes, without `subprocess`, whose import takes more than all that `check` does."""
    try:
        reading, writing = os.pipe()
    except OSError as error:
        raise NoGitError from error
    try:
        try:
            process = os.posix_spawnp(
                command[0],
                command,
                environment,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, writing, 1),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                # Python ignores them, and what is ignored is inherited.
                setsigdef=[_SIGPIPE, _SIGXFSZ],
            )
        except (OSError, ValueError) as error:
            raise NoGitError from error
        finally:
            os.close(writing)
        said = _read_until(reading, time.monotonic() + GIT_TIMEOUT)
        if said is None:
            with contextlib.suppress(OSError):
                os.kill(process, _SIGKILL)
        try:
            status = os.waitpid(process, 0)[1]
        except ChildProcessError:
            status = 0  # SIGCHLD is ignored here, and what git wrote is all that is known
    finally:
        os.close(reading)
    if said is None or status:
        raise NoGitError
    return said


def _read_until(descriptor: int, end: float) -> bytes | None:
    """Return what comes until the writer is done; None if that takes too long."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    parts: list[bytes] = []
    while poll.poll(max(0.0, end - time.monotonic()) * 1000):
        part = os.read(descriptor, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return None


def _own_variables(kept: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(kept)}


def find_git() -> str:
    """Return what to call: on Windows by its path, for a `git.exe` in the current folder comes first there."""
    if os.name != "nt":
        return "git"
    return find_program("git.exe", os.environ.get("PATH", ""))


def find_program(name: str, path: str) -> str:
    """Return the first program of that name in the folders of a search path; the bare name if there is none."""
    places = (os.path.join(folder, name) for folder in path.split(os.pathsep) if os.path.isabs(folder))
    return next(filter(os.path.isfile, places), name)
