"""Run pytest in this process where a test forks, and keep its children out of the outer session."""

from __future__ import annotations

import json
import os
from os import _exit, getpid  # bound here: the tests below leave them patched
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support import Project, Ran

#: What a forked child that came through the whole inner session leaves for whoever looks.
SEEN = "child.json"

#: A test, and the code under test: `{child}` is what the child does, `{parent}` what the parent does after it.
TEST = "from work import work\n\n\ndef test_before():\n    pass\n\n\ndef test_work():\n    assert work() == 1\n"
WORK = """\
import os
import sys
{head}

def work():
    child = os.fork()
    if child == 0:
        {child}
        return 1
    os.waitpid(child, 0)
    return {parent}
"""


def run(project: Project, *arguments: str, plugins: tuple[str, ...] = ()) -> Ran:
    """Run pytest; a child that comes out of the session ends here."""
    here = getpid()
    try:
        ran = project.run(*arguments, plugins=plugins)
        if getpid() != here:
            told = {"code": ran.code, "out": ran.out, "environment": sorted(os.environ)}
            Path(project.root, SEEN).write_text(json.dumps(told), encoding="utf-8")
    finally:
        if getpid() != here:
            _exit(0)
        mock.patch.stopall()
    return ran


def child_of(project: Project) -> dict[str, Any]:
    """Return what the child saw that came through the session."""
    told: dict[str, Any] = json.loads((project.root / SEEN).read_text(encoding="utf-8"))
    return told
