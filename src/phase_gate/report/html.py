"""The story of a task as one HTML file: it loads nothing and sends nothing.

Everything is there without the script too; the script filters, turns pages and answers to pointer and keys. The
templates are in `page`. Whatever a template prints is made visible, cut and escaped here, unless it is `Markup`.
Needs Jinja2: the extra `report`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from phase_gate._version import __version__
from phase_gate.gate.inventory import split_id
from phase_gate.gate.measured import describe_override
from phase_gate.gate.verdict import ANSWERS, HINT_FIRST
from phase_gate.report.drawing import cell_paths, draw_series, draw_timeline, legend_signs
from phase_gate.report.markdown import show
from phase_gate.report.story import CELL_WORDS, SIGNED, Story, short_time
from phase_gate.report.text import describe_proof, guard_marks, proof_section, sum_up_criteria
from phase_gate.visible import count, count_good
from phase_gate.workflow.metrics import show_value

#: Runs on a page of the table. Without the script only the newest page is there.
_PAGE = 50
#: Happenings that are listed.
_HAPPENINGS = 200

_KNOWN_PHASES = frozenset({"RED", "GREEN", "REFACTOR", "DOCUMENT"})
#: Words in the cells of tables that have a color of their own.
_TONES = {
    **dict.fromkeys(("proven", "noticed", "passed", "passing", "met before"), "good"),
    **dict.fromkeys(("passes-without", "fails-with", "row-changed", "cannot-fail", "still passes"), "bad"),
    **dict.fromkeys(("failed", "failing", "error", "open", "uncollectable", "not noticed"), "bad"),
    **dict.fromkeys(("checks-nothing", "nothing-raised", "unknown", "flaky", "waived"), "odd"),
}


def render_html(story: Story) -> str:
    """Return the whole page."""
    style, script, verdict = _asset("report.css"), _asset("report.js"), story.evaluation
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    page: str = load_template().render(
        story=story,
        verdict=verdict,
        declared={} if verdict is None else {fact.name: fact.who for fact in verdict.facts},
        # The headline has it, unless something came after it.
        is_current=verdict is not None and story.standing.advice == verdict.advice,
        is_hint_first=story.standing.status in HINT_FIRST,
        proof=proof_section(story.proofs),
        timeline=draw_timeline(story),
        signs=legend_signs(story),
        charts=[draw_series(series) for series in story.trend],
        newest=story.runs[: -_PAGE - 1 : -1],
        happenings=story.happenings[: -_HAPPENINGS - 1 : -1],
        data=_embed(_script_data(story)),
        policy=Markup(policy),
        style=Markup(style),
        script=Markup(script),
        version=__version__,
    )
    return page


@cache
def load_template() -> Template:
    """Return the page's template, compiled: before a run's tests can change what it is made of."""
    environment = Environment(
        loader=PackageLoader("phase_gate.report", "page"),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["wrap"] = _wrap
    environment.globals |= {
        "answers": ANSWERS,
        "cell_paths": cell_paths,
        "count": count,
        "count_good": count_good,
        "describe_overrides": lambda rows: [describe_override(row) for row in rows],
        "describe_proof": describe_proof,
        "guard_marks": guard_marks,
        "metric_rows": lambda metrics: [(name, show_value(value)) for name, value in metrics.items()],
        "short_time": short_time,
        "show_value": show_value,
        "split_id": split_id,
        "sum_up_criteria": sum_up_criteria,
        "phase_class": lambda phase: f"phase-{phase.lower()}" if phase in _KNOWN_PHASES else "phase-other",
        "tone_of": lambda text: f"tone-{_TONES.get(str(text).partition(':')[0], 'open')}",
    }
    return environment.get_template("page.html")


def _finalize(value: object) -> object:
    """Make everything that a template prints visible and bounded; autoescape does the rest."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return show(value)


def _wrap(text: object) -> Markup:
    """Return a text in which a line may break between the words of a test's or a file's name."""
    return Markup("<wbr/>").join(re.split(r"(?<=[_/:.\[-])(?=\w)", show(text)))


def _asset(name: str) -> str:
    return files("phase_gate.report").joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embed(document: Any) -> Markup:
    """Return a JSON document for a script element: nothing in it can end that element."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _script_data(story: Story) -> dict[str, Any]:
    """Return every listed run as a short row; texts that many of them share are written once."""
    words: dict[str, int] = {}

    def word(text: str) -> int:
        return words.setdefault(show(text, 200), len(words))

    rows = [
        [
            run.number,
            run.at[:19],
            word(run.phase),
            run.cycle,
            word(run.outcome),
            run.iteration,
            run.passed,
            run.failed,
            run.skipped,
            run.streak,
            int(run.resets),
            run.seconds,
            int(bool(run.can_exit)),
            word(run.says),
            run.changed_count,
            word(", ".join(run.changed)),
        ]
        for run in story.runs
    ]
    happenings = [
        [each.run, each.kind, word(each.text)] for each in story.happenings if each.kind in (*SIGNED, "claim", "note")
    ]
    return {
        "runs": rows,
        "happenings": happenings,
        "words": list(words),
        "page": _PAGE,
        "tests": list(story.tests.runs),
        "cells": dict(CELL_WORDS),
    }
