"""Which lines run, and from which to which: asked without a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phase_gate.recording.reaching import ReachWitness

LAST_IN_WHILE = "def f():\n    n = 3\n    while n:\n        n -= 1\n        if n == 7:\n            return 1\n"
LAST_IN_FOR = "def f():\n    n = 0\n    for n in range(3):\n        n += 1\n        if n == 7:\n            return 1\n"


@pytest.mark.parametrize(
    ("source", "jump"),
    [
        pytest.param(LAST_IN_WHILE, (5, 3), id="while"),
        pytest.param(LAST_IN_FOR, (5, 3), id="for"),
    ],
)
def test_the_way_past_the_last_if_of_a_loop_leads_to_another_line(
    tmp_path: Path, source: str, jump: tuple[int, int]
) -> None:
    file = tmp_path / "looping.py"
    file.write_text(source, encoding="utf-8")
    names: dict[str, Any] = {}
    witness = ReachWitness(tmp_path, ["looping.py"], str)
    with witness._watch:
        exec(compile(source, str(file), "exec"), names)
        names["f"]()
    assert jump in witness.take().jumps["looping.py"]
