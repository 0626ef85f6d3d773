"""What GitLab gets of a verdict: variables for later jobs (`artifacts:reports:dotenv`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.report.outputs import verdict_words


def render_dotenv(document: Mapping[str, Any]) -> str:
    """Return one variable a line: no quotes, comments or empty lines, for GitLab takes none; well below 5 KB."""
    words = verdict_words(document)
    return "".join(f"PHASE_GATE_{name.upper().replace('-', '_')}={value}\n" for name, value in words.items())
