"""Make acceptance criteria of survivors, so that the next RED has to show each of them with a test that fails."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from phase_gate.errors import CriteriaError
from phase_gate.gate.criteria import Criterion
from phase_gate.mutation.model import Tried
from phase_gate.rules.criteria import read_criteria
from phase_gate.task import Task
from phase_gate.values import Value

_Form = Callable[[str, Mapping[str, str]], str]

#: What the ids begin with.
_STEM = "MUT"


class Added(Value):
    """What became of the criteria."""

    #: The file of criteria, from the root; empty where the project has none.
    file: str
    #: Id -> text, of those that are new.
    criteria: dict[str, str]
    #: They stand in the file now; otherwise a person has to put them there.
    is_written: bool
    #: Why they could not be written.
    why: str = ""


def criteria_of(task: Task) -> str:
    """Return what the task was given as its criteria, with a path from the root; empty where it has none."""
    return task.state.aim.criteria_file or str(task.project.configuration.run.criteria or "")


def add_criteria(root: Path, given: str, survivors: Iterable[Tried]) -> Added:
    """Add a criterion for each survivor to a file of criteria.

    :param given: the file, from the root, or a number.
    """
    if not given or re.fullmatch("[-+]?[0-9]+", given):
        criteria = dict(_new_ones(survivors, ()))
        return Added(file="", criteria=criteria, is_written=False, why="the project names no file of criteria")
    path = root / given
    try:
        listed = read_criteria(given, base=root, root=root).listed
        criteria = dict(_new_ones(survivors, listed))
        text = path.read_text(encoding="utf-8") if criteria else ""
    except (CriteriaError, OSError, UnicodeDecodeError) as error:
        why = error.problem if isinstance(error, CriteriaError) else str(error)
        return Added(file=given, criteria=dict(_new_ones(survivors, ())), is_written=False, why=why)
    if not criteria:
        return Added(file=given, criteria={}, is_written=True)
    wanted = [*(each.id for each in listed), *criteria]
    for form in _forms(text, path, listed):
        if _reads_as(wanted, path, form(text, criteria)):
            path.write_text(form(text, criteria), encoding="utf-8")
            return Added(file=given, criteria=criteria, is_written=True)
    why = f"{given} has a form that nothing can be added to"
    return Added(file=given, criteria=criteria, is_written=False, why=why)


def text_of(tried: Tried) -> str:
    """Return the criterion that a survivor asks for."""
    return f"a test fails with {tried.mutant.change} ({tried.mutant.place})"


def _new_ones(survivors: Iterable[Tried], listed: tuple[Criterion, ...]) -> Iterator[tuple[str, str]]:
    texts = {each.text for each in listed}
    taken = [int(found[1]) for each in listed if (found := re.fullmatch(rf"{_STEM}-([0-9]+)", each.id))]
    number = max(taken, default=0)
    for tried in survivors:
        if text_of(tried) not in texts:
            number += 1
            yield f"{_STEM}-{number}", text_of(tried)


def _forms(text: str, path: Path, listed: tuple[Criterion, ...]) -> Iterator[_Form]:
    """Yield the ways to write criteria at the end of the file, as those before are written."""
    last = text.splitlines()[(listed[-1].line or 1) - 1] if listed else ""
    indent = last[: len(last) - len(last.lstrip())]
    if path.suffix.lower() in (".yaml", ".yml"):
        yield lambda text, new: _after(text, (f"{indent}{key}: {json.dumps(said)}" for key, said in new.items()))
        yield lambda text, new: _after(text, (f"{indent}- {key}: {json.dumps(said)}" for key, said in new.items()))
    elif path.suffix.lower() != ".json":
        yield lambda text, new: _after(text, (f"{indent}- [ ] {key} {said}" for key, said in new.items()))
        yield lambda text, new: _after(text, (f"{indent}- {key} {said}" for key, said in new.items()))
        yield lambda text, new: _after(text, (f"\n{key}: {said}" for key, said in new.items()))


def _after(text: str, rows: Iterable[str]) -> str:
    end = "" if not text or text.endswith("\n") else "\n"
    return text + end + "".join(f"{row}\n" for row in rows)


def _reads_as(wanted: list[str], path: Path, text: str) -> bool:
    """Tell whether a file with this text has exactly these criteria."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder, path.name)
        trial.write_text(text, encoding="utf-8")
        try:
            found = read_criteria(path.name, base=Path(folder), root=Path(folder)).listed
        except CriteriaError:
            return False
    return [each.id for each in found] == wanted
