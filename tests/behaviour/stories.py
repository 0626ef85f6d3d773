"""Pairs of modules, before and now, and what a comparison says of their functions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from phase_gate.behaviour.choosing import choose, find_constants
from phase_gate.behaviour.experiment import Question, Setting, compare_functions
from phase_gate.behaviour.guarding import Limits
from phase_gate.behaviour.model import Compared
from phase_gate.behaviour.places import Place
from phase_gate.rooms.room import Room

#: Seconds that a busy machine never needs.
AMPLE = 600.0


def compare(root: Path, before: str, now: str, *, examples: int = 60, seed: int = 0) -> dict[str, Compared]:
    """Compare all public functions of one module that changed."""
    (root / "code_here.py").write_text(now, encoding="utf-8")
    chosen = [each for each in choose({"code_here.py": before}, {"code_here.py": now}) if not each.left_out]
    questions = [
        Question(
            file=each.now,
            name=each.name,
            line=each.line,
            before=_place(each.name),
            now=_place(each.name),
            is_hinted_before=each.is_hinted_then,
            constants=(*find_constants(before, each.name), *find_constants(now, each.name)),
        )
        for each in chosen
    ]
    setting = Setting(
        before=Room(root=root, contents={"code_here.py": before.encode()}),
        now=Room(root=root),
        paths=(".",),
        seed=seed,
        examples=examples,
        seconds=AMPLE,
        total=AMPLE,
        # Little work, but much time: other processes may be at work, too.
        limits=Limits(cpu=0.2, wall=60.0),
    )
    return {each.name: each for each in compare_functions(questions, setting)}


def _place(name: str) -> Place:
    return Place(file="code_here.py", modules=("code_here",), function=name)


def joined(head: str, rows: Mapping[str, str]) -> str:
    return "\n\n\n".join((head, *rows.values())) + "\n"
