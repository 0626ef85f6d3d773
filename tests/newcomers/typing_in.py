"""Let one newcomer type, in a shell, a folder and a home of its own."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from phase_gate.values import replace
from tests.newcomers.model import Newcomer, Went

#: Seconds that one newcomer may take.
LIMIT = 900
#: Settings of the machine that say where packages come from. All others are left out.
_KEPT = ("SIMPLE", "PIP_", "UV_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy")
#: What each command prints, how it ended and how long it took are kept; the first that fails is the last.
_SHELL = """\
type_in() {
  echo "$2" > "$LOG/$1.typed"
  local begun=$EPOCHREALTIME
  eval "$2" > "$LOG/$1.out" 2>&1
  local code=$?
  echo "$code $begun $EPOCHREALTIME" > "$LOG/$1.ended"
  return $code
}
"""


def environment(home: Path, index: str, tools: Path | None) -> dict[str, str]:
    """Return what a newcomer's shell has: the way to packages, and nothing of this machine's own."""
    own = home / "bin"
    own.mkdir(parents=True)
    own.joinpath("python3").symlink_to(getattr(sys, "_base_executable", sys.executable))
    kept = {name: value for name, value in os.environ.items() if name.startswith(_KEPT)}
    settings = Path.home() / ".config" / "pip" / "pip.conf"
    if settings.exists():
        kept.setdefault("PIP_CONFIG_FILE", str(settings))
    wheels = (f"{index}{name}/" for name in ("phase-gate", "pytest-phase-gate"))
    first = [str(tools / "bin")] if tools else []
    return {
        **kept,
        "HOME": str(home),
        "PATH": os.pathsep.join((*first, str(home / ".local" / "bin"), str(own), "/usr/bin", "/bin")),
        "LANG": "C.UTF-8",
        "COLUMNS": "80",
        "INDEX": index,
        "PIP_FIND_LINKS": " ".join((kept.get("PIP_FIND_LINKS", ""), *wheels)),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        "UV_INDEX": index,
        "UV_PYTHON": str(own / "python3"),
        "POETRY_VIRTUALENVS_IN_PROJECT": "true",
        "GIT_AUTHOR_NAME": "dev",
        "GIT_AUTHOR_EMAIL": "dev@example.org",
        "GIT_COMMITTER_NAME": "dev",
        "GIT_COMMITTER_EMAIL": "dev@example.org",
    }


def install_tools(folder: Path, tools: tuple[str, ...]) -> str:
    """Make an environment with the tools; return why that is not possible here, or nothing."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    command = [str(folder / "bin" / "pip"), "install", "--quiet", *tools]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def begin(newcomer: Newcomer, folder: Path, index: str, fresh_root: Path | None) -> Went:
    """Let the newcomer type everything, and return how it went.

    :param fresh_root: a Debian with python3-venv, made by debootstrap.
    """
    if newcomer.in_fresh_root and fresh_root is None:
        missing = "name a folder made by debootstrap with --fresh-root"
        return Went(newcomer=newcomer.name, commands=len(newcomer.typed), missing=missing)
    place, log, tools = folder / "project", folder / "log", folder / "tools"
    place.mkdir(parents=True)
    log.mkdir()
    for name, text in newcomer.files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    missing = install_tools(tools, newcomer.tools) if newcomer.tools else ""
    went = Went(newcomer=newcomer.name, commands=len(newcomer.typed), missing=missing)
    if missing:
        return went
    typed = [*newcomer.before, *newcomer.typed]
    steps = [f"type_in {number} {shlex.quote(text)} || exit" for number, text in enumerate(typed)]
    shell = environment(folder / "home", index, tools if newcomer.tools else None)
    lines = _SHELL + "\n".join(steps)
    if newcomer.in_fresh_root:
        assert fresh_root is not None
        _type_in_root(lines, shell, folder, fresh_root)
    else:
        _type(["bash", "-c", lines], {**shell, "LOG": str(log)}, place)
    return _judge(went, newcomer, log, len(typed))


def _type(command: list[str], shell: dict[str, str], place: Path) -> None:
    subprocess.run(command, cwd=place, env=shell, stdin=subprocess.DEVNULL, check=False, timeout=LIMIT)


def _type_in_root(lines: str, shell: dict[str, str], folder: Path, root: Path) -> None:
    """Type in a folder of the fresh root, with its own Python; only the way to packages is this machine's."""
    there = {**shell, "HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/bin", "LOG": "/newcomer/log"}
    there.pop("PIP_CONFIG_FILE", None)
    for name in ("project", "log"):
        shutil.copytree(folder / name, root / "newcomer" / name)
    for name in ("/etc/ssl/certs/ca-certificates.crt", "/etc/resolv.conf", "/etc/hosts"):
        shutil.copy(name, root / name[1:])
    try:
        _type(["chroot", str(root), "bash", "-c", f"cd /newcomer/project\n{lines}"], there, folder)
        shutil.copytree(root / "newcomer" / "log", folder / "log", dirs_exist_ok=True)
    finally:
        shutil.rmtree(root / "newcomer")


def _judge(went: Went, newcomer: Newcomer, log: Path, steps: int) -> Went:
    ended = [(log / f"{number}.ended").read_text().split() for number in range(len(list(log.glob("*.ended"))))]
    if not ended:
        return replace(went, problem="no-verdict: the shell was left")
    last = len(ended) - 1
    output = (log / f"{last}.out").read_text(encoding="utf-8", errors="replace")
    typed = (log / f"{last}.typed").read_text(encoding="utf-8").strip()
    code = int(ended[-1][0])
    if len(ended) < steps:
        problem = f"`{typed}` ended with {code}: {' '.join(output.split()[-120:])}"
    elif code not in newcomer.codes or not all(each in output for each in newcomer.expects):
        problem = f"`{typed}` ended with {code}, and shows no verdict: {' '.join(output.split()[-120:])}"
    else:
        problem = ""
    first = ended[len(newcomer.before)] if len(ended) > len(newcomer.before) else ended[-1]
    return replace(
        went,
        seconds=float(ended[-1][2]) - float(first[1]),
        verdict_seconds=float(ended[-1][2]) - float(ended[-1][1]),
        problem=problem,
    )
