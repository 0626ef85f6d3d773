"""A separate program: create a sandbox at the project's own path, then exec the command that runs in it.

The sandbox is a mount namespace with an overlay over the project. Its files, and all files that the tests write, are
in memory and disappear with the last process in the namespace, however that process ends. For an ordinary user, the
program creates a user namespace for mounting, and a second one inside it, so that the tests have their own user id
and no capabilities.

It imports no other module of this project, because it runs before the tests and has to start fast.
"""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

#: Exit status if no sandbox could be created. The reason is on standard error.
NO_SANDBOX = 97

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_PRIVATE, _RECURSIVE, _DETACH = 1 << 18, 1 << 14, 2


def main() -> None:
    """Carry out the plan in the file named by the first argument."""
    with open(sys.argv[1], "rb") as source:
        plan: dict[str, Any] = marshal.load(source)
    os.unlink(sys.argv[1])
    try:
        _enter(plan["root"])
        write_overlay(plan["root"], plan["left_out"], plan["caches"], plan["contents"])
        os.chdir(plan["root"])
        if os.getuid() != plan["uid"]:
            _become(plan["uid"], plan["gid"])
    except (OSError, ValueError) as error:
        os.write(2, f"no sandbox: {error}\n".encode())
        os._exit(NO_SANDBOX)
    os.execv(plan["command"][0], plan["command"])


def write_overlay(root: str, left_out: Iterable[str], caches: Iterable[str], contents: Mapping[str, bytes]) -> None:
    """Write `contents` into the sandbox. Remove the files in `left_out` and the bytecode of the folders in `caches`."""
    for path in left_out:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(os.path.join(root, path))
    for folder in caches:
        _remove_files(os.path.join(root, folder, "__pycache__"))
    for path, data in contents.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        mode = None
        if os.path.lexists(full):
            mode = None if os.path.islink(full) else os.stat(full).st_mode & 0o777
            os.unlink(full)  # never write through a link
        with open(full, "xb") as file:
            file.write(data)
        if mode is not None:
            os.chmod(full, mode)


def _remove_files(folder: str) -> None:
    """Remove the files in a bytecode folder. Does not follow links."""
    if os.path.isdir(folder) and not os.path.islink(folder):
        for name in os.listdir(folder):
            with contextlib.suppress(IsADirectoryError):
                os.unlink(os.path.join(folder, name))


def _enter(root: str) -> None:
    """Mount an overlay over the root, in new namespaces."""
    uid, gid = os.getuid(), os.getgid()
    is_root = uid == 0
    _call("unshare", _NEW_MOUNTS if is_root else _NEW_MOUNTS | _NEW_USER)
    if not is_root:
        _map_ids(f"0 {uid} 1", f"0 {gid} 1")
    _mount("none", "/", None, _PRIVATE | _RECURSIVE, None)
    memory = tempfile.mkdtemp()
    try:
        _mount("tmpfs", memory, "tmpfs", 0, "mode=700")
        upper, work = os.path.join(memory, "upper"), os.path.join(memory, "work")
        os.mkdir(upper, 0o755)
        os.mkdir(work)
        options = f"lowerdir={_escape(root)},upperdir={_escape(upper)},workdir={_escape(work)}"
        _mount("overlay", root, "overlay", 0, options if is_root else f"{options},userxattr")
        _call("umount2", memory.encode(), _DETACH)
    finally:
        os.rmdir(memory)  # for all processes: the overlay keeps the content alive


def _escape(path: str) -> str:
    return path.replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")


def _become(uid: int, gid: int) -> None:
    """Restore the original user and group ids, without capabilities."""
    inner_uid, inner_gid = os.getuid(), os.getgid()
    _call("unshare", _NEW_USER)
    _map_ids(f"{uid} {inner_uid} 1", f"{gid} {inner_gid} 1")


def _map_ids(users: str, groups: str) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", users), ("gid_map", groups)):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None) -> None:
    _call(
        "mount",
        source.encode(),
        os.fsencode(target),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        None if options is None else os.fsencode(options),
    )


def _call(name: str, *arguments: Any) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
