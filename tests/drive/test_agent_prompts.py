"""What an agent reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.drive.conftest import RED, WRONG, Track

pytestmark = pytest.mark.processes

Begin = Callable[[str], Track]


def test_secrets_stand_in_no_prompt(track: Begin) -> None:
    leaks = RED.replace(
        "    from calc import add\n", "    import os\n    from calc import add\n    print(os.environ['MY_TOKEN'])\n"
    )
    driven = track("").plan({"write": {"test_calc.py": leaks, "calc.py": WRONG}}, {"expect": ["***"]}, signal="agent")
    driven.drive("--iterations", "2", "--goal", "say hunter22 aloud", MY_TOKEN="hunter22")
    assert "hunter22" not in driven.prompt(1) + driven.prompt(2)
    assert "say *** aloud" in driven.prompt(1)
