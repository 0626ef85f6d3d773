"""Run git. Every call of git goes through this module.

`run_git` is for queries: it runs no hook or file monitor of the repository, and uses no network. `act_with_git` is for
actions that the user asked for, such as committing, with all settings of the repository.

If git can't answer, the error is always NoGitError.
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

#: Longer than git needs for 100,000 files on a cold disk, so that a hanging network mount can't block the run.
GIT_TIMEOUT = 10.0
NO_HOOKS = ("-c", f"core.hooksPath={os.devnull}")
#: Overrides of settings that would make git miss changes or run a program.
_QUERY = (
    *("-c", "core.checkStat=default"),
    *("-c", "core.trustctime=true"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "submodule.recurse=false"),
    *("-c", "log.showSignature=false"),
    # Otherwise `git diff` writes the index, which can trigger a hook.
    *("-c", "diff.autoRefreshIndex=false"),
)
#: Settings that a user makes. Other GIT_* variables come from a git hook that runs us, and are about its repository.
GIT_SETTINGS = ("GIT_CONFIG", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
#: No lock, no prompt, and no protocol to fetch objects with: a query uses no network.
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
}
#: Numbers, because importing `signal` builds enumerations.
_SIGKILL, _SIGPIPE, _SIGXFSZ = 9, 13, 25


class NoGitError(Exception):
    """git is missing, fails or hangs, or the folder is not in a repository."""


def run_git(folder: str, *arguments: str, given: bytes = b"") -> bytes:
    """Return the output of a query. Raises NoGitError.

    :param given: the standard input.
    """
    return _query(folder, (*NO_HOOKS, *arguments), given)


def try_git(root: Path, *arguments: str) -> bytes | None:
    """Return the output of a query; None if git can't answer."""
    try:
        return run_git(str(root), *arguments)
    except NoGitError:
        return None


def head_of(root: Path) -> str:
    """Return the commit id of HEAD; empty without one."""
    found = try_git(root, "rev-parse", "--verify", "-q", "HEAD")
    return "" if found is None else found.decode("ascii", "replace").strip()


def read_blobs(folder: Path, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
    """Return path -> content in a commit, for paths from the folder. Missing files are left out."""
    found: dict[str, bytes] = {}
    ordinary = []
    for path in paths:
        if not set(path) & {"\n", "\r"}:
            ordinary.append(path)  # git reads one name per line
        elif (alone := try_git(folder, "cat-file", "blob", f"{commit}:./{path}")) is not None:
            found[path] = alone
    if not ordinary:
        return found
    given = os.fsencode("".join(f"{commit}:./{path}\n" for path in ordinary))
    try:
        output = run_git(str(folder), "cat-file", "--batch", given=given)
    except NoGitError:
        return found
    begin = 0
    for path in ordinary:
        end = output.index(b"\n", begin)
        kind, _, size = output[begin:end].partition(b" ")[2].rpartition(b" ")
        begin = end + 1
        if not size.isdigit():
            continue  # an error message
        if kind == b"blob":
            found[path] = output[begin : begin + int(size)]
        begin += int(size) + 1
    return found


def act_with_git(
    folder: Path, *arguments: str, keep: tuple[str, ...] = (), limit: float | None = None
) -> CompletedProcess[bytes]:
    """Run an action that the user asked for, with the repository's hooks and filters. Raises NoGitError.

    :param keep: prefixes of GIT_* variables that are passed on in addition to GIT_SETTINGS.
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
    """Return whether the folder is a linked worktree, whose repository is elsewhere."""
    try:
        with open(os.path.join(folder, ".git"), encoding="utf-8", errors="replace") as file:
            parts = file.read(4096).strip().replace("\\", "/").split("/")
    except OSError:
        return False
    return len(parts) > 2 and parts[0].startswith("gitdir:") and parts[-2] == "worktrees"


def is_repository(folder: str) -> bool:
    """Return whether the folder is a checkout. A link is not, because it may form a cycle."""
    return os.path.lexists(os.path.join(folder, ".git")) and not os.path.islink(folder)


# --- queries


def _query(folder: str, words: tuple[str, ...], given: bytes = b"") -> bytes:
    if not _may_be_in_repository(os.path.realpath(folder)):
        raise NoGitError  # without starting a process
    environment = {**_own_variables(GIT_SETTINGS), **_ENVIRONMENT}
    command = [find_git(), *_QUERY, "-C", folder, *words]
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
    """Return the output of a command, without `subprocess`, whose import takes longer than the rest of `check`."""
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
                # Python ignores these signals, and a child would inherit that.
                setsigdef=[_SIGPIPE, _SIGXFSZ],
            )
        except (OSError, ValueError) as error:
            raise NoGitError from error
        finally:
            os.close(writing)
        output = _read_until(reading, time.monotonic() + GIT_TIMEOUT)
        if output is None:
            with contextlib.suppress(OSError):
                os.kill(process, _SIGKILL)
        try:
            status = os.waitpid(process, 0)[1]
        except ChildProcessError:
            status = 0  # SIGCHLD is ignored, so the exit status is unknown
    finally:
        os.close(reading)
    if output is None or status:
        raise NoGitError
    return output


def _read_until(descriptor: int, end: float) -> bytes | None:
    """Read until the writer closes the pipe; None after a timeout."""
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
    """Return the program to start. On Windows a full path, so that no `git.exe` in the current folder is run."""
    if os.name != "nt":
        return "git"
    return find_program("git.exe", os.environ.get("PATH", ""))


def find_program(name: str, path: str) -> str:
    """Return the first program of that name in a search path; otherwise the bare name."""
    places = (os.path.join(folder, name) for folder in path.split(os.pathsep) if os.path.isabs(folder))
    return next(filter(os.path.isfile, places), name)
