"""The plugin of `tox -e fast` keeps its promise."""

from __future__ import annotations

import os

from tests.conftest import ROOT
from tests.support import Sample


def test_a_test_that_starts_a_process_fails(sample: Sample) -> None:
    sample.write(
        test_it="import os, subprocess, sys\n\n\n"
        "def test_none():\n    pass\n\n\n"
        "def test_subprocess():\n    subprocess.run([sys.executable, '-c', ''])\n\n\n"
        "def test_system():\n    os.system('true')\n\n\n"
        "def test_fork():\n    os.fork()\n"
    )
    path = os.pathsep.join((str(ROOT), os.environ["PYTHONPATH"]))
    ran = sample.pytest_process("-p", "tests.fast", "-rf", PYTHONPATH=path)
    assert ran.has("1 passed", "3 failed", "test_it.py::test_fork starts a process (os.fork): mark it with `processes`")
