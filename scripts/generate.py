"""Write the parts of the reference that stand in the code: `python -m scripts.generate` (or `--check`).

A page keeps its own words; only what stands between `<!-- generated: NAME -->` and `<!-- end -->` is replaced.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from _pytest.config.argparsing import Parser

from phase_gate import exit_codes, hookspecs, plugin
from phase_gate.cli._parser import Argument, read_argument
from phase_gate.cli._table import COMMANDS, Command
from phase_gate.codec import to_json
from phase_gate.config.workflow_files import (
    load_shipped_guards,
    load_shipped_workflow,
    shipped_workflow_names,
)
from phase_gate.errors import MESSAGES, PhaseGateError
from phase_gate.gate.events import HISTORY_KINDS
from phase_gate.project import COMPILED_FOLDER
from phase_gate.values import fields
from phase_gate.workflow.condition_parser import ALIASES
from phase_gate.workflow.conditions import tree_of
from phase_gate.workflow.metrics import METRICS
from phase_gate.workflow.settings import DEFAULT_NO_DOCUMENTS, RunDefaults

DOCS = Path(__file__).parent.parent / "docs"
WORKFLOWS = DOCS.parent / "src" / "phase_gate" / "workflows"

_PART = re.compile(r"(?P<begin><!-- generated: (?P<name>[a-z-]+) -->\n)(?P<text>.*?)(?P<end><!-- end -->)", re.S)

#: A kind that is missing here is an error, so that a new one is not forgotten.
EVENTS: Mapping[str, str] = {
    "attempt-began": "an attempt at a task began",
    "attempt-failed": "a step of a verify task, or the gate of a pipeline phase, failed",
    "baseline-taken": "`phase-gate baseline` recorded tests and outcomes",
    "breaker-reset": "a person reset the circuit breaker",
    "claimed": "an agent's claim was compared with the measurements",
    "committed": "an approved task was committed",
    "created": "the ledger was created, with a random `lineage`",
    "cycle-began": "a cycle began, with its workflow and baseline",
    "drive-ended": "a drive ended: outcome, reason, exit code",
    "drive-started": "a drive began: agent, settings, goal",
    "evaluated": "a verdict, with every value of both gates",
    "executor-reported": "the executor's report",
    "fact-declared": "a fact was declared",
    "fact-withdrawn": "a fact was withdrawn",
    "iteration-ended": "an iteration of a drive ended, with its decision",
    "iteration-started": "a drive starts its agent",
    "overridden": "a person overrode the evidence: skip, force, breaker reset",
    "phase-entered": "a phase began, and how",
    "phase-exited": "both gates were open, and the phase ended",
    "proved": "a proof: the targets with and without the change",
    "repaired": "`audit --repair` removed a damaged end",
    "request-decided": "a change request was approved or rejected",
    "request-made": "a change request was made",
    "reviewed": "a reviewer's verdict or vote",
    "rewound": "the task went back to an earlier phase",
    "rollback-accepted": "a person accepted an old or foreign state folder",
    "run-ended": "a run ended: kind, counts, metrics, tree",
    "run-lost": "a run began and never ended",
    "run-started": "a run began: phase, tree, arguments, versions",
    "signal-refused": "a signal file appeared during a run",
    "signal-spent": "a verdict used the signal",
    "signal-withdrawn": "a waiting signal was withdrawn",
    "steps-voided": "steps that an agent recorded itself are void until a person confirms them",
    "stuck": "a pipeline is stuck, and why",
    "task-resumed": "a person resumed a waiting task",
    "task-taken": "`verify start` took a task: text, limits, rules",
    "verify-ran": "the verify command began; or it ended: exit code, output, tests",
    "waived": "a person waived findings of a guard",
}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *([_cell(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").strip()


# Options and commands


def options() -> str:
    parser = Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    rows = []
    for option in parser.getgroup("phase gate").options:
        attributes = option.attrs()
        if attributes["help"] == argparse.SUPPRESS:
            continue
        (name,) = option.names()
        value = attributes.get("metavar") or "|".join(attributes.get("choices") or ())
        key = name.removeprefix("--phase-")
        place = f"`{key}`" if key in fields(RunDefaults) else "no: it belongs to the call"
        place = "no: `workflow` is at the top" if key == "workflow" else place
        rows.append((f"`{name}={value}`" if value else f"`{name}`", str(attributes["help"]), place))
    return table(("option", "meaning", "default in `phase-gate.yaml` under `run:`"), rows)


def compiled(name: str) -> str:
    """Return the content of a shipped workflow's JSON file."""
    workflow = load_shipped_workflow(name)
    rules = (*(phase.gate_1 for phase in workflow.phases), *workflow.guards.values())
    document = {**to_json(workflow), "trees": {rule.condition: tree_of(rule.condition) for rule in rules}}
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    return f"{{\n{rows}\n}}\n"


def commands() -> str:
    return "\n".join(_command(name, each) for name, each in COMMANDS.items())


def _command(name: str, command: Command) -> str:
    rows = [_argument(read_argument(line)) for line in command.arguments]
    return "\n".join((f"## {name}\n", f"{command.summary}.\n", *(["".join(rows)] if rows else [])))


def _argument(argument: Argument) -> str:
    meaning = argument.meaning.replace("%(default)s", argument.default or "")
    return f"- `{argument.typed}`: {meaning}{' (required)' if argument.is_required else ''}\n"


def schemas() -> str:
    names = sorted(path.name for path in (WORKFLOWS.parent / "schemas").glob("*.json"))
    links = [f"[{name.removesuffix('.schema.json')}](../../src/phase_gate/schemas/{name})" for name in names]
    return ",\n".join(links) + ".\n"


# Codes, metrics, messages


def codes() -> str:
    return table(("code", "name", "meaning"), ((f"`{code}`", word, text) for code, word, text in exit_codes.MEANINGS))


def metrics() -> str:
    return (
        table(
            ("metric", "meaning"),
            ((f"`{name}`" + ("" if kind == "int" else f" ({kind})"), meaning) for name, kind, meaning in METRICS),
        )
        + "\n"
        + table(("also written", "stands for"), ((f"`{name}`", f"`{text}`") for name, text in ALIASES.items()))
    )


def guards() -> str:
    return table(
        ("guard", "requires"),
        ((f"`{each.name}`", f"`{each.condition}`") for each in load_shipped_guards().values()),
    )


def messages() -> str:
    rows = (
        (f"`{slug}`", text, f"`{PhaseGateError('', '', slug=slug).exit_code}`")
        for slug, text in sorted(MESSAGES.items())
    )
    return table(("slug", "what it means", "exit code"), rows)


# Hooks, events, workflows


def hooks() -> str:
    parts = []
    for name, function in vars(hookspecs).items():
        if name.startswith("pytest_phase_gate_"):
            signature = str(inspect.signature(function)).replace("'", "")
            parts.append(f"## {name}\n\n`{name}{signature}`\n\n{inspect.getdoc(function)}\n")
    return "\n".join(parts)


def events() -> str:
    rows = (
        (f"`{kind}`", f"{EVENTS[kind]}{' (history only)' if kind in HISTORY_KINDS else ''}") for kind in sorted(EVENTS)
    )
    return table(("event", "meaning"), rows)


def workflow_names() -> str:
    """Return every shipped workflow: what it is for, and its phases."""
    rows = []
    for name in shipped_workflow_names():
        about = _ABOUT.search((WORKFLOWS / f"{name}.yaml").read_text(encoding="utf-8"))
        assert about is not None, f"{name}.yaml has to say what it is for, after its name"
        phases = ", ".join(phase.name for phase in load_shipped_workflow(name).phases)
        rows.append((f"`{name}`", about[1], phases))
    return table(("workflow", "for", "phases"), rows)


#: The comment after a workflow's name.
_ABOUT = re.compile(r"^workflow: \S+ +# (.+)$", re.M)


def tdd() -> str:
    rows = (WORKFLOWS / "tdd.yaml").read_text(encoding="utf-8").splitlines()
    text = "\n".join(row for row in rows if not row.startswith("# yaml-language-server"))
    return f"```yaml workflow\n{text}\n```\n"


def no_documents() -> str:
    return f"{', '.join(f'`{glob}`' for glob in DEFAULT_NO_DOCUMENTS)}.\n"


PARTS: Mapping[str, Callable[[], str]] = {
    "codes": codes,
    "commands": commands,
    "events": events,
    "guards": guards,
    "hooks": hooks,
    "messages": messages,
    "metrics": metrics,
    "no-documents": no_documents,
    "options": options,
    "schemas": schemas,
    "tdd": tdd,
    "workflows": workflow_names,
}


# Pages


#: Files of which nothing is written by hand.
WHOLE_FILES: Mapping[Path, Callable[[], str]] = {
    **{COMPILED_FOLDER / f"{name}.json": partial(compiled, name) for name in shipped_workflow_names()},
}


def part_names(text: str) -> list[str]:
    return [found["name"] for found in _PART.finditer(text)]


def render(text: str) -> str:
    """Return the page with its generated parts as they have to be."""
    return _PART.sub(lambda found: f"{found['begin']}\n{PARTS[found['name']]()}\n{found['end']}", text)


def pages() -> list[Path]:
    return [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]


def main(arguments: list[str]) -> int:
    outdated = []
    for page in (*pages(), *WHOLE_FILES):
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        fresh = WHOLE_FILES[page]() if page in WHOLE_FILES else render(text)
        if fresh != text:
            outdated.append(page.relative_to(DOCS.parent))
            if "--check" not in arguments:
                page.write_text(fresh, encoding="utf-8")
    for path in outdated:
        print(f"{path}: {'out of date' if '--check' in arguments else 'written'}")
    return 1 if outdated and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
