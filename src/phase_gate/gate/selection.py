"""Which known tests did not run, and why: not selected, or no longer there.

Pure. What the sources hold is asked through a function, so that only files in doubt are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from phase_gate.gate.inventory import Inventory, bare_name, join_id
from phase_gate.gate.outcomes import Bucket, Outcomes
from phase_gate.values import Value

#: Bare names of the tests that a file's source defines; None if the file is gone.
NamesIn = Callable[[str], Collection[str] | None]


class Selection(Value):
    """How the session came to its tests."""

    deselected: Collection[str] = frozenset()
    #: Files that were collected as a whole in this run.
    collected_files: Collection[str] = frozenset()
    #: Files of which only some tests were asked for, by `file.py::name`.
    narrowed_files: Collection[str] = frozenset()


class Audit(Value, kw_only=False):
    #: Known, still in the sources, and not run.
    unselected: tuple[str, ...]
    #: Known, and no longer in the sources.
    missing: tuple[str, ...]
    #: Those that came after the freeze: they may go again.
    passing_by: tuple[str, ...] = ()


def audit_selection(
    known: Inventory, outcomes: Outcomes, selection: Selection, names_in: NamesIn, ran: Inventory | None = None
) -> Audit:
    """Tell the known tests that did not run apart.

    :param ran: the inventory of the outcomes. Of a file that it has as it is known, every test is there.
    """
    here = {} if ran is None else ran.files
    unselected: list[str] = []
    missing: list[str] = []
    for path, file in known.files.items():
        if here.get(path) is file:
            continue
        absent = [name for name in file.ids if join_id(path, name) not in outcomes]
        if not absent:
            continue
        with_parameters = _names_with_parameters(path, file.ids, outcomes)
        names = names_in(path)
        for name in absent:
            test_id, bare = join_id(path, name), bare_name(name)
            if not name and any(each.startswith(f"{path}::") for each in outcomes):
                continue  # the file stood for tests that only an import shows, such as inherited ones: they are there
            if name == bare and bare in with_parameters:
                continue  # counted from source while its module could not be imported: its sets are what is known
            if outcomes.get(join_id(path, bare)) is Bucket.UNCOLLECTABLE or outcomes.get(path) is Bucket.UNCOLLECTABLE:
                continue  # its module can't be imported now: counted there, as failing
            if test_id in selection.deselected:
                unselected.append(test_id)
            elif names is None or _is_gone(name, names, file.bodies, path, selection):
                missing.append(test_id)
            else:
                unselected.append(test_id)
    return Audit(tuple(sorted(unselected)), tuple(sorted(missing)))


def _names_with_parameters(path: str, known: Iterable[str], outcomes: Outcomes) -> frozenset[str]:
    prefix = f"{path}::"
    ran = (test_id[len(prefix) :] for test_id in outcomes if test_id.startswith(prefix))
    return frozenset(bare_name(name) for name in (*known, *ran) if "[" in name)


def _is_gone(name: str, names: Collection[str], bodies: Mapping[str, str], path: str, selection: Selection) -> bool:
    bare = bare_name(name)
    was_whole = path in selection.collected_files and path not in selection.narrowed_files
    if bare in names:
        # The function is there. A parameter set of it is gone if pytest looked at the whole file and did not make it.
        return name != bare and was_whole
    return bare in bodies or was_whole
