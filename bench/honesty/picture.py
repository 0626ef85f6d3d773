"""The sums of the table as one picture, for light and dark pages."""

from __future__ import annotations

from html import escape

from bench.honesty.results import Results

_LEFT, _WIDE, _BAR, _ROW, _TOP = 210, 250, 16, 34, 56
_GAP = 70
_STYLE = """
text { font: 13px system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif; fill: #16191d; }
.head { font-weight: 700; }
.quiet { fill: #59626c; font-size: 12px; }
.all { fill: #e6e9ed; }
.cheat { fill: #c22f1f; }
.twin { fill: #b7791f; }
@media (prefers-color-scheme: dark) {
  text { fill: #e8ebee; }
  .quiet { fill: #9aa5b1; }
  .all { fill: #2a323a; }
  .cheat { fill: #ff8b78; }
  .twin { fill: #f2b544; }
}
"""


def draw(results: Results) -> str:
    """Return two bars a gate: how many cheats pass, and how many honest twins are refused."""
    cheats = sum(case.is_cheat for case in results.cases.values())
    honest = len(results.cases) - cheats
    second = _LEFT + _WIDE + _GAP
    width, height = second + _WIDE + _GAP - 10, _TOP + _ROW * len(results.gates) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img" aria-labelledby="title">',
        f'<title id="title">{escape(_sentence(results, cheats, honest))}</title>',
        f"<style>{_STYLE}</style>",
        f'<text x="{_LEFT}" y="24" class="head">cheats that pass, of {cheats}</text>',
        f'<text x="{second}" y="24" class="head">honest twins refused, of {honest}</text>',
        f'<text x="{_LEFT}" y="42" class="quiet">shorter is better</text>',
    ]
    for number, (gate, title) in enumerate(results.gates.items()):
        y = _TOP + _ROW * number
        parts.append(f'<text x="{_LEFT - 10}" y="{y + 13}" text-anchor="end">{escape(title)}</text>')
        parts += _bar(_LEFT, y, len(results.passed(gate)), cheats, "cheat")
        parts += _bar(second, y, len(results.refused(gate)), honest, "twin")
    said = f"{results.date}, Python {results.python}; python -m bench honesty"
    parts.append(f'<text x="{_LEFT}" y="{height - 10}" class="quiet">{escape(said)}</text>')
    return "\n".join((*parts, "</svg>")) + "\n"


def _bar(x: float, y: float, count: int, whole: int, kind: str) -> list[str]:
    length = _WIDE * count / max(whole, 1)
    return [
        f'<rect x="{x}" y="{y}" width="{_WIDE}" height="{_BAR}" rx="3" class="all"/>',
        f'<rect x="{x}" y="{y}" width="{length:.1f}" height="{_BAR}" rx="3" class="{kind}"/>',
        f'<text x="{x + _WIDE + 8}" y="{y + 13}">{count}</text>',
    ]


def _sentence(results: Results, cheats: int, honest: int) -> str:
    each = (
        f"{title}: {len(results.passed(gate))} of {cheats} cheats pass,"
        f" {len(results.refused(gate))} of {honest} twins are refused"
        for gate, title in results.gates.items()
    )
    return "; ".join(each)
