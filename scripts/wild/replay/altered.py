"""Let the tests of a commit expect something else: which of those that their authors meant honestly still pass?

Only the test files that the commit changes, and only the fourth experiment: two runs of pytest for each commit.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from scripts.wild.phases import Runner
from scripts.wild.preparing import Linked
from scripts.wild.projects import Project
from scripts.wild.replay.history import Clone, Commit
from scripts.wild.replay.step import lay_made
from scripts.wild.table import render_table

#: Around the table in its page.
MARKS = ("<!-- wild altered: begin -->", "<!-- wild altered: end -->")
#: Seconds for one commit.
_LONGEST = 240
_HEAD = ("project", "commits", "tests that pass", "had something to alter", "still pass", "never run", "not tried")
_FOUND = ("project", "commit", "what was said")


@dataclass(frozen=True, slots=True, kw_only=True)
class Altered:
    """What the test files of one commit showed."""

    project: str
    commit: str
    passing: int = 0
    altered: int = 0
    findings: Sequence[Mapping[str, Any]] = ()
    #: Why it says nothing; empty if it does.
    left_out: str = ""

    def count(self, shown: str) -> int:
        return sum(each["shown"] == shown for each in self.findings)


def alter(project: Project, commit: Commit, clone: Clone, linked: Linked, place: Path) -> Altered:
    """Lay all of the commit, and let the tests in its files expect something else."""
    # What pytest is told reaches the sandboxes by the environment: the command has only paths.
    told = {"PYTEST_ADDOPTS": shlex.join(project.arguments)} if project.arguments else {}
    tools = replace(linked.tools, environment={**linked.tools.environment, **told})
    runner = Runner(tools=tools, folder=clone.folder, arguments=(), place=place)
    clone.lay_parent(commit)
    lay_made(clone, linked)
    clone.lay(commit, commit.files)
    files = [name for name, is_there in commit.tests if is_there and _holds_tests(PurePosixPath(name))]
    result = Altered(project=project.name, commit=commit.name[:10])
    try:
        said = runner.call(*tools.gate, "prove", "--suite", *files, "--json", timeout=_LONGEST)
        found = json.loads(said.output)
    except subprocess.TimeoutExpired:
        return replace(result, left_out=f"more than {_LONGEST} s")
    except ValueError:
        return replace(result, left_out=said.output.strip()[-200:] or "nothing was said")
    return replace(
        result,
        passing=found["passing"],
        altered=found["altered"],
        findings=found["findings"],
        left_out=found["problem"],
    )


def _holds_tests(path: PurePosixPath) -> bool:
    return path.suffix == ".py" and (path.name.startswith("test") or path.stem.endswith("_test"))


def read_altered(path: Path) -> list[Altered]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Altered(**json.loads(line)) for line in lines]


def write_altered(path: Path, found: Iterable[Altered]) -> None:
    path.write_text("".join(json.dumps(asdict(each)) + "\n" for each in found), encoding="utf-8")


def render_altered(found: Sequence[Altered]) -> str:
    """Return the table, and everything that was said against a test."""
    counted = [each for each in found if not each.left_out]
    names = sorted({each.project for each in counted})
    rows = [_count(name, [each for each in counted if each.project == name]) for name in names]
    text = render_table(_HEAD, [*rows, _count("all", counted)])
    said = [
        (each.project, each.commit, finding["text"].replace("|", "\\|"))
        for each in counted
        for finding in each.findings
        if finding["text"]
    ]
    return f"{text}\n{render_table(_FOUND, said)}" if said else text


def _count(name: str, found: Sequence[Altered]) -> tuple[str, ...]:
    numbers = (
        len(found),
        sum(each.passing for each in found),
        sum(each.altered for each in found),
        *(sum(each.count(shown) for each in found) for shown in ("still-passes", "dead-assert", "not-tried")),
    )
    return (name, *map(str, numbers))
