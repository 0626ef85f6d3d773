"""What git shows since the plan was approved: configuration files that changed, and how many lines did."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from phase_gate.core.pipeline_look import Drifted
from phase_gate.evidence.artifacts import digest_file
from phase_gate.evidence.context import Scene
from phase_gate.storage.tree.filtered_files import as_indexed
from phase_gate.storage.tree.fingerprint import compile_globs
from phase_gate.storage.tree.git import NoGitError, run_git
from phase_gate.storage.tree.git_status import find_modified_submodules
from phase_gate.workflow.model import Drift


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
        changed = _count(root, base)
        others = run_git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
    except NoGitError:
        return None
    for path in os.fsdecode(others).split("\0"):
        if path:
            changed[path] = _count_lines(scene, path)
    kept = {path: lines for path, lines in changed.items() if not is_left_out(path)}
    return Drifted(files=_configuration(scene, rules, kept), lines=sum(kept.values()))


def _count(root: str, base: str) -> dict[str, int]:
    """Return how many lines of which tracked files are not those of a commit."""
    changed = dict(_read_numbers(root, base, "--", "."))
    # A submodule counts by its commit, as git shows it: one line went, and one came.
    changed.update((path, 2) for path in find_modified_submodules(root) if path not in changed)
    committed = as_indexed(root, changed)
    if committed:
        # The work tree has other bytes than a commit there, whether something changed or not.
        for path in committed:
            del changed[path]
        changed.update((path, lines) for path, lines in _read_numbers(root, "--cached", base) if path in committed)
    return changed


def _read_numbers(root: str, *compared: str) -> Iterator[tuple[str, int]]:
    options = ("--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    for row in os.fsdecode(run_git(root, "diff", *options, "--relative", *compared)).split("\0"):
        added, _, rest = row.partition("\t")
        removed, _, path = rest.partition("\t")
        if path:
            # A binary file has dashes there: it changed, by no line that anybody could read.
            yield path, sum(int(number) for number in (added, removed) if number.isdigit())


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
