"""What an executor claims, against the task."""

from __future__ import annotations

import pytest

from phase_gate.verification.claims import doubts, is_same_command


@pytest.mark.parametrize(
    ("claimed", "command", "same"),
    [
        pytest.param("pytest -q a.py", "pytest -q a.py", True, id="the-same"),
        pytest.param(" pytest  -q a.py\n", "pytest -q a.py", True, id="spaces"),
        pytest.param("pytest -k 'a or b'", 'pytest -k "a or b"', True, id="other-quotes"),
        pytest.param("`pytest a.py`", "pytest a.py", True, id="marks-of-code"),
        pytest.param("$ pytest a.py", "pytest a.py", True, id="a-prompt"),
        pytest.param("tsc && \\\n  npm test", "tsc && npm test", True, id="two-lines"),
        pytest.param("echo it's", "echo  it's", True, id="no-words-of-a-shell"),
        pytest.param("pytest", "pytest a.py", False, id="less-of-it"),
        pytest.param("pytest a.py || true", "pytest a.py", False, id="more-of-it"),
        pytest.param("pytest 'a b'", "pytest a b", False, id="quotes-that-matter"),
        pytest.param("npm test", "pytest a.py", False, id="another-one"),
        pytest.param("echo it's", "echo its", False, id="another-text"),
    ],
)
def test_which_commands_are_one(claimed: str, command: str, same: bool) -> None:
    assert is_same_command(claimed, command) is same


@pytest.mark.parametrize(
    ("status", "verification", "said"),
    [
        pytest.param("success", {"command": "pytest a", "exit_code": 0}, [], id="an-honest-claim"),
        pytest.param("success", {"command": "true", "exit_code": 0}, ["another command"], id="another-command"),
        pytest.param("success", {"command": "pytest a", "exit_code": 3}, ["claims exit code 3"], id="another-code"),
        pytest.param("success", {"command": "", "exit_code": -9}, ["another command", "code -9"], id="both"),
        pytest.param("failure", {"command": "pytest b", "exit_code": 1}, [], id="a-failure-claims-nothing"),
        pytest.param("failure", None, [], id="no-claim"),
    ],
)
def test_what_speaks_against_a_report(status: str, verification: object, said: list[str]) -> None:
    found = doubts({"status": status, "verification": verification}, "pytest a")
    assert len(found) == len(said)
    assert all(part in text for part, text in zip(said, found, strict=True))
