"""What it costs to see which tests reach new lines, beside coverage of the same suite, in instructions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bench.installed import count, run
from bench.kit import ACTIVE, Kit, Row, commit, millions, percent, warm_up
from bench.suites import MODULES, write_shop

_COVERED = ("--cov=shop", "--cov-branch", "--cov-report=")


def new_lines(kit: Kit, *, new: int, goal: float | None = None) -> Iterable[Row]:
    """Compare green runs with and without the question for new lines.

    :param new: modules that are new: one, as in a step of some days' work, or all of them, as in a first one.
    """
    asked, plain = (_count(kit, kit.command("ours", *ACTIVE), new, is_asked=is_asked) for is_asked in (True, False))
    command = kit.command("bare", plugin="pytest-cov")
    bare, covered = (_count(kit, [*command, *words], new, is_asked=False) for words in ((), _COVERED))
    share = asked / plain - 1
    yield Row(
        f"new lines by test, {new} of {MODULES} modules new",
        f"{millions(plain)} (`--phase=green`)",
        f"{percent(covered / bare - 1)} (`--cov --cov-branch`)",
        percent(share),
        "" if goal is None else f"+{goal:.0%}".replace("%", " %"),
        None if goal is None else share <= goal,
    )


def _count(kit: Kit, command: list[str], new: int, *, is_asked: bool) -> int:
    folder = _project(kit, new, is_asked=is_asked)
    warm_up(command, folder)
    return count(command, folder)


def _project(kit: Kit, new: int, *, is_asked: bool) -> Path:
    """Return a project in GREEN, some of whose modules are new."""
    place = kit.place(f"shop-{new}-{'asked' if is_asked else 'plain'}")
    if not place.exists():
        write_shop(place, old=MODULES - new)
        rules = "evidence:\n  new_code: true\n" if is_asked else "workflow: tdd\n"
        (place / "phase-gate.yaml").write_text(rules, encoding="utf-8")
        commit(place)
        run(kit.command("ours", "--phase=red", "--exit-signal=they fail"), place)
        write_shop(place, old=MODULES)
        commit(place)
    return place
