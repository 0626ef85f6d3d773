"""The command without the plugin, or without pytest."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Begin


@pytest.mark.parametrize(
    ("missing", "command", "problem"),
    [
        pytest.param("plugin", "baseline", "the command is installed, the pytest plugin is not", id="no-plugin"),
        pytest.param("pytest", "baseline", "pytest is not installed in this command's environment", id="no-pytest"),
    ],
)
def test_the_command_alone_says_how_to_get_the_rest(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, missing: str, command: str, problem: str
) -> None:
    if missing == "plugin":
        monkeypatch.setattr("importlib.metadata.entry_points", lambda **wanted: ())
    else:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = begin("").gate(command)
    assert (said.code, said.err) == (2, f"phase-gate: {problem} [bad-usage]\n  try: pip install pytest-phase-gate\n")
