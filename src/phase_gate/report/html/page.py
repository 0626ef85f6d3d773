"""What the page is: one file with its own style and script, and a policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from phase_gate._version import __version__
from phase_gate.report.html.markup import Html, join, tag

_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect width='16' height='16' rx='4' fill='%23226ce0'/%3E"
    "%3Cpath d='M4 4h2v8H4zm6 0h2v8h-2z' fill='white'/%3E%3C/svg%3E"
)


def render_page(title: str, body: Html) -> str:
    """Return the whole page."""
    style, code = _asset("report.css"), _asset("report.js")
    head = join(
        (
            Html('<meta charset="utf-8"/>'),
            _meta("viewport", "width=device-width, initial-scale=1"),
            _meta("generator", f"pytest-phase-gate {__version__}"),
            _meta("color-scheme", "light dark"),
            tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, code)),
            tag("title", title),
            Html(f'<link rel="icon" href="{_ICON}"/>'),
            Html(f"<style>{style}</style>"),
        )
    )
    end = Html(f"<script>{code}</script>")
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}{end}</body>\n</html>\n'


def _meta(name: str, content: str) -> Html:
    return tag("meta", name=name, content=content)


def _policy(style: str, script: str) -> str:
    """Return what a browser may do with this page: apply this style, run this script, nothing else."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _asset(name: str) -> str:
    return files("phase_gate.report").joinpath("page", name).read_text(encoding="utf-8")
