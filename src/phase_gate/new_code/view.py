"""What a report shows of new lines: the source around them, how each was reached, and by which tests. Bounded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.visible import cut

#: The name under which a run keeps it.
VIEW = "new_lines"
#: Lines of source that are kept in all, and characters of each.
_LINES, _WIDE = 400, 160
#: Lines before and after new ones.
_AROUND = 2
#: Tests that are named beside a line.
_NAMED = 20


def view_of(found: Iterable[Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the view as JSON.

    :param found: the new code of each file, held against what was reached (`provider.Reached`).
    :param texts: what is in these files.
    """
    tests: dict[str, int] = {}
    found = list(found)
    files, room, is_cut = [], _LINES, False
    for each in found:
        rows = _rows(each, texts.get(each.path, "").splitlines(), tests)
        files.append({"path": each.path, "rows": rows[:room]})
        is_cut = is_cut or len(rows) > room
        room = max(0, room - len(rows))
    return {
        "files": [each for each in files if each["rows"]],
        "tests": list(tests),
        "total": sum(len(each.code.statements) for each in found),
        "untested": sum(len(each.untested) for each in found),
        "is_cut": is_cut,
    }


def _rows(reached: Any, lines: list[str], tests: dict[str, int]) -> list[dict[str, Any]]:
    one_way = {line for line, _ in reached.one_way}
    new: dict[int, tuple[str, tuple[str, ...]]] = {}
    for statement in reached.code.statements:
        by = reached.tests.get(statement.line)
        how = "untested" if by is None else "one-way" if statement.line in one_way else "reached" if by else "import"
        for line in range(statement.line, statement.end + 1):
            new.setdefault(line, (how, by or ()))
    shown = sorted({at for line in new for at in range(line - _AROUND, line + _AROUND + 1) if 0 < at <= len(lines)})
    rows = []
    for line in shown:
        how, by = new.get(line, ("", ()))
        named = [tests.setdefault(test, len(tests)) for test in by[:_NAMED]]
        text = cut(lines[line - 1].expandtabs(), _WIDE)
        rows.append({"line": line, "text": text, "how": how, "tests": named, "more": len(by) - len(named)})
    return rows
