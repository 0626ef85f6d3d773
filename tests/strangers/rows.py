"""The surroundings: what is set, what is missing, what lies above the temporary folder, who runs it."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from phase_gate.values import Value, field

#: Processes that do nothing but take time.
BUSY = 8


class UnfitError(Exception):
    """These surroundings can't be had here."""


class Row(Value):
    """Surroundings in which somebody runs the suite."""

    name: str
    #: Variables that are set.
    sets: Mapping[str, str] = field(default_factory=dict)
    #: The beginnings of the names of variables that are not.
    drops: tuple[str, ...] = ()
    #: Prepares a folder that will lie above the temporary one.
    prepare: Callable[[Path], None] | None = None
    #: Who runs it; nobody in particular if empty.
    user: str = ""
    is_busy: bool = False


def _stray_project(folder: Path) -> None:
    (folder / ".phase-gate").mkdir()
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n", encoding="utf-8")
    (folder / "phase-gate.yaml").write_text("workflow: no-such-workflow\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)


ROWS = (
    Row(name="as it is"),
    Row(name="8 busy processes beside it", is_busy=True),
    Row(name="PYTHONUNBUFFERED=1", sets={"PYTHONUNBUFFERED": "1"}),
    Row(name="PYTHONDONTWRITEBYTECODE=1", sets={"PYTHONDONTWRITEBYTECODE": "1"}),
    Row(name="CI=true", sets={"CI": "true", "GITHUB_ACTIONS": "true"}),
    Row(name="NO_COLOR", sets={"NO_COLOR": "1"}),
    Row(name="FORCE_COLOR", sets={"FORCE_COLOR": "1"}),
    Row(name="COLUMNS=40", sets={"COLUMNS": "40", "LINES": "10"}),
    Row(name="LC_ALL=C", sets={"LC_ALL": "C"}, drops=("LANG",)),
    Row(name="no locale", drops=("LANG", "LC_")),
    Row(
        name="git without a user",
        sets={"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        drops=("GIT_AUTHOR_", "GIT_COMMITTER_", "EMAIL", "XDG_CONFIG_HOME"),
    ),
    Row(name="another project above", prepare=_stray_project),
    Row(name="as root", user="root"),
    Row(name="as an ordinary user", user="nobody"),
)


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep that many processes busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def identity(row: Row, folder: Path, root: Path) -> dict[str, object]:
    """Return what `subprocess` needs to become the row's user, to whom the folder is given."""
    if not row.user or pwd.getpwuid(os.getuid()).pw_name == row.user:
        return {}
    if os.getuid() != 0:
        raise UnfitError(f"only root can become {row.user}")
    person = pwd.getpwnam(row.user)
    who = {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []}
    for path in (Path(sys.executable), root / "tox.ini", Path(os.__file__)):
        done = subprocess.run(["test", "-r", path], **who, check=False)  # type: ignore[call-overload]
        if done.returncode != 0:
            raise UnfitError(f"{row.user} can't read {path}: put checkout and environment elsewhere")
    shutil.chown(folder, person.pw_uid, person.pw_gid)
    return dict(who)
