"""Parts of reports as plain text: tables, criteria, sparklines, stuck reports, proofs, status blocks. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from phase_gate.gate.measured import Section, Table
from phase_gate.visible import count, name_first, pad, shorten_start, show_rows, width_of

if TYPE_CHECKING:
    from phase_gate.gate.overrides import StuckReport, Tried
    from phase_gate.gate.verdict import Evaluation, GuardResult
    from phase_gate.workflow.metrics import MetricValue

#: The least that is shown of a name, whatever width the numbers need.
_NAME = 12


def table_lines(table: Table, *, width: int) -> Iterator[str]:
    """Yield title, head and rows. Names are cut where the width is not enough; numbers, on the right, never are."""
    columns = [(name, *(row[index] for row in table.rows)) for index, name in enumerate(table.columns)]
    widths = [max(map(width_of, column)) for column in columns]
    widths[0] = min(widths[0], max(_NAME, width - 2 - sum(each + 2 for each in widths[1:])))
    numbers = [all(cell.replace(".", "", 1).isdigit() or not cell for cell in column[1:]) for column in columns]
    indent = "  " if table.title else ""
    yield from (table.title,) if table.title else ()
    for row in zip(*columns, strict=True):
        cells = (_fit(*each) for each in zip(row, widths, (False, *numbers[1:]), strict=True))
        yield f"{indent}{'  '.join(cells)}".rstrip()


def _fit(cell: str, width: int, is_number: bool) -> str:
    # The end of a path tells more than its beginning.
    shown = cell if width_of(cell) <= width else f"...{shorten_start(cell, width - 3)}"
    return " " * (width - width_of(shown)) + shown if is_number else pad(shown, width)


#: Guards that hold where nothing was measured -> the metric that is above 0 where something was.
_EVIDENCE = {
    "baseline-kept": "baseline_total",
    "criteria-covered": "criteria_covered",
    "targets-proven": "targets_proven",
}


def guard_marks(evaluation: Evaluation) -> list[tuple[GuardResult, bool | None]]:
    """Return each guard with its mark: one that is met only because there was no evidence is unknown."""
    unmeasured = {name for name, metric in _EVIDENCE.items() if not evaluation.metrics.get(metric)}
    if any(finding.belongs_to("red-was-seen") for finding in evaluation.findings):
        unmeasured.add("red-was-seen")
    guards = evaluation.gate_1.guards
    return [(guard, None if guard.met and guard.name in unmeasured else guard.met) for guard in guards]


# --- criteria and the tests that cover them


#: Tests of one criterion that are named.
_MAX_TESTS = 10
_OUTCOMES = {"uncollectable": "can't be imported yet"}


def render_criteria(table: Mapping[str, Any]) -> str:
    """Return the traceability table: one block per criterion."""
    rows = table["criteria"]
    width = max(width_of(row["id"]) for row in rows)
    lines = []
    for row in rows:
        sign = "-" if row["why"] and row["standing"] != "waived" else "+"
        lines.append(f"{sign} {pad(row['id'], width)}  {row['standing']:<10}  {row['text']}".rstrip())
        if row["standing"] in ("open", "waived"):
            lines.append(f"    {row['why']} ({row['file']}:{row['line']})")
        tests = [f"    {test_id}  {_OUTCOMES.get(outcome, outcome)}" for test_id, outcome in row["tests"].items()]
        lines += tests[:_MAX_TESTS]
        if len(tests) > _MAX_TESTS:
            lines.append(f"    and {len(tests) - _MAX_TESTS} more")
    lines.append(sum_up_criteria(table))
    if table["left_out"]:
        lines.append("looks like a criterion, and is not taken for one:")
        lines += [f"    {table['file']}:{each['line']}  {each['text']}" for each in table["left_out"]]
    return show_rows(lines)


def sum_up_criteria(table: Mapping[str, Any]) -> str:
    standings = [row["standing"] for row in table["criteria"]]
    counts = ", ".join(f"{standings.count(each)} {each}" for each in dict.fromkeys(standings))
    return f"{table['file']}: {counts}, as the last complete run in {table['phase']} saw it"


# --- numbers as one line


_BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], *, width: int = 60) -> str:
    """Return one character per value; for more than `width` values, the highest of each group."""
    groups = list(values)
    if len(values) > width:
        edges = [round(index * len(values) / width) for index in range(width + 1)]
        groups = [max(values[begin:end]) for begin, end in pairwise(edges)]
    low, high = min([0.0, *groups]), max([0.0, *groups])
    top = len(_BLOCKS) - 1
    # A small number still differs from zero.
    steps = (0 if value == low else max(1, round((value - low) / (high - low) * top)) for value in groups)
    return "".join(_BLOCKS[step] for step in steps)


# --- where the work is stuck: one form for the breaker and for pipelines


#: Runs and changed files that are listed.
_RUNS_SHOWN, _FILES_SHOWN = 10, 5


def render_stuck(report: StuckReport) -> str:
    title = f"Stuck in {report.phase}: {report.reason}" if report.reason else report.phase
    return render_sections(title, _sections(report))


def render_sections(title: str, sections: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Return headings with rows."""
    lines = [title]
    for heading, rows in sections:
        lines += ["", heading, *([f"  {row}" for row in rows] or ["  none"])]
    return show_rows(lines)


def _sections(report: StuckReport) -> Iterator[tuple[str, Iterable[str]]]:
    since = f" since {report.since}" if report.since else ""
    yield "The circuit", [f"{report.state}{since}", count(report.failed_iterations, "failed iteration")]
    failing = [" ".join((test_id, *text.strip().splitlines()[:1])) for test_id, text in report.failing_now.items()]
    unmet = (f"{clause} is not met" for clause in report.clauses_now)
    yield "What fails now", [*failing, *(f"guard {name}" for name in report.guards_now), *unmet]
    tried = report.tried[-_RUNS_SHOWN:]
    left_out = len(report.tried) - len(tried)
    rows = [f"{left_out} earlier runs are left out"] if left_out else []
    yield "What was tried", [*rows, *map(_describe, tried)]
    yield "What a person must decide", report.decisions


def _describe(tried: Tried) -> str:
    text = f"iteration {tried.iteration}, {tried.at}: {tried.failing} failing, {tried.passing} passing"
    if tried.guards:
        text += f"; guards {', '.join(tried.guards)}"
    if tried.changed is None:
        return text
    return f"{text}; changed before it: {name_first(tried.changed, _FILES_SHOWN) or 'nothing'}"


# --- a proof: in a line, and the runs of each target side by side


#: Targets and functions that a report lists.
_TARGETS_SHOWN, _FUNCTIONS_SHOWN = 100, 40


def describe_proof(metrics: Mapping[str, MetricValue]) -> str:
    """Return the line; empty where no proof was made."""

    def number(name: str) -> int:
        value = metrics.get(name)
        return value if isinstance(value, int) else 0

    proven, changed = number("targets_proven"), number("functions_changed")
    others = {
        "disproven": number("targets_disproven"),
        "that check nothing": number("targets_vacuous"),
        "unknown": number("targets_unproven"),
    }
    total = proven + sum(others.values())
    if "targets_proven" not in metrics or not total:
        return ""
    noticed = changed - number("functions_unnoticed")
    functions = f", notice {noticed} of {count(changed, 'function')}" if changed else ""
    without = "fail without the change, " if metrics.get("proof_has_control") else ""
    rest = [f"{many} {name}" for name, many in others.items() if many]
    summary = f"{proven} of {count(total, 'target')}: {without}pass with it{functions}"
    return f"{summary}; {', '.join(rest)}" if rest else summary


def proof_section(proofs: Mapping[str, Mapping[str, Any]]) -> Section | None:
    """Return the section with the runs of each target; None without a proof.

    :param proofs: phase -> the proof's document, as stored.
    """
    lines, tables = [], []
    for phase, proof in proofs.items():
        targets = sorted(proof["targets"], key=lambda each: each["verdict"] == "proven")
        if proof["problem"]:
            lines.append(f"{phase}: no proof could be made: {proof['problem']}")
        if targets:
            proven = sum(each["verdict"] == "proven" for each in targets)
            lines.append(f"{phase}: {proven} of {count(len(targets), 'target')} proven.")
            columns = ("target", "without the change", "with it", "other value", "emptied", "verdict")
            rows = tuple(map(_target_row, targets[:_TARGETS_SHOWN]))
            tables.append(Table(title=f"{phase}: the runs of each target", columns=columns, rows=rows))
        unnoticed = [each for each in proof["functions"] if not each["noticed_by"] and not each["left_out"]]
        lines += [
            f"{phase}: no target notices when {each['name']} does nothing ({each['file']}:{each['line']})"
            for each in unnoticed[:_FUNCTIONS_SHOWN]
        ]
    return Section(title="Proof", lines=tuple(lines), tables=tuple(tables)) if lines else None


def _target_row(target: Mapping[str, Any]) -> tuple[str, ...]:
    verdict = f"{target['verdict']}: {target['why']}" if target["why"] else str(target["verdict"])
    # It expected something else, and has to fail.
    altered = "-" if target["altered"] == "nothing" else target["altered"].replace("-", " ")
    emptied = ("noticed" if target["notices"] else "not noticed") if target["was_tried"] else "not tried"
    return (target["id"], target["control"], target["treatment"], altered, emptied, verdict)


# --- the verdict as a PRP_PHASE_STATUS block, which agents exchange; `claims.blocks` reads it back


BEGIN = "---PRP_PHASE_STATUS---"
END = "---END_PRP_PHASE_STATUS---"


def block_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a block from an evaluation's JSON document."""
    metrics, gate_1, gate_2 = document["metrics"], document["gate_1"], document["gate_2"]
    return {
        "PHASE": document["phase"],
        "ITERATION": document["iteration"],
        **{name.upper(): metrics.get(name) for name in ("tests_total", "tests_passing", "tests_failing")},
        "REASON": document["reason"],
        "GATE_1": gate_1["open"],
        "GATE_1_DETAIL": ", ".join(f"{name}: {json.dumps(value)}" for name, value in gate_1["values"].items()),
        "GATE_2": gate_2["open"],
        "CAN_EXIT": document["can_exit"],
        "EXIT_SIGNAL": gate_2["answer"] == "done",
    }


def render_status_block(document: Mapping[str, Any]) -> str:
    rows = [BEGIN]
    for name, value in block_fields(document).items():
        if name == "GATE_1":
            rows += ["", "DUAL_GATE:"]
        elif name == "EXIT_SIGNAL":
            rows.append("")
        indent = "  " if name.startswith("GATE_") or name == "CAN_EXIT" else ""
        rows.append(f"{indent}{name}: {value if name == 'PHASE' else json.dumps(value)}")
    return show_rows([*rows, END])
