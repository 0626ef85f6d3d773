"""`tox -e fast` starts with the words of tox.ini, and refuses a test that starts a process."""

from __future__ import annotations

import configparser
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

TESTS = """\
import os, subprocess, sys


def test_none():
    pass


def test_subprocess():
    subprocess.run([sys.executable, "-c", ""])


def test_system():
    os.system("true")


def test_fork():
    os.fork()
"""


def read_command() -> tuple[list[str], list[str]]:
    """Return the words before the arguments that a user may give, and those arguments."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    words, _, rest = tox["testenv:fast"]["commands"].partition("{posargs:")
    return shlex.split(words), rest.removesuffix("}").split()


def test_what_it_runs_is_there() -> None:
    _, paths = read_command()
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.processes
def test_a_test_that_starts_a_process_fails(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    (python, *words), _ = read_command()
    assert python == "python"
    at = words.index("-n")
    del words[at : at + 2]  # workers would only take longer to start
    # As tox calls it: nothing of this suite's surroundings helps to find the plugin.
    clean = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    command = [sys.executable, *words, "-rf", "-p", "no:cacheprovider", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=False)
    assert "3 failed, 1 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "test_fork starts a process (os.fork): mark it with `processes`" in ran.stdout
