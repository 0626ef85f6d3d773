"""Run git. Every call of git goes through this module.

`run_git` is for queries: it runs no hook or file monitor of the repository, and uses no network. `act_with_git` is for
actions that the user asked for, such as committing, with all settings of the repository.

If git can't answer, the error is always NoGitError.
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from phase_gate.bound import os, time
from phase_gate.errors import NotAllowedError

#: Longer than git needs for 100,000 files on a cold disk, so that a hanging network mount can't block the run.
GIT_TIMEOUT = 10.0
NO_HOOKS = ("-c", f"core.hooksPath={os.devnull}")
#: Overrides of settings that would make git miss changes or run a program.
_QUERY = (
    *NO_HOOKS,
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
    if not _may_be_in_repository(os.path.realpath(folder)):
        raise NoGitError  # without starting a process
    environment = {**_own_variables(GIT_SETTINGS), **_ENVIRONMENT}
    command = [find_git(), *_QUERY, "-C", folder, *arguments]
    if given or not hasattr(os, "posix_spawnp"):
        return _run(command, environment, given=given, limit=GIT_TIMEOUT)
    try:
        return _read_output(command, environment)
    except (OSError, ValueError) as error:
        raise NoGitError from error


def try_git(root: Path, *arguments: str) -> bytes | None:
    """Return the output of a query; None if git can't answer."""
    try:
        return run_git(str(root), *arguments)
    except NoGitError:
        return None


def head_of(root: Path) -> str:
    """Return the commit id of HEAD; empty without one."""
    return ask_git(root, "rev-parse", "--verify", "-q", "HEAD")


def read_blobs(folder: Path, commit: str, paths: Collection[str]) -> dict[str, bytes]:
    """Return path -> content in a commit, for paths from the folder. Missing files are left out."""
    odd = {path for path in paths if set(path) & {"\n", "\r"}}  # git reads one name per line
    alone = {path: try_git(folder, "cat-file", "blob", f"{commit}:./{path}") for path in odd}
    ordinary = [path for path in paths if path not in odd]
    given = os.fsencode("".join(f"{commit}:./{path}\n" for path in ordinary))
    try:
        found = read_batch(run_git(str(folder), "cat-file", "--batch", given=given) if ordinary else b"")
    except NoGitError:
        return {}
    contents = {path: data for path, (kind, data) in zip(ordinary, found, strict=True) if kind == b"blob"}
    return contents | {path: data for path, data in alone.items() if data is not None}


def read_batch(output: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the type and the content of each object that `cat-file --batch` printed; both empty for a missing one."""
    begin = 0
    while begin < len(output):
        end = output.index(b"\n", begin)
        kind, _, size = output[begin:end].partition(b" ")[2].rpartition(b" ")
        begin = end + 1
        if size.isdigit():
            yield kind, output[begin : begin + int(size)]
            begin += int(size) + 1
        else:
            yield b"", b""  # an error message


def act_with_git(
    folder: Path, *arguments: str, remedy: str, keep: tuple[str, ...] = (), limit: float | None = None
) -> str:
    """Run an action that the user asked for, with the repository's hooks and filters; return its output.

    Raises NotAllowedError, with this remedy and the last line of git's message, if it fails.

    :param keep: prefixes of GIT_* variables that are passed on in addition to GIT_SETTINGS.
    :param limit: seconds.
    """
    command = [find_git(), "-C", str(folder), *arguments]
    try:
        return os.fsdecode(_run(command, _own_variables((*GIT_SETTINGS, *keep)), limit=limit))
    except NoGitError as error:
        raise NotAllowedError(f"git {arguments[0]}: {error}", remedy=remedy) from None


def _run(command: list[str], environment: dict[str, str], *, given: bytes = b"", limit: float | None) -> bytes:
    import subprocess  # here: `check` starts git without it

    try:
        ran = subprocess.run(command, env=environment, input=given, capture_output=True, timeout=limit, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        errors = os.fsdecode(getattr(error, "stderr", None) or b"").strip().splitlines() or [str(error)]
        raise NoGitError(errors[-1]) from error
    return ran.stdout


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


# --- commits


def blobs_of(root: Path, commit: str) -> dict[str, str]:
    """Return path from the root -> blob id in a commit; empty if git does not have it."""
    listing = try_git(root, "ls-tree", "-r", "-z", commit)
    if listing is None:
        return {}
    blobs = {}
    for row in listing.split(b"\0"):
        information, _, path = row.partition(b"\t")
        words = information.split()
        if len(words) == 3 and words[1] == b"blob":
            blobs[path.decode("utf-8", "surrogateescape")] = words[2].decode("ascii")
    return blobs


def files_of_commit(root: Path, commit: str, now: Mapping[str, str]) -> dict[str, str]:
    """Return path -> content id of a commit's files, comparable with the tree's.

    git may store a file in another form than the work tree has: with other line endings, or encrypted.

    :param now: path -> content id, as in the tree.
    """
    found = blobs_of(root, commit)
    in_doubt = {path for path, blob in found.items() if now.get(path, blob) != blob}
    if in_doubt:
        listed = try_git(root, "diff", "--name-only", "-z", "--no-renames", "--relative", commit, "--", ".")
        if listed is not None:
            found.update((path, now[path]) for path in in_doubt - set(os.fsdecode(listed).split("\0")))
    return found


def find_commit(root: Path, revision: str) -> str:
    """Return the merge base of HEAD and a revision."""
    is_shallow = ask_git(root, "rev-parse", "--is-shallow-repository")
    if not is_shallow:
        raise NotAllowedError(f"{root} is not in a git repository", remedy="git init, and commit")
    named = ask_git(root, "rev-parse", "--verify", "-q", f"{revision}^{{commit}}")
    remote, _, branch = revision.partition("/")
    if not named:
        is_remote = bool(branch) and remote in ask_git(root, "remote").split()
        fix = f"git fetch {remote} {branch}:refs/remotes/{revision}" if is_remote else "git branch --all"
        raise NotAllowedError(f"git does not know the revision {revision!r}", remedy=fix)
    common = ask_git(root, "merge-base", named, "HEAD")
    if not common and is_shallow == "true":
        raise NotAllowedError(
            f"this clone is shallow: it does not contain the merge base with {revision}", remedy="git fetch --unshallow"
        )
    return common or named


def ask_git(root: Path, *arguments: str) -> str:
    """Return git's output as one line; empty if git fails."""
    output = try_git(root, *arguments)
    return "" if output is None else output.decode("utf-8", "replace").strip()


# --- uncommitted files


def list_dirty(folder: Path) -> list[str]:
    """Return the uncommitted files below a folder, by paths from there. Raises NoGitError."""
    options = ("--no-renames", "--ignore-submodules=none", "--untracked-files=all")
    output = run_git(str(folder), "status", "--porcelain", "-z", *options, "--", ".")
    # Paths are relative to the top of the repository, and the folder may be below it.
    is_top = os.path.lexists(folder / ".git")
    prefix = "" if is_top else os.fsdecode(run_git(str(folder), "rev-parse", "--show-prefix")).rstrip("\n")
    return [row[3:].removeprefix(prefix) for row in os.fsdecode(output).split("\0") if row]


# --- running a query


def _may_be_in_repository(folder: str) -> bool:
    above = os.path.dirname(folder)
    return os.path.lexists(os.path.join(folder, ".git")) or (above != folder and _may_be_in_repository(above))


def _read_output(command: list[str], environment: dict[str, str]) -> bytes:
    """Return the output of a command, without `subprocess`, whose import takes longer than the rest of `check`."""
    reading, writing = os.pipe()
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
