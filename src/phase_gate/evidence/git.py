"""Evidence from git: whether all files are committed, and which changed since the phase or the iteration began.

A file has changed if its content differs from that time, committed or not. A file that was uncommitted when the phase
began, and has the same content now, has not changed.
"""

from __future__ import annotations

import os
from typing import Any

from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import Measured
from phase_gate.storage.fingerprint import Contents
from phase_gate.storage.git_command import NoGitError, head_of, list_dirty, run_git
from phase_gate.values import Value
from phase_gate.workflow.metrics import MetricValue

#: The name of the data that the provider remembers at the end of a run, for the next one.
_ITERATION = "iteration:git"

_SINCE_PHASE = frozenset({"files_changed", "commits"})
_SINCE_RUN = "files_changed_in_iteration"
_GONE = "git can't compare with the commit that the phase began with"


class _NothingKnownError(Exception):
    """A comparison is not possible. The message is the reason."""


class GitProvider(Provider):
    def measure(self, context: EvidenceContext) -> Measured:
        try:
            now = _look(context)
        except NoGitError:
            return Measured(warnings=(f"{_names(context)} unknown: git does not answer in {context.root.name or '/'}",))
        metrics: dict[str, MetricValue] = {"tree_clean": not now["dirty"]}
        warnings: list[str] = []
        before = context.recall("git")
        if not _SINCE_PHASE.isdisjoint(context.wanted):
            try:
                metrics["files_changed"] = len(_changed(context, before, now))
                metrics["commits"] = _count_commits(context, before, now)
            except (_NothingKnownError, NoGitError) as error:
                warnings.append(f"files_changed and commits are unknown: {str(error) or _GONE}")
        memory = {}
        if _SINCE_RUN in context.wanted:
            memory = {_ITERATION: now}
            try:
                metrics[_SINCE_RUN] = len(_changed(context, context.recall(_ITERATION) or before, now))
            except (_NothingKnownError, NoGitError) as error:
                warnings.append(f"{_SINCE_RUN} is unknown: {str(error) or _GONE}")
        found = {name: value for name, value in metrics.items() if name in context.wanted}
        return Measured(metrics=found, warnings=tuple(warnings), remembered=memory)

    def remember(self, context: EvidenceContext) -> Any:
        try:
            return _look(context)
        except NoGitError:
            return None  # the measurement at the end of the run reports it


PROVIDER = GitProvider()


class Since(Value):
    """Changes since an earlier snapshot."""

    #: The current snapshot, for the next comparison. None if git does not answer.
    now: Any = None
    #: None if unknown.
    files: frozenset[str] | None = None


def changes_since(context: EvidenceContext, before: Any) -> Since:
    """Return the current snapshot, and the files that changed since an earlier one."""
    now = PROVIDER.remember(context)
    try:
        return Since(now=now, files=None if now is None else frozenset(_changed(context, before, now)))
    except (_NothingKnownError, NoGitError):
        return Since(now=now)


def changes_since_commit(context: EvidenceContext, before: Any) -> Since:
    """Return the current snapshot, and the files that differ from an earlier snapshot's commit, else from HEAD."""
    commit = head_of(context.root) or None if before is None else before["head"]
    return changes_since(context, {"head": commit, "dirty": {}})


def _names(context: EvidenceContext) -> str:
    wanted = sorted(context.wanted & {"tree_clean", *_SINCE_PHASE, _SINCE_RUN})
    return f"{', '.join(wanted)} {'is' if len(wanted) == 1 else 'are'}"


def _look(context: EvidenceContext) -> dict[str, Any]:
    """Return a snapshot: the commit, and the uncommitted files with content ids, without the state folder."""
    paths, contents = list_dirty(context.root), Contents(str(context.root))
    dirty = {path: contents.find(path) or "" for path in paths if not _is_ours(context, path)}
    return {"head": head_of(context.root) or None, "dirty": dirty}


def _is_ours(context: EvidenceContext, path: str) -> bool:
    return ".phase-gate" in path.split("/") or (context.root / path).is_relative_to(context.state_folder)


def _changed(context: EvidenceContext, before: Any, now: dict[str, Any]) -> set[str]:
    """Return the files whose content has changed, committed or not."""
    if before is None:
        raise _NothingKnownError("nothing was remembered when the phase began; the next phase will know")
    root = str(context.root)
    differs: set[str] = set()
    if before["head"] != now["head"]:
        old = before["head"] or _empty_tree(root)
        listed = run_git(root, "diff-tree", "-r", "--name-only", "--relative", "-z", old, now["head"] or old)
        differs = {path for path in os.fsdecode(listed).split("\0") if path and not _is_ours(context, path)}
    was, dirty, contents = before["dirty"], now["dirty"], Contents(root)
    changed = (differs | set(dirty)) - set(was)
    return changed | {path for path, content in was.items() if dirty.get(path, contents.find(path) or "") != content}


def _count_commits(context: EvidenceContext, before: Any, now: dict[str, Any]) -> int:
    if before["head"] == now["head"]:
        return 0
    span = now["head"] if before["head"] is None else f"{before['head']}..{now['head']}"
    return int(run_git(str(context.root), "rev-list", "--count", span))


def _empty_tree(root: str) -> str:
    return run_git(root, "hash-object", "-t", "tree", os.devnull).decode("ascii").strip()
