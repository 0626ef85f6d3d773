"""The suite does not care what lies above its temporary folder: another project, settings, what a run left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

#: A few tests of each kind, and those that failed before their projects were told apart from what lies above.
SAMPLE = (
    "tests/storage/test_root.py::test_without_any_mark_it_is_the_start",
    "tests/storage/test_root.py::test_a_package_or_a_state_folder_is_a_weak_sign",
    "tests/storage/test_untracked.py::test_without_git_it_is_everything",
    "tests/plugin/test_root.py::test_a_quiet_run_names_a_root_elsewhere",
    "tests/plugin/test_options.py::test_reports_by_suffix",
    "tests/plugin/test_options.py::test_a_run_that_does_not_count_is_reported_without_an_iteration",
    "tests/plugin/test_matrix.py::test_the_group_that_xdist_appends_to_an_id_is_taken_off",
    "tests/cli/test_check.py::test_what_it_says",
)


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
