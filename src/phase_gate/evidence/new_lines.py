"""Which code is new since a cycle or a phase began: compared with what was kept of the project then."""

from __future__ import annotations

from phase_gate.evidence.context import EvidenceContext
from phase_gate.evidence.sources import list_sources, read_files
from phase_gate.source.new_code import NewCode, find_new
from phase_gate.storage.keeping import Kept, kept_from, read_kept


def recall_kept(context: EvidenceContext, name: str) -> Kept | None:
    """Return the files that the provider of that name has kept; None where there are none."""
    document = context.recall(name)
    kept = None if document is None else kept_from(document)
    return None if kept is None or kept.problem else kept


def changed_sources(context: EvidenceContext, then: Kept) -> list[str]:
    """Return the project's own code that is not what it was."""
    return _changed(context, then, list_sources(context))


def _changed(context: EvidenceContext, then: Kept, sources: list[str]) -> list[str]:
    files = context.files()
    return [path for path in sources if path in files and then.files.get(path) != files[path]]


def find_new_code(context: EvidenceContext, then: Kept) -> dict[str, NewCode]:
    """Return the new code, by file. Raises LostError if what it is compared with is gone."""
    sources = list_sources(context)
    changed = _changed(context, then, sources)
    gone = sorted(then.files.keys() - set(sources))
    before = read_kept(then, context.root, [path for path in (*changed, *gone) if path in then.files])
    return find_new(_texts(before), _texts(read_files(context, changed)))


def _texts(files: dict[str, bytes]) -> dict[str, str]:
    return {path: data.decode("utf-8", "replace") for path, data in files.items()}
