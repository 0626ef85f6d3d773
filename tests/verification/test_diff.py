"""A diff for a reviewer: complete, or it says what is missing."""

from __future__ import annotations

import pytest

from phase_gate.verification.texts import ALL_LINES, FILE_LINES, WIDTH, TextChange, render_diff


@pytest.mark.parametrize(
    ("change", "lines", "left_out"),
    [
        pytest.param(
            {"before": "a\nb\n", "now": "a\nc\n"},
            ["--- a/f", "+++ b/f", "@@ -1,2 +1,2 @@", " a", "-b", "+c"],
            [],
            id="changed",
        ),
        pytest.param({"now": "a\n"}, ["--- /dev/null", "+++ b/f", "@@ -0,0 +1 @@", "+a"], [], id="new"),
        pytest.param({"before": "a\n"}, ["--- a/f", "+++ /dev/null", "@@ -1 +0,0 @@", "-a"], [], id="gone"),
        pytest.param({"before": "a\r\n", "now": "a\n"}, [], [], id="only-other-line-ends"),
        pytest.param({"problem": "it is no text"}, [], ["f: it is no text"], id="nothing-to-show"),
        pytest.param({"now": "x\n" * 30_000}, [], ["f: 0 lines before, 30000 now"], id="too-long-to-compare"),
    ],
)
def test_one_file(change: dict[str, str], lines: list[str], left_out: list[str]) -> None:
    diff = render_diff([TextChange(path="f", **change)])
    assert (list(diff.lines), list(diff.left_out)) == (lines, left_out)


def test_no_file_and_no_line_takes_the_room_of_others() -> None:
    flood = [TextChange(path=f"a{number}", now="x\n" * 1000) for number in range(10)]
    diff = render_diff([*flood, TextChange(path="test_z.py", now="y" * 1000)], first={"test_z.py"})
    assert diff.lines[1] == "+++ b/test_z.py"
    assert (len(diff.lines), len(diff.lines[3])) == (ALL_LINES, WIDTH)
    assert len(diff.left_out) == 10
    assert diff.left_out[0] == f"a0: {1003 - FILE_LINES} more lines"
    assert diff.left_out[-1] == "a9: 1003 more lines", "all of it"
