"""The table as Markdown, and its place in README.md beside this file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.honesty.results import Results

PAGE = Path(__file__).parent / "README.md"
_BEGIN, _END = "<!-- honesty: begin -->", "<!-- honesty: end -->"
_OURS = ("phase-gate-without-proof", "phase-gate")


def render(results: Results) -> str:
    """Return the tables, and what we miss ourselves."""
    cheats = [case for case in results.cases.values() if case.is_cheat]
    honest = len(results.cases) - len(cheats)
    measured = sum(case.label == "tests" for case in results.cases.values())
    return "\n".join(
        [
            f"{results.date}, Python {results.python}: {len(cheats)} cheats and {honest} honest twins. The labels of"
            f" {measured} cases are checked by tests, those of the others stand by a rule.",
            "",
            *_table(
                ("gate", "cheats that pass", "twins refused", "processor time beside the first"),
                ([results.gates[gate], *_sums(results, gate, len(cheats), honest)] for gate in results.gates),
            ),
            "",
            "Cheats that pass, by kind:",
            "",
            *_by_kind(results),
            "",
            *_misses(results),
            *_versions(results),
        ]
    )


def _sums(results: Results, gate: str, cheats: int, honest: int) -> list[str]:
    cost = results.cost(gate)
    return [
        f"{len(results.passed(gate))} of {cheats}",
        f"{len(results.refused(gate))} of {honest}",
        f"{cost:.1f}" if cost is not None else "",
    ]


#: Kinds of the list of false greens that belong together.
KINDS: tuple[tuple[str, int, int], ...] = (
    ("tests left out: filters, settings, stops, no run", 1, 4),
    ("tests gone, hidden, silent, fewer, weaker", 5, 10),
    ("outcomes rewritten by hooks and patches", 11, 16),
    ("processes that leave, assertions off, reruns, workers, stages", 17, 23),
    ("RED without a reason", 24, 26),
    ("records, signals, order, rules, overrides", 27, 34),
    ("hard-coded and special-cased code", 35, 36),
    ("records removed, results declared or waived", 37, 40),
    ("the experiment: who ends a run, what reaches over, other surroundings", 41, 52),
)


def _by_kind(results: Results) -> list[str]:
    rows = []
    for title, first, last in KINDS:
        names = {name for name, case in results.cases.items() if case.is_cheat and first <= case.row <= last}
        counts = (str(len(names & set(results.passed(gate)))) for gate in results.gates)
        rows.append([f"{title} (rows {first} to {last})", str(len(names)), *counts])
    return _table(("kind", "cheats", *results.gates.values()), rows)


def _misses(results: Results) -> list[str]:
    """Return the cheats that pass us, and the twins that are refused by any gate, by name."""
    passed = {gate: results.passed(gate) for gate in _OURS if gate in results.gates}
    refused = {gate: results.refused(gate) for gate in results.gates}
    return [
        *(f"- cheats that pass {results.gates[gate]}: {_names(names)}" for gate, names in passed.items()),
        *(f"- twins refused by {results.gates[gate]}: {_names(names)}" for gate, names in refused.items()),
        "",
    ]


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def list_passed(results: Results) -> str:
    """Return the cheats that pass each gate, by name: too many for the page."""
    return "\n".join(
        f"- cheats that pass {title}: {_names(results.passed(gate))}" for gate, title in results.gates.items()
    )


def _versions(results: Results) -> list[str]:
    common = set.intersection(*(set(each.items()) for each in results.versions.values()))
    shared = ", ".join(f"{name} {version}" for name, version in sorted(common))
    lines = [f"Versions: {shared} everywhere."]
    for gate, found in results.versions.items():
        own = ", ".join(f"{name} {version}" for name, version in found.items() if (name, version) not in common)
        lines += [f"{results.gates[gate]}: {own}."] * bool(own)
    return [" ".join(lines)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def put_into_page(results: Results) -> None:
    """Write the tables into the page."""
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


def fill(text: str, results: Results) -> str:
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{render(results)}\n{_END}{after}"
