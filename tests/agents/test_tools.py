"""Which files a shell line names where it writes: a few forms, and nothing that only reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phase_gate.agents.tools import find_shell_paths


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        pytest.param("echo x > a.py", "a.py", id="redirection"),
        pytest.param("echo x>>a.py; ls", "a.py", id="appending"),
        pytest.param("cat <<EOF > 'a b.py'\nx\nEOF", "a b.py", id="quoted"),
        pytest.param("make | tee -a log.txt", "log.txt", id="tee"),
        pytest.param("sed -i 's|a|b|' a.py", "s|a|b| a.py", id="sed-in-place"),
        pytest.param("sed -E -i.bak s/a/b/ a.py", "s/a/b/ a.py", id="sed-with-a-backup"),
        pytest.param("rm -rf -- tests .phase-gate", "tests .phase-gate", id="remove"),
        pytest.param("true && rm a.py\nmv b.py c.py", "a.py b.py c.py", id="behind-others"),
        pytest.param("cp x.py a.py", "a.py", id="copy"),
        pytest.param("git checkout HEAD~1 -- a.py", "HEAD~1 a.py", id="checkout"),
        pytest.param("git restore a.py", "a.py", id="restore"),
        pytest.param("bash -lc rm a.py", "a.py", id="words-for-a-shell"),
        pytest.param("pytest tests/test_fare.py", "", id="running"),
        pytest.param("cat a.py | grep rm a.py", "", id="reading"),
        pytest.param("git diff a.py && git add a.py", "", id="git-that-looks"),
        pytest.param("git commit -m 'a > b; rm a.py'", "", id="a-text"),
        pytest.param("sed -n 1,3p a.py", "", id="sed-that-prints"),
        pytest.param("pytest 2>&1", "", id="a-stream"),
        pytest.param("docker run --rm a.py", "", id="an-option"),
        pytest.param("rm 'a.py", "", id="a-quote-that-is-never-closed"),
    ],
)
def test_shell_line(line: str, paths: str) -> None:
    assert " ".join(find_shell_paths(line)) == paths


@given(st.text(alphabet="rm >;|&'\"\\-c\ntee()", max_size=60))
def test_any_line_is_looked_at(line: str) -> None:
    assert not any(path.startswith("-") for path in find_shell_paths(line))
