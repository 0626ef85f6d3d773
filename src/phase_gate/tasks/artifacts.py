"""Read the files of a pipeline: artifacts with their digests and problems, the snapshot, and drift from the plan."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phase_gate.codec import parse_foreign, spell_out
from phase_gate.evidence.context import EvidenceContext
from phase_gate.evidence.documents.completeness import count_words, is_hole
from phase_gate.evidence.documents.library import Page, Piece
from phase_gate.storage.files import REAL, make_folder, write_atomically
from phase_gate.storage.fingerprint import compile_globs
from phase_gate.storage.git_command import NoGitError, head_of, run_git
from phase_gate.storage.root import place_below
from phase_gate.storage.store import now
from phase_gate.tasks.handins import Snapshot, read_json_document
from phase_gate.tasks.routing import rules_of
from phase_gate.tasks.work import Pipeline
from phase_gate.values import Value, field
from phase_gate.visible import count
from phase_gate.workflow.model import SNAPSHOT, Artifact, Drift, PipelineRules, Workflow, requires_of
from phase_gate.workflow.names import look_command

if TYPE_CHECKING:
    from phase_gate.task import Task

#: Bytes per file: reviewers would not read more.
_LARGEST = 1024 * 1024


class SeenArtifact(Value):
    """An artifact as it is now."""

    #: The files that match its glob, relative to the root.
    files: tuple[str, ...] = ()
    #: Of its content; empty if there is no file.
    digest: str = ""
    #: Why its content is not sufficient; empty if it is.
    problem: str = ""
    #: The parsed content of an artifact with a schema.
    document: Any = None


def read_artifact(root: Path, artifact: Artifact) -> SeenArtifact:
    """Return the artifact as it is now."""
    files, document = find_files(root, artifact), None
    problems: list[str] = []
    contents: dict[str, bytes] = {}
    for name in files:
        place = f"{name}: " if len(files) > 1 else ""
        try:
            contents[name] = _read(root / name)
            document = _check(contents[name], artifact)
        except OSError as error:
            problems.append(f"{name} can't be read: {error.strerror or error}")
        except ValueError as error:
            problems.append(f"{place}{error}")
    return SeenArtifact(files=files, digest=_digest(contents), problem="; ".join(problems), document=document)


def find_files(root: Path, artifact: Artifact) -> tuple[str, ...]:
    """Return the files below the root that match the artifact's glob, sorted."""
    found = (path.relative_to(root) for path in root.glob(artifact.path) if path.is_file())
    return tuple(sorted(path.as_posix() for path in found if ".phase-gate" not in path.parts))


def digest_file(path: Path) -> str:
    """Return a digest of one file, byte by byte; empty if it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError("it is larger than 1 MiB")
    return content


def _digest(contents: Mapping[str, bytes]) -> str:
    """Return a digest of names and texts. It ignores how text is wrapped and indented."""
    if not contents:
        return ""
    parts = hashlib.sha256()
    for name, content in sorted(contents.items()):
        parts.update(name.encode("utf-8", "surrogateescape") + b"\0" + b" ".join(content.split()) + b"\0")
    return parts.hexdigest()


def _check(content: bytes, artifact: Artifact) -> Any:
    """Return the document of a JSON artifact. Raises ValueError if the content does not meet the requirements."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    if artifact.line and _plain_line(artifact.line) not in map(_plain_line, text.splitlines()):
        raise ValueError(f'it has no line "{artifact.line}"')
    if artifact.schema:
        return read_json_document(_parse(content), artifact.schema)
    pieces = [piece for piece in re.split(r"\n\s*\n|\n(?=\s*[-*#] )", text) if piece.strip()]
    if hole := next((piece.strip() for piece in pieces if is_hole(piece.strip())), ""):
        raise ValueError(f"a template's text is still in it: {hole.splitlines()[0][:60]!r}")
    words = count_words(Page(pieces=tuple(Piece(line=1, text=piece) for piece in pieces)))
    if words < artifact.min_words:
        raise ValueError(f"{count(words, 'different word')} of text, at least {artifact.min_words} are wanted")
    return None


def _plain_line(line: str) -> str:
    """Return a line in lower case, without emphasis marks and the final period."""
    return " ".join(line.replace("*", "").replace("_", " ").split()).rstrip(".").casefold()


def _parse(content: bytes) -> Any:
    try:
        return parse_foreign(content.decode("utf-8-sig"), object_pairs_hook=_once)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key occurs twice")
    return document


def fingerprint(*parts: str) -> str:
    """Return a digest of the parts, by which equal requests are found."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


# --- the files of a pipeline


class Artifacts:
    """The artifacts of a project, each read once."""

    def __init__(self, task: Task, workflow: Workflow, pipeline: Pipeline) -> None:
        self.task, self.pipeline, self.rules = task, pipeline, rules_of(workflow)
        self._seen: dict[str, SeenArtifact] = {}

    def artifact(self, name: str) -> SeenArtifact:
        if name not in self._seen:
            self._seen[name] = read_artifact(self.task.project.root, self.rules.artifacts[name])
        return self._seen[name]

    def digest(self, name: str) -> str:
        return self.artifact(name).digest

    @functools.cached_property
    def tree(self) -> str:
        """The digest of the tree without artifacts, as in snapshots."""
        return tree_of(self.task.project.take_tree(new_data=False).files, self.rules)

    def fault(self, name: str) -> str:
        """Return why an artifact does not count in this attempt; empty if it does."""
        seen, described = self.artifact(name), self.rules.artifacts[name]
        is_snapshot = described.schema == SNAPSHOT
        if not seen.files:
            return f"is missing: {look_command(self.task.project.task)} writes it" if is_snapshot else "is missing"
        if seen.problem:
            return seen.problem
        if is_snapshot and seen.document.tree != self.tree:
            return f"shows another tree than the current one: {look_command(self.task.project.task)} writes it again"
        if seen.digest in self.pipeline.old.get(name, ()):
            phrase = "this phase" if described.made == "phase" else "this attempt"
            return f"is unchanged since before {phrase} began: write it again"
        return ""


def tree_of(files: Mapping[str, str], rules: PipelineRules) -> str:
    """Return a digest of the tree without artifacts: a snapshot is an artifact, and can't contain itself."""
    is_artifact = compile_globs([each.path for each in rules.artifacts.values()])
    text = "\0".join(part for pair in sorted(files.items()) for part in pair if not is_artifact(pair[0]))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def write_snapshot(task: Task) -> str:
    """Write a snapshot of the tree if the current phase requires one; return its path, or an empty text."""
    project, state, rules = task.project, task.state, rules_of(task.rules)
    phase = task.rules.phase(state.phase or "")
    wanted = () if phase is None or state.exited else requires_of(phase).artifacts
    artifact = next((rules.artifacts[name] for name in wanted if rules.artifacts[name].schema == SNAPSHOT), None)
    if phase is None or artifact is None:
        return ""
    path, tree = artifact.path, tree_of(project.take_tree(new_data=False).files, rules)
    snapshot = Snapshot(tree=tree, commit=head_of(project.root), phase=phase.name, at=now())
    target = place_below(project.root, path, setting=f"artifact {artifact.name}")
    make_folder(REAL, target.parent)
    write_atomically(REAL, target, (json.dumps(spell_out(snapshot), indent=2) + "\n").encode())
    return path


# --- changes since the plan was approved, from git: changed configuration files, and the number of changed lines


class Drifted(Value):
    #: Configuration files that changed, with digests of their content.
    files: Mapping[str, str] = field(default_factory=dict)
    lines: int = 0


def find_drift(context: EvidenceContext, rules: PipelineRules, drift: Drift, base: str) -> Drifted | None:
    """Return the changes since that commit, without documents and artifacts; None if git can't compare."""
    options = ("--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
    root, changed = str(context.root), {}
    try:
        if not base:
            return None
        rows = os.fsdecode(run_git(root, "diff", *options, "--relative", base, "--", ".")).split("\0")
        others = run_git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
    except NoGitError:
        return None
    for row in rows:
        added, _, rest = row.partition("\t")
        removed, _, path = rest.partition("\t")
        if path:
            # A binary file has dashes instead of numbers: it changed, but has no lines.
            changed[path] = sum(int(number) for number in (added, removed) if number.isdigit())
    changed |= {path: _count_lines(context, path) for path in os.fsdecode(others).split("\0") if path}
    is_text = compile_globs((*context.configuration.docs, *(each.path for each in rules.artifacts.values())))
    kept = {path: n for path, n in changed.items() if not is_text(path) and ".phase-gate" not in path.split("/")}
    matches = compile_globs(drift.files)
    files = {path: digest_file(context.root / path) for path in kept if matches(path)}
    return Drifted(files=files, lines=sum(kept.values()))


def _count_lines(context: EvidenceContext, path: str) -> int:
    try:
        data = (context.root / path).read_bytes()
    except OSError:
        return 0
    # A binary file has no lines, as in git.
    return 0 if b"\0" in data[:8192] else len(data.splitlines())
