"""Write the files of a sandbox. As a program, write them into a mounted overlay, then exec the command that runs in it.

It imports no other module of this project, because it runs before the tests and has to start fast.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
from collections.abc import Iterable, Mapping


def main() -> None:
    """Carry out the plan in the file named by the first argument, and exec the others. The plan is deleted then."""
    file, *command = sys.argv[1:]
    with open(file, "rb") as source:
        left_out, caches, contents = marshal.load(source)
    write_overlay(os.getcwd(), left_out, caches, contents)
    os.unlink(file)
    os.execvp(command[0], command)


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


if __name__ == "__main__":
    main()
