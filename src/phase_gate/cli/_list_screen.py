"""Shows a drive of a list: live at a terminal, in plain lines elsewhere, as JSON lines; and asks a person there."""

from __future__ import annotations

import time

from phase_gate.cli._drive_screen import Screen, ask_line, screen_rows
from phase_gate.cli._streams import render_json, say, screen_width
from phase_gate.drive.list_session import Choice, Escalated, ListHappening, Working
from phase_gate.drive.list_view import ListBoard, render_list_lines, render_list_screen
from phase_gate.tasks.overrides import KINDS

#: How the question is put, and what may be typed; the document's three ways.
_WAYS = (
    "  retry REASON        let the executor try again",
    f"  skip KIND REASON    complete it unverified; KIND is {', '.join(KINDS)}",
    "  investigate         show what failed, then ask again",
    "  or nothing, to leave it to another day",
)


def tell_json(happening: ListHappening) -> None:
    say(render_json(happening.document), flush=True)


def tell(happening: ListHappening) -> None:
    """Print lines for a log."""
    if lines := render_list_lines(happening):
        say(lines, flush=True)


class LiveList(Screen):
    """The live view of a list; and who asks a person there."""

    def __init__(self) -> None:
        super().__init__()
        self._board = ListBoard()
        self._began = time.monotonic()

    def tell(self, happening: ListHappening) -> None:
        self.clear()
        self._board = self._board.after(happening)
        tell(happening)

    def progress(self, working: Working) -> None:
        self._board = self._board.seen(working)
        if self.is_due:
            self.show(
                render_list_screen(
                    self._board,
                    spent=time.monotonic() - self._began,
                    width=screen_width() - 1,
                    rows=screen_rows(),
                )
            )

    def ask(self, question: Escalated) -> Choice | None:
        """Ask a person: only what is typed here decides."""
        self.clear()
        say(f"{question.task} waits for a person: {question.reason}")
        say("\n".join(_WAYS))
        typed = ask_line("retry, skip or investigate: ").split()
        if not typed:
            return None
        way, rest = typed[0].lower(), typed[1:]
        if way == "skip":
            return Choice(way="skip", kind=rest[0] if rest else "", reason=" ".join(rest[1:]))
        if way == "retry":
            return Choice(way="retry", reason=" ".join(rest))
        return Choice(way="investigate")
