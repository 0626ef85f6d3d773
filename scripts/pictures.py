"""Draw the pictures of the docs: `python -m scripts.pictures`; with `--report`, those that need a browser, too.

The flow is what the shipped workflow says, the live view what its renderer draws. A test draws them again and compares.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path

from phase_gate.drive.view import Tail, Working, render_status
from phase_gate.project import load_compiled
from phase_gate.workflow.model import Phase

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"

#: Of a character, and of a line.
_WIDE, _HIGH = 7.85, 19
_MARGIN = 20
_BAR = 34

#: Colours of the terminal, by the numbers of the escape sequences.
_COLOURS = {"31": "#ff8b78", "32": "#5dd39a", "33": "#f2b544", "36": "#7fb2ff"}
_ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


def draw_drive() -> str:
    """Return the live view of a drive as SVG: the renderer's own rows, of an agent in its third iteration."""
    typed = '$ phase-gate drive --goal "slug(title): words joined by dashes" -- claude -p'
    rows = [
        typed,
        "drive begins: claude -p (at most 30 iterations, 4h; signal: ask)",
        "iteration 2: GREEN",
        "  agent    claude ended after 1m 14s (.phase-gate/drive/2.agent.log)",
        "  tests    test_slug.py::test_signs fails (2s)",
        "  claim    continue: 1 test failed in the last complete run",
        "  verdict  test_slug.py::test_signs fails",
        "iteration 3: GREEN",
    ]
    working, tail = Working(role="agent", where="GREEN", number=3, limit=1200.0), Tail()
    tail.write(b"test_signs fails: a comma is kept.\n")
    rows.append(f"\x1b[1m{render_status(working, 38.0, tail)}\x1b[0m")
    return _draw_terminal(rows, "A drive in its third iteration: what happened, and below it what the agent does now")


def _draw_terminal(rows: list[str], title: str) -> str:
    """Draw rows in a terminal."""
    width = round(80 * _WIDE + 2 * _MARGIN)
    height = _BAR + _HIGH * len(rows) + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img" aria-labelledby="title">',
        f'<title id="title">{escape(title)}</title>',
        f'<rect width="{width}" height="{height}" rx="10" fill="#12171d"/>',
        *(f'<circle cx="{20 + 18 * index}" cy="18" r="5.5" fill="#38424d"/>' for index in range(3)),
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="13"'
        ' fill="#dfe4e9" xml:space="preserve">',
        *_draw_rows(rows),
    ]
    return "\n".join((*parts, "</g>", "</svg>")) + "\n"


def _draw_rows(rows: list[str]) -> Iterator[str]:
    for number, row in enumerate(rows):
        y = _BAR + _HIGH * number + 14
        for column, text, colour, is_bold in _pieces(row):
            style = (f' fill="{colour}"' if colour else "") + (' font-weight="700"' if is_bold else "")
            x, length = _MARGIN + column * _WIDE, len(text) * _WIDE
            yield f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}"{style}>{escape(text)}</text>'


def _pieces(row: str) -> Iterator[tuple[int, str, str, bool]]:
    """Yield the pieces of a line between its escape sequences: column, text, colour, and whether it is bold."""
    column, colour, is_bold = 0, "", False
    parts = _ESCAPE.split(row)
    for index, part in enumerate(parts):
        if index % 2:
            for code in part.split(";"):
                if code in ("", "0"):
                    colour, is_bold = "", False
                elif code == "1":
                    is_bold = True
                else:
                    colour = _COLOURS.get(code, colour)
            continue
        # Where there are several blanks, what follows them has a place of its own: a viewer may make one of them.
        for found in re.finditer(r"\S+(?: \S+)*", part):
            yield column + found.start(), found[0], colour, is_bold
        column += len(part)


_PHASES = {"RED": "#c22f1f", "GREEN": "#1a7a47", "REFACTOR": "#1a5fcc", "DOCUMENT": "#7a3fc0"}
_BOX, _GAP, _TALL = 172, 74, 92
_STYLE = """
text { font: 13px system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif; fill: #16191d; }
.name { font-weight: 700; font-size: 15px; }
.quiet { fill: #59626c; font-size: 12px; }
.box { fill: #ffffff; stroke: #d5dae0; }
.gate { fill: #16191d; }
.line { stroke: #59626c; stroke-width: 1.5; fill: none; }
.head { fill: #59626c; }
@media (prefers-color-scheme: dark) {
  text { fill: #e8ebee; }
  .quiet { fill: #9aa5b1; }
  .box { fill: #171c22; stroke: #38424d; }
  .gate { fill: #e8ebee; }
  .line { stroke: #9aa5b1; }
  .head { fill: #9aa5b1; }
}
"""


def draw_flow() -> str:
    """Return the phases of the shipped workflow, with both gates between them, as SVG."""
    workflow = load_compiled("tdd")
    assert workflow is not None
    phases = workflow.phases
    width = len(phases) * (_BOX + _GAP) + 84
    height = 196
    top = 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img" aria-labelledby="title">',
        f'<title id="title">{" to ".join(phase.name for phase in phases)} to DONE; between two phases stand both gates:'
        " what was measured, and an explicit signal</title>",
        f"<style>{_STYLE}</style>",
    ]
    for index, phase in enumerate(phases):
        x = 2 + index * (_BOX + _GAP)
        parts += _phase(phase, x, top)
        parts += _gates(x + _BOX, top)
    x = 2 + len(phases) * (_BOX + _GAP)
    parts.append(f'<text x="{x + 8}" y="{top + _TALL / 2 + 5}" class="name">DONE</text>')
    said = "Gate 1: what was measured · Gate 2: a signal, on purpose"
    parts.append(f'<text x="{2 + _BOX + 10}" y="22" class="quiet">{said}</text>')
    # The way back.
    y = top + _TALL + 34
    right, left = 2 + (len(phases) - 1) * (_BOX + _GAP) + _BOX / 2, 2 + _BOX / 2
    way = f"M{right} {top + _TALL + 6}V{y}H{left}V{top + _TALL + 12}"
    parts.append(f'<path d="{way}" class="line" stroke-dasharray="4 4"/>')
    parts.append(f'<path d="M{left} {top + _TALL + 4}l-5 9h10z" class="head"/>')
    parts.append(
        f'<text x="{(left + right) / 2}" y="{y + 19}" text-anchor="middle" class="quiet">'
        "back, on the record: a test was wrong, or one is missing</text>"
    )
    return "\n".join((*parts, "</svg>")) + "\n"


def _phase(phase: Phase, x: float, top: float) -> Iterator[str]:
    colour = _PHASES.get(phase.name, "#59626c")
    yield f'<rect x="{x}" y="{top}" width="{_BOX}" height="{_TALL}" rx="10" class="box"/>'
    yield f'<rect x="{x + 14}" y="{top + 16}" width="12" height="12" rx="3" fill="{colour}"/>'
    yield f'<text x="{x + 34}" y="{top + 27}" class="name">{escape(phase.name)}</text>'
    for number, line in enumerate(_wrap(phase.gate_1.name, 25)):
        yield f'<text x="{x + 14}" y="{top + 52 + 17 * number}" class="quiet">{escape(line)}</text>'


def _gates(x: float, top: float) -> Iterator[str]:
    y = top + _TALL / 2
    yield f'<path d="M{x + 6} {y}H{x + _GAP - 14}" class="line"/>'
    yield f'<path d="M{x + _GAP - 6} {y}l-9 -5v10z" class="head"/>'
    for number in (1, 2):
        left = x + 4 + 18 * number
        yield f'<rect x="{left}" y="{y - 20}" width="7" height="40" rx="2" class="gate"/>'
        yield f'<text x="{left + 3.5}" y="{y - 26}" text-anchor="middle" class="quiet">{number}</text>'


def _wrap(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


#: Drawn without a browser, and compared by a test.
DRAWN = {"flow.svg": draw_flow, "drive.svg": draw_drive}


def shoot_report(folder: Path) -> None:
    """Take a picture of the report in Chromium."""
    from phase_gate.report.html import render_html
    from tests.browser.chromium import chromium
    from tests.report.samples import build_sample

    with tempfile.TemporaryDirectory() as name, chromium(height=1230) as browser:
        page = Path(name, "report.html")
        page.write_text(render_html(build_sample().story()), encoding="utf-8")
        browser.driver.get(page.as_uri())
        browser.shoot(folder / "report.png", height=1230)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.pictures", description=__doc__)
    parser.add_argument("--report", action="store_true", help="also the report's, in Chromium")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
        print(f"docs/pictures/{name}")
    if options.report:
        shoot_report(FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
