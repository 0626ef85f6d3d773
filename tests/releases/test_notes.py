"""What a release says of itself: the section of the change log, and what four files are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.releases.building import find_version
from tests.releases.notes import find_notes

TEXT = """\
# Changelog

## 1.11.0 (not released yet)

- A plan.

## 1.10.0 (2026-02-03)

### New

- A thing.

## 1.1.0 (2026-01-02)

- Another.
"""


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        pytest.param("v1.10.0", "### New\n\n- A thing.", id="up-to-the-next"),
        pytest.param("v1.11.0", "", id="without-its-date"),
        pytest.param("v1.1.0", "- Another.", id="the-last"),
        pytest.param("v1.1", "", id="not-there"),
        pytest.param("v1.1.0rc1", "", id="not-written-yet"),
    ],
)
def test_notes_of_a_tag(tag: str, expected: str) -> None:
    assert find_notes(TEXT, tag) == expected


def test_four_files_of_one_version(tmp_path: Path) -> None:
    names = [
        f"{name}-1.2.3{end}" for name in ("phase_gate", "pytest_phase_gate") for end in (".tar.gz", "-py3-none-any.whl")
    ]
    for name in names:
        (tmp_path / name).touch()
    assert find_version(tmp_path) == "1.2.3"
    (tmp_path / names[3]).rename(tmp_path / "pytest_phase_gate-1.2.4-py3-none-any.whl")
    with pytest.raises(SystemExit, match=r"1\.2\.4"):
        find_version(tmp_path)
