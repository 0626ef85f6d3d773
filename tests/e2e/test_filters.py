"""Cycles in a repository with a filter of its own, as git-crypt installs it: honest work does not notice it."""

from __future__ import annotations

import os

import pytest

from tests.support import CALC, FAILING_TESTS, Project

OLD_TEST = "def test_old():\n    assert 1 + 1 == 2\n"


@pytest.fixture
def crypt(project: Project) -> Project:
    """All sources are kept in another form than they have here; what was committed is no Python."""
    project.write({".gitignore": "__pycache__\n.phase-gate\n", ".gitattributes": "*.py filter=crypt\n"})
    project.write({"tests/test_old.py": OLD_TEST})
    project.git("init", "-q")
    project.git("config", "filter.crypt.clean", "printf '\\0CRYPT'; tr a-y b-z")
    project.git("config", "filter.crypt.smudge", "tail -c +7 | tr b-z a-y")
    project.git("config", "filter.crypt.required", "true")
    project.commit_all()
    return project


def test_a_cycle_with_commits_and_checkouts_in_it(crypt: Project) -> None:
    main = crypt.git("branch", "--show-current").strip()
    crypt.write({"tests/test_calc.py": FAILING_TESTS})
    # The old test passes: it is known by its last commit, encrypted or not.
    assert crypt.run("--phase=red").code == 0
    crypt.commit_all()
    assert crypt.gate("signal", "--reason", "both fail").code == 0
    crypt.write({"tests/calc.py": CALC})
    assert crypt.run("--phase=green").code == 10, "once"
    crypt.commit_all()
    crypt.git("checkout", "-q", "HEAD~1")
    crypt.git("checkout", "-q", main)
    os.utime(crypt.root / "tests/calc.py", (1, 1))
    assert crypt.gate("check", "--gate1").code == 10
    assert crypt.run("--phase=green").code == 0, "twice, on the same sources"
    crypt.git("status")
    assert crypt.gate("check", "--gate1").code == 0
    assert crypt.gate("signal", "--reason", "both pass, twice").code == 0
    crypt.write({"tests/calc.py": f"{CALC}# more\n"})
    assert crypt.gate("check").has("files have changed")
