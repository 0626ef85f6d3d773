"""Every task of a project on one page: the values, and how they read as text and as Markdown.

Pure. Who has a task since when, and what it waits for, is told in the same words everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.codec import spell_out
from phase_gate.names import same_name
from phase_gate.values import Literal, Value
from phase_gate.visible import count, show_rows

#: How a state is meant: as it should be, against it, at work, or not begun.
Tone = Literal["good", "bad", "odd", "open"]


class TaskLine(Value):
    """One task."""

    #: As it is typed, and as people call it.
    task: str
    name: str
    #: `verification`, or the workflow that it goes through.
    workflow: str
    #: In one word: a verify task's status, or what a verdict is; `untrusted` for one that can't be read.
    state: str
    #: The same with what is worth knowing beside it.
    shown: str
    tone: Tone
    phase: str = ""
    wave: str = ""
    #: Who has it, since when.
    by: str = ""
    since: str = ""
    #: What it waits for, in words; empty where it waits for nothing.
    waits_for: str = ""
    attempt: int = 0
    #: The tasks that have to come first and are not finished.
    after: tuple[str, ...] = ()
    is_finished: bool = False
    asks_person: bool = False
    next_command: str = ""


class Wanted(Value):
    """Which tasks are shown; empty: all."""

    state: str = ""
    wave: str = ""
    by: str = ""

    def fits(self, line: TaskLine) -> bool:
        return (
            (not self.state or line.state.lower() == self.state.lower())
            and (not self.wave or line.wave == self.wave)
            and (not self.by or (bool(line.by) and same_name(line.by, self.by)))
        )


class TaskList(Value):
    root: str
    at: str
    lines: tuple[TaskLine, ...] = ()
    #: How many there are beside those that are shown.
    left_out: int = 0

    @property
    def by_state(self) -> Mapping[str, int]:
        """The number of tasks by their states, in the order in which they are met."""
        return Counter(line.state for line in self.lines)

    @property
    def waves(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line.wave for line in self.lines if line.wave))

    @property
    def workers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line.by for line in self.lines if line.by))

    @property
    def held(self) -> tuple[TaskLine, ...]:
        """What workers have now, the longest first."""
        return tuple(sorted((line for line in self.lines if line.by), key=lambda line: (line.since, line.task)))

    @property
    def finished(self) -> int:
        return sum(line.is_finished for line in self.lines)

    @property
    def untrusted(self) -> int:
        return sum(line.state == "untrusted" for line in self.lines)

    @property
    def summary(self) -> str:
        told = ", ".join(f"{number} {state}" for state, number in self.by_state.items())
        more = f"; {count(self.left_out, 'other task')} not shown" if self.left_out else ""
        return f"{count(len(self.lines), 'task')}: {told}{more}" if self.lines else f"no task{more}"

    @property
    def document(self) -> dict[str, Any]:
        return {
            "root": self.root,
            "at": self.at,
            "tasks": [spell_out(line) for line in self.lines],
            "by_state": dict(self.by_state),
            "finished": self.finished,
            "left_out": self.left_out,
        }


#: The columns of every table of tasks.
COLUMNS = ("task", "state", "wave", "who", "since", "waits for")


def cells(line: TaskLine) -> tuple[str, ...]:
    """Return what stands in the columns."""
    return line.name, line.shown, line.wave, line.by, _minute(line.since), line.waits_for


def _minute(at: str) -> str:
    return f"{at[:10]} {at[11:16]}" if at else ""


def render_text(tasks: TaskList) -> str:
    """Return one line a task, for a terminal."""
    rows = [(line.task, *cells(line)[1:]) for line in tasks.lines]
    heads = tuple("" if not any(row[at] for row in rows) else name for at, name in enumerate(COLUMNS))
    kept = [at for at, name in enumerate(heads) if name]
    table = [heads, *rows] if rows else []
    widths = {at: max(len(row[at]) for row in table) for at in kept} if table else {}
    lines = ["  ".join(f"{row[at]:{widths[at]}}" for at in kept).rstrip() for row in table]
    following = next((line.next_command for line in tasks.lines if not line.is_finished and line.next_command), "")
    return show_rows(
        [*lines, *([""] if lines else []), tasks.summary, *([f"  next: {following}"] if following else [])]
    )


def render_markdown(tasks: TaskList) -> str:
    """Return the page as Markdown."""
    parts = ["# Tasks", tasks.summary]
    if tasks.lines:
        parts.append(_table(COLUMNS, (cells(line) for line in tasks.lines)))
    if tasks.held:
        rows = ((line.by, line.name, line.shown, _minute(line.since)) for line in tasks.held)
        parts += ["## Who has what", _table(("who", "task", "state", "since"), rows)]
    return "\n\n".join(parts) + "\n"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return show_rows([text]).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;").strip()
