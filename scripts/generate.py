"""Write the parts of the reference that stand in the code: `python -m scripts.generate` (or `--check`).

A page keeps its own words; only what stands between `<!-- generated: NAME -->` and `<!-- end -->` is replaced.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from _pytest.config.argparsing import Parser

from phase_gate import exit_codes, hookspecs, plugin
from phase_gate.cli._parser import build_full_parser
from phase_gate.cli._table import COMMANDS
from phase_gate.config.compiled import COMPILED_FOLDER, compile_shipped
from phase_gate.config.files import load_shipped_guards, load_shipped_workflow, shipped_workflow_names
from phase_gate.errors import MESSAGES, PhaseGateError
from phase_gate.gate.breaker import TRANSITIONS
from phase_gate.gate.events import EVENT_KINDS, HISTORY_KINDS
from phase_gate.report.mermaid import render_mermaid
from phase_gate.storage import signal_file  # noqa: F401  (it brings an error of its own)
from phase_gate.tasks.model import TRANSITIONS as STATUS_TRANSITIONS
from phase_gate.values import fields
from phase_gate.workflow.metrics import METRICS, SPELLINGS
from phase_gate.workflow.model import Phase
from phase_gate.workflow.settings import DEFAULT_NO_DOCUMENTS, RunDefaults

DOCS = Path(__file__).parent.parent / "docs"
WORKFLOWS = DOCS.parent / "src" / "phase_gate" / "workflows"

_PART = re.compile(r"(?P<begin><!-- generated: (?P<name>[a-z-]+) -->\n)(?P<text>.*?)(?P<end><!-- end -->)", re.S)

#: What each event tells. A kind that is missing here is an error, so that a new one is not forgotten.
EVENTS: Mapping[str, str] = {
    "baseline-taken": "`phase-gate baseline` recorded tests and outcomes for the next cycle",
    "claimed": "An agent's words were compared with what was measured: the decision, with every part of it",
    "created": "The task's ledger was made: its task, and a random `lineage` that tells it from any other",
    "cycle-began": "A cycle began, with its workflow and its baseline",
    "proved": "An experiment: the targets without the change, with it, and with functions emptied",
    "evaluated": "A verdict, whole: both gates with every value",
    "fact-declared": "A fact was declared",
    "fact-withdrawn": "A declared fact was taken back",
    "phase-entered": "A phase began, and how: first, next, by a rewind, a request, a failure, a recovery, guidance",
    "phase-exited": "Both gates were open: the phase is over; with how things are, for the next one to compare with",
    "repaired": "`audit --repair` cut off a damaged end; streak and verdict start anew",
    "rewound": "The task went back to an earlier phase, with a reason",
    "rollback-accepted": "A person accepted a folder that came back from an old copy, or from elsewhere",
    "run-ended": "A run ended: kind, counts, metrics, the tree that it left",
    "run-lost": "A run began and never ended, which was noticed later",
    "run-started": "A run began: phase, tree, arguments, versions; the shards that it is made of, if it is",
    "signal-refused": "A signal file appeared while a run was open, and was not taken",
    "signal-spent": "A verdict read the signal; it can't be read again",
    "signal-withdrawn": "A waiting signal was taken back",
    "voted": "A reviewer voted in a consensus phase of a pipeline, on one version of what is voted on",
    "request-made": "A change request of a pipeline was made, by a person or by what a phase found",
    "request-decided": "A change request was approved, by a person or by leading back, or was rejected",
    "gate-failed": "A gate of a pipeline failed: what was not met, and whether a recovery was left for it",
    "stuck": "A pipeline ended without being done, and why",
    "commands-added": "A check that had no command when the pipeline began has one: from now on it is a rule",
    "waived": "A person let a guard's findings pass: which ones, why, who, until when",
    "known-taken": "The tests that a task's verify command selected when it was taken: what it knows",
    "task-taken": "`verify start` took a verify task: its text, limits, rules, and what git showed",
    "attempt-began": "An attempt of the task began; nothing of the one before counts in it",
    "executor-reported": "Step 1: the executor's report, by whom, on which files",
    "verify-started": "Step 2 began: the command, its time-out, the files that it begins with",
    "verify-ran": "Step 2 ended: exit code, output, tests, the files that it left; or it was interrupted",
    "agent-worked": "A drive ended a turn of the executor or the reviewer: how, and after how many seconds",
    "reviewed": "Step 3: the reviewer's verdict, by whom, on which files",
    "attempt-failed": "A step did not pass: the type of failure, the error, its first lines",
    "verification-skipped": "A person completed the task unverified, or forced it: kind, reason, name",
    "committed": "An approved task was committed; with the commit's id",
    "task-resumed": "A person let a task go on that waited for one",
    "steps-voided": "What an agent recorded in its own turn does not count until a person has looked",
    "wave-resumed": "A person let a halted wave go on",
    "drive-started": "`phase-gate drive` began, or went on: the agent, the settings, the goal",
    "iteration-started": "A drive starts its agent: the phase, and a hash of the word that an answer has to repeat",
    "agent-ended": "The agent of a drive stopped, or was stopped: how, and after how many seconds",
    "iteration-ended": "An iteration of a drive is judged: the agent's time, the tests' time, the decision",
    "drive-ended": "A drive ended: the outcome, the reason, the exit code",
    "breaker-reset": "A person let an open circuit try again",
    "overridden": "A person decided against the evidence: a skip, a forced exit, a reset of the breaker",
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
    in_file = {*fields(RunDefaults), "workflow"}
    rows = []
    for option in parser.getgroup("phase gate").options:
        attributes = option.attrs()
        if attributes["help"] == argparse.SUPPRESS:
            continue
        (name,) = option.names()
        value = attributes.get("metavar") or "|".join(attributes.get("choices") or ())
        key = name.removeprefix("--phase-")
        place = f"`{key}`" if key in in_file else "no: it belongs to the call"
        rows.append((f"`{name}={value}`" if value else f"`{name}`", str(attributes["help"]), place))
    return table(("option", "meaning", "default in `phase-gate.yaml` under `run:`"), rows)


#: Every command has these; what lists arguments says so once.
COMMON = {"--help", "--json", "--task", "--dir", "-q", "-v"}


def commands() -> str:
    choices = command_parsers()
    return "\n".join(_command(name, each.summary, choices[name]) for name, each in COMMANDS.items())


def _command(name: str, summary: str, parser: argparse.ArgumentParser) -> str:
    own = own_actions(parser)
    words = (word_of(each) if is_required(each) else f"[{word_of(each)}]" for each in own)
    text = f"## {name}\n\n{summary}.\n\n`{' '.join(('phase-gate', name, *words))}`\n"
    if own:
        text += "\n" + table(("argument", "meaning"), ((f"`{word_of(each)}`", help_of(each)) for each in own))
    return text


def subparsers(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Return the commands of a parser."""
    found = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return next(found, {})


def command_parsers() -> Mapping[str, argparse.ArgumentParser]:
    """Return the parser of every command, by its name."""
    top = subparsers(build_full_parser())
    return {name: top[name] if name in top else subparsers(top[name.split()[0]])[name.split()[1]] for name in COMMANDS}


def own_actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of a command alone; those that only we type ourselves are left out."""
    shown = (action for action in parser._actions if action.help != argparse.SUPPRESS)
    return [action for action in shown if not COMMON.intersection(action.option_strings)]


def word_of(action: argparse.Action) -> str:
    """Return an argument as it is typed, like `--by NAME` or `status|reset`."""
    value = action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper()
    return " ".join((*action.option_strings[-1:], *(() if action.nargs == 0 else (str(value),))))


def help_of(action: argparse.Action) -> str:
    return str(action.help) % {**vars(action), "prog": "phase-gate"}


def is_required(action: argparse.Action) -> bool:
    return action.required if action.option_strings else action.nargs not in ("?", "*")


def schemas() -> str:
    folder = WORKFLOWS.parent / "schemas"
    rows = []
    for path in sorted(folder.glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        link = f"[{path.name.removesuffix('.schema.json')}](../../{path.relative_to(DOCS.parent).as_posix()})"
        rows.append((link, schema["title"]))
    return table(("schema", "of"), rows)


# Codes, metrics, messages


def codes() -> str:
    return table(("code", "name", "meaning"), ((f"`{code}`", word, text) for code, word, text in exit_codes.MEANINGS))


def metrics() -> str:
    others = SPELLINGS
    return (
        table(("metric", "type", "meaning"), ((f"`{each.name}`", each.type, each.meaning) for each in METRICS))
        + "\n"
        + table(("also written", "stands for"), ((f"`{name}`", f"`{text}`") for name, text in others.items()))
    )


def guards() -> str:
    return table(
        ("guard", "met if", "if it is unmet"),
        ((f"`{each.name}`", f"`{each.condition.text}`", each.remedy) for each in load_shipped_guards().values()),
    )


def messages() -> str:
    status = {error.slug: error.exit_code for error in _errors(PhaseGateError)}
    rows = ((f"`{slug}`", text, f"`{status[slug]}`") for slug, text in sorted(MESSAGES.items()))
    return table(("slug", "what it means", "`phase-gate` ends with"), rows)


def _errors(base: type[PhaseGateError]) -> Iterator[type[PhaseGateError]]:
    for error in base.__subclasses__():
        yield error
        yield from _errors(error)


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
        (f"`{kind}`", f"{EVENTS[kind]}{' (history only)' if kind in HISTORY_KINDS else ''}")
        for kind in sorted(EVENT_KINDS)
    )
    return table(("kind", "what happened"), rows)


def workflow_names() -> str:
    return "".join(f"- `{name}`\n" for name in shipped_workflow_names())


def workflow_diagrams() -> str:
    """Return every shipped workflow: what it is for, drawn, and its phases."""
    return "\n".join(map(_workflow, shipped_workflow_names()))


def _workflow(name: str) -> str:
    workflow = load_shipped_workflow(name)
    rows = (
        (
            f"`{phase.name}`",
            phase.purpose,
            f"`{phase.gate_1.condition.text}`",
            ", ".join(f"`{guard}`" for guard in phase.gate_1.guards),
            _requires(phase),
        )
        for phase in workflow.phases
    )
    titles = ("phase", "what it is for", "Gate 1 is open if", "and its guards are met", "requires")
    about = _ABOUT.search((WORKFLOWS / f"{name}.yaml").read_text(encoding="utf-8"))
    assert about is not None, f"{name}.yaml has to say what it is for, behind its name"
    intro = f"{about[1][0].upper()}{about[1][1:]}.\n"
    return f"## {name}\n\n{intro}\n```mermaid\n{render_mermaid(workflow)}```\n\n{table(titles, rows)}"


def _requires(phase: Phase) -> str:
    if phase.requires is None:
        return ""
    parts = {
        "artifacts": ", ".join(phase.requires.artifacts),
        "checks": ", ".join(phase.requires.checks),
        "consensus on": "" if phase.requires.consensus is None else ", ".join(phase.requires.consensus.on),
        "as approved": ", ".join(phase.requires.approved),
    }
    return "; ".join(f"{name} {text}" for name, text in parts.items() if text)


#: What a shipped workflow is for stands in a comment behind its name.
_ABOUT = re.compile(r"^workflow: \S+ +# (.+)$", re.M)


def tdd() -> str:
    rows = (WORKFLOWS / "tdd.yaml").read_text(encoding="utf-8").splitlines()
    text = "\n".join(row for row in rows if not row.startswith("# yaml-language-server"))
    return f"```yaml workflow\n{text}\n```\n"


def transitions() -> str:
    rows = ((str(state), str(happening), str(after)) for (state, happening), after in TRANSITIONS.items())
    return table(("circuit", "what happens", "then"), rows)


def verification() -> str:
    rows = (
        (f"{status}", ", ".join(each for each in STATUS_TRANSITIONS if each in following) or "nothing")
        for status, following in STATUS_TRANSITIONS.items()
    )
    return table(("status", "what may follow"), rows)


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
    "transitions": transitions,
    "verification": verification,
    "workflow-diagrams": workflow_diagrams,
    "workflows": workflow_names,
}


# Pages


#: Files of which nothing is written by hand.
WHOLE_FILES: Mapping[Path, Callable[[], str]] = {
    **{COMPILED_FOLDER / f"{name}.json": partial(compile_shipped, name) for name in shipped_workflow_names()},
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
