"""What files say to pytest about the names of its tests."""

from __future__ import annotations

import pytest

from phase_gate.source.pytest_settings import file_patterns, matches


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("pytest.ini", "[pytest]\npython_files = check_*.py\n  *_spec.py\n", ("check_*.py", "*_spec.py")),
        ("setup.cfg", "[tool:pytest]\npython_files = check_*.py\n", ("check_*.py",)),
        ("tox.ini", "[tox]\nenvlist = py\n", ()),
        ("pyproject.toml", '[tool.pytest.ini_options]\npython_files = "check_*.py"\n', ("check_*.py",)),
        ("pyproject.toml", '[tool.pytest]\npython_files = ["check_*.py"]\n', ("check_*.py",)),
        ("pytest.toml", '[pytest]\npython_files = ["check_*.py"]\n', ("check_*.py",)),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-q'\n", ()),
        ("pyproject.toml", "[tool", ()),
        ("pytest.toml", "[pytest]\npython_files = 5\n", ()),
        ("pytest.ini", "nothing", ()),
    ],
)
def test_file_patterns(path: str, text: str, expected: tuple[str, ...]) -> None:
    assert file_patterns(path, text) == expected


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("a/check_x.py", "check_*.py", True),
        ("a/x.py", "check_*.py", False),
        ("a/x.py", "a/*.py", True),
        ("b/x.py", "a/*.py", False),
        ("b/a/x.py", "a/*.py", True),
        ("ba/x.py", "a/*.py", False),
    ],
)
def test_matches(path: str, pattern: str, *, expected: bool) -> None:
    assert matches(path, (pattern,)) is expected
