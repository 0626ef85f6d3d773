"""The pages of a release go to a branch of their own, beside those of older ones: a real remote, a quick builder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.processes

#: Stands for tox: one page in the folder of the version.
BUILDS = '#!/bin/sh\nmkdir -p "$5/$7" && echo "pages of $7" > "$5/$7/index.html"\n'


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(("git", "-C", str(folder), *words), capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    remote, folder = tmp_path / "remote.git", tmp_path / "checkout"
    subprocess.run(("git", "init", "-q", "--bare", str(remote)), check=True)
    subprocess.run(("git", "init", "-q", str(folder)), check=True)
    git(folder, "remote", "add", "origin", str(remote))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tox").write_text(BUILDS, encoding="utf-8")
    (tmp_path / "bin" / "tox").chmod(0o755)
    return folder


def publish(checkout: Path, tag: str) -> None:
    environment = {**os.environ, "PATH": f"{checkout.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run((str(ROOT / "scripts" / "publish.sh"), tag), cwd=checkout, env=environment, check=True)


def test_a_release_adds_its_pages_and_keeps_the_older_ones(checkout: Path) -> None:
    remote = checkout.parent / "remote.git"
    publish(checkout, "v1.0.0")
    publish(checkout, "v1.1.0")
    files = git(remote, "ls-tree", "-r", "--name-only", "gh-pages").split()
    assert files == [".nojekyll", "1.0.0/index.html", "1.1.0/index.html"]
    assert git(remote, "log", "--format=%s", "gh-pages").splitlines() == ["Pages of v1.1.0", "Pages of v1.0.0"]
    assert git(checkout, "status", "--porcelain") == ""
