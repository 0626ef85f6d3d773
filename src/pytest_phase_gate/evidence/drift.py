"""What git shows since the plan was approved: configuration files that changed, and how many lines did."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from pytest_phase_gate.core.pipeline_look import Drifted
from pytest_phase_gate.core.requirements import Drift
from pytest_phase_gate.evidence.artifacts import digest_file
from pytest_phase_gate.evidence.scene import Scene
from pytest_phase_gate.storage.git import NoGitError, run_git
from pytest_phase_gate.storage.tree import compile_globs


def commit_of(root: str) -> str:
    """Return what is checked out; empty where that is not known."""
    try:
        return run_git(root, "rev-parse", "--verify", "-q", "HEAD").decode("ascii").strip()
    except (NoGitError, UnicodeDecodeError):
        return ""


def look_for_drift(scene: Scene, rules: Drift, base: str, is_left_out: Callable[[str], bool]) -> Drifted | None:
    """Return what changed since that commit, documents and artifacts left out; None if git can't tell."""
    if not base:
        return None
    root = str(scene.root)
    try:
        listed = run_git(
            root, "diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--relative", base, "--", "."
        )
        others = run_git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
    except NoGitError:
        return None
    changed: dict[str, int] = {}
    for row in os.fsdecode(listed).split("\0"):
        added, _, rest = row.partition("\t")
        removed, _, path = rest.partition("\t")
        if path:
            # A binary file has dashes there: it changed, by no line that anybody could read.
            changed[path] = sum(int(number) for number in (added, removed) if number.isdigit())
    for path in os.fsdecode(others).split("\0"):
        if path:
            changed[path] = _count_lines(scene, path)
    kept = {path: lines for path, lines in changed.items() if not is_left_out(path)}
    return Drifted(files=_configuration(scene, rules, kept), lines=sum(kept.values()))


def _configuration(scene: Scene, rules: Drift, changed: Mapping[str, int]) -> dict[str, str]:
    matches = compile_globs(rules.files)
    return {path: digest_file(scene.root / path) for path in changed if matches(path)}


def _count_lines(scene: Scene, path: str) -> int:
    try:
        with (scene.root / path).open("rb") as file:
            # A binary file has no lines, as git sees it.
            if b"\0" in file.read(8192):
                return 0
            file.seek(0)
            return sum(1 for _ in file)
    except OSError:
        return 0
