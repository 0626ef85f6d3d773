"""The acceptance criteria of a run, and the tests that cover them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from phase_gate.config.criteria_files import read_criteria
from phase_gate.gate.inventory import bare_name, split_id
from phase_gate.gate.record import Criteria, Document
from phase_gate.source.criterion_marks import criteria_in_source, likeness_in_source
from phase_gate.source.tests import parse_source
from phase_gate.values import replace

if TYPE_CHECKING:
    from phase_gate.runs.recorder import Recorder

T = TypeVar("T")


def choose_criteria(run: Recorder, typed: str | None) -> Criteria:
    """Read the criteria that were typed, now or earlier in this cycle; by default those of the project's file."""
    root, default = run.project.root, run.project.configuration.run.criteria
    if typed is not None:
        missing = "check the path; it starts in the folder that you are in"
        criteria = read_criteria(typed, base=run.hello.start, root=root, if_missing=missing)
        # Later runs in this cycle do not have to name it again.
        run.criteria_given = criteria.file or typed
    elif run.criteria_given:
        missing = "it was given to this cycle: put it back, or give another with --phase-criteria=FILE"
        criteria = read_criteria(run.criteria_given, base=root, root=root, if_missing=missing)
    else:
        assert default is not None, "without any there is nothing to choose"
        missing = "put it there, or change run: criteria: in the settings"
        return read_criteria(default, base=root, root=root, if_missing=missing)
    if default is not None and run.criteria_given != str(default):
        run.notes.append(f"criteria: {run.criteria_given}, as typed, instead of {default}, as in the settings")
    return criteria


def complete_marks(criteria: Criteria, session: Document, *, root: Path, copies_matter: bool) -> Document:
    """Return the document with the marks of tests whose modules can't be imported, and with the likeness of tests.

    :param copies_matter: whether copies of one test under two names have to be detected.
    """
    marked = dict(session.marked)
    if criteria.listed:
        uncollectable = [test_id for test_id, bucket in session.outcomes.items() if bucket == "uncollectable"]
        marked |= read_by_name(uncollectable, root, criteria_in_source)
    likeness: dict[str, str] = {}
    if copies_matter and criteria.count > 1:
        failing = [each for each, bucket in session.outcomes.items() if bucket != "passed"]
        likeness = read_by_name(marked if criteria.listed else failing, root, likeness_in_source)
    return replace(session, marked=marked, likeness=likeness)


def read_by_name(test_ids: Iterable[str], root: Path, read: Callable[[ast.Module], Mapping[str, T]]) -> dict[str, T]:
    """Return the results of a reader of sources for these tests, without the tests that have none."""
    found: dict[str, T] = {}
    files: dict[str, Mapping[str, T]] = {}
    for test_id in test_ids:
        path, name = split_id(test_id)
        if path not in files:
            try:
                files[path] = read(parse_source((root / path).read_bytes()))
            except (OSError, SyntaxError):
                files[path] = {}
        if bare_name(name) in files[path]:
            found[test_id] = files[path][bare_name(name)]
    return found
