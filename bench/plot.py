"""The tables as one SVG: a bar a row, one beside bare pytest. No library: it is a list of rectangles."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

_BAR, _GAP, _LEFT, _WIDE = 16, 6, 300, 420


def draw(tables: Mapping[str, Mapping[str, float]]) -> str:
    """Return a picture of all tables, one below the other."""
    parts: list[str] = []
    y = 10
    for title, table in tables.items():
        parts.append(f'<text x="10" y="{y + 12}" font-weight="bold">{escape(title)}</text>')
        y += 22
        longest = max([*table.values(), 1.0])
        for name, value in table.items():
            width = max(1.0, _WIDE * value / longest)
            colour = "#2b7a4b" if name.startswith(("phase-gate", "the end of a run: phase-gate")) else "#8fa3b5"
            parts.append(f'<text x="{_LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(name)}</text>')
            parts.append(f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{colour}"/>')
            parts.append(f'<text x="{_LEFT + width + 6:.1f}" y="{y + 12}">{value:.3f}</text>')
            y += _BAR + _GAP
        y += 14
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDE + 80}" height="{y}" '
        'font-family="sans-serif" font-size="12" fill="#222">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>", ""])
