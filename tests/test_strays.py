"""The suite does not care what lies above its temporary folder: another project, settings, what a run left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

#: Tests of each kind, and those that failed before their projects were told apart from what lies above.
SAMPLE = ("tests/storage/test_root.py", "tests/e2e/test_root.py", "tests/cli/test_check.py")


@pytest.mark.sweep
@pytest.mark.usefixtures("quality_extra")
def test_what_lies_above_the_temporary_folder(tmp_path: Path) -> None:
    (tmp_path / ".phase-gate").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    # With a worker: it has a folder of its own, and shares others with its like.
    command = [sys.executable, "-m", "pytest", "-q", "-n1", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'base'}"]
    # The suite's own plugins are loaded, as where somebody types it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
    done = subprocess.run(
        [*command, *SAMPLE], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
